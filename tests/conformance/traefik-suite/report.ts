// The entry of scripts/conformance-traefik: the fixtures of Traefik's provider for Ingresses and the cases of its labels.
import { checkoutOf, versionOf } from "../suite-page.ts";
import { runIngresses } from "./ingresses.ts";
import { runLabels } from "./labels.ts";
import { writeTraefikPage } from "./page.ts";

const usage = "scripts/conformance-traefik CHECKOUT, a checkout of github.com/traefik/traefik";
const checkout = checkoutOf("pkg/provider/kubernetes/ingress-nginx/kubernetes_test.go", usage);
const [ingresses, labels] = [await runIngresses(checkout), await runLabels(checkout)];
writeTraefikPage(ingresses, labels, versionOf(checkout));
process.exit(ingresses.length > 0 && labels.length > 0 ? 0 : 1);
