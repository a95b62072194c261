import { block } from "../config/row.ts";
import { kubernetes } from "../features/kubernetes/settings.ts";
import { directory, docker } from "../features/providers/settings.ts";

/** `providers`: sources of routes beside routes.yaml. docs/providers.md */
export const providers = block({
  directory: { type: directory, doc: "a folder of files, one for each team or application" },
  docker: {
    type: docker,
    absent: null,
    example: {
      endpoint: "unix:/var/run/docker.sock",
      exposed_by_default: false,
      network: "web",
      default_host: "{name}.localhost",
      labels: ["edge", "traefik"],
      constraints: ["com.example.stage=production"],
      trusted: false,
    },
    doc: "containers of Docker or Podman, by their labels; off without this section",
  },
  kubernetes: { type: kubernetes, doc: "Gateways, routes and Ingresses of a cluster" },
});
