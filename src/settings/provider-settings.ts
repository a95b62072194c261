import { block } from "../config/row.ts";
import { kubernetes } from "../features/kubernetes/settings.ts";
import { consul, directory, docker, etcd, nomad } from "../features/providers/settings.ts";

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
  consul: {
    type: consul,
    absent: null,
    example: { endpoint: "https://127.0.0.1:8501", token: "${CONSUL_TOKEN}" },
    doc: "services of Consul, by their tags; off without this section",
  },
  nomad: {
    type: nomad,
    absent: null,
    example: { endpoint: "https://127.0.0.1:4646", token: "${NOMAD_TOKEN}" },
    doc: "services of Nomad, by their tags; off without this section",
  },
  etcd: {
    type: etcd,
    absent: null,
    example: { endpoints: ["https://10.0.0.5:2379"], prefix: "/edge/routes/" },
    doc: "values of keys of etcd; off without this section",
  },
  kubernetes: { type: kubernetes, doc: "Gateways, routes and Ingresses of a cluster" },
});
