// The entry of scripts/conformance-caddy: the fixtures of Caddy's adapter and its integration tests, by way of edge convert.
import { join } from "node:path";
import { checkoutOf, versionOf } from "../suite-page.ts";
import { readFixtures } from "./fixtures.ts";
import { runIntegration } from "./integration.ts";
import { writeCaddyPage } from "./page.ts";

const usage = "scripts/conformance-caddy CHECKOUT, a checkout of github.com/caddyserver/caddy";
const checkout = checkoutOf(join("caddytest", "integration", "caddyfile_adapt"), usage);
const fixtures = readFixtures(checkout);
const assertions = await runIntegration(checkout);
writeCaddyPage(fixtures, assertions, versionOf(checkout));
process.exit(fixtures.length > 0 && assertions.length > 0 ? 0 : 1);
