import { block } from "../config/row.ts";
import { kubernetes } from "../features/kubernetes/settings.ts";
import { directory } from "../features/providers/settings.ts";

/** `providers`: sources of routes beside routes.yaml. docs/providers.md */
export const providers = block({
  directory: { type: directory, doc: "a folder of files, one for each team or application" },
  kubernetes: { type: kubernetes, doc: "Gateways, routes and Ingresses of a cluster" },
});
