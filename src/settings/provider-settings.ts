import { block } from "../config/row.ts";
import { kubernetes } from "../features/kubernetes/settings.ts";
import { consul, directory, docker, etcd, nomad } from "../features/providers/settings.ts";

const LABELS = {
  exposed_by_default: false,
  default_host: "{name}.localhost",
  labels: ["edge", "traefik"],
  constraints: ["com.example.stage=production"],
  trusted: false,
};

/** `providers`: sources of routes beside routes.yaml. docs/providers.md */
export const providers = block({
  directory: { type: directory, doc: "a folder with route files, one for each team or application" },
  docker: {
    type: docker,
    absent: null,
    example: {
      endpoint: "unix:/var/run/docker.sock",
      network: "web",
      ...LABELS,
    },
    doc: "containers of Docker or Podman, by their labels; off without this section",
  },
  consul: {
    type: consul,
    absent: null,
    example: {
      endpoint: "https://127.0.0.1:8501",
      token: "${CONSUL_TOKEN:-secret}",
      datacenter: "dc1",
      namespace: "shop",
      ...LABELS,
      hosts: { shop: ["shop.example"] },
      tls: {},
    },
    doc: "services of Consul, by their tags; off without this section",
  },
  nomad: {
    type: nomad,
    absent: null,
    example: {
      endpoint: "https://127.0.0.1:4646",
      token: "${NOMAD_TOKEN:-secret}",
      namespace: "default",
      region: "europe",
      ...LABELS,
      hosts: { shop: ["shop.example"] },
      tls: {},
    },
    doc: "services of Nomad, by their tags; off without this section",
  },
  etcd: {
    type: etcd,
    absent: null,
    example: {
      endpoints: ["https://10.0.0.5:2379"],
      prefix: "/edge/routes/",
      user: "edge",
      password: "${ETCD_PASSWORD:-secret}",
      hosts: { "team-a": ["*.a.example"] },
      trusted: false,
      tls: {},
    },
    doc: "keys of etcd, whose values are routes; off without this section",
  },
  kubernetes: { type: kubernetes, doc: "Gateways, routes and Ingresses of your cluster" },
});
