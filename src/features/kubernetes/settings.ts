import { list, resolved } from "../../config/piece.ts";
import { block, type ConfigOf } from "../../config/row.ts";
import { cidr, flag, port, text, textLike } from "../../config/scalars.ts";

const NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

const name = () => textLike(NAME, "a name of Kubernetes: small letters, digits, dashes and dots");

/** `providers.kubernetes`. docs/gateway-api.md */
export const kubernetes = block(
  {
    enabled: { type: flag(), default: true, doc: "false: edge ignores the cluster" },
    kubeconfig: {
      type: resolved(text("a file name"), (name, { files }) => files.absolute(name)),
      absent: "",
      example: "./kubeconfig",
      doc: "your kubeconfig; without it the pod's service account, else $KUBECONFIG",
    },
    context: {
      type: text("the name of a context"),
      absent: "",
      example: "staging",
      doc: "the context of your kubeconfig",
    },
    controller: {
      type: textLike(/^[a-z0-9.-]+\/[A-Za-z0-9/._~%!$&'()*+,;=:-]+$/, "a domain and a path such as edge.dev/gateway"),
      default: "edge.dev/gateway",
      doc: "edge serves GatewayClasses and IngressClasses with this controller",
    },
    ingress_class: { type: name(), default: "edge", doc: "edge serves Ingresses of this class" },
    ingress_ports: {
      type: block({
        http: { type: port(1), default: 80, doc: "the port for clear text" },
        https: { type: port(1), default: 443, doc: "the port for TLS" },
      }),
      doc: "ports of Ingresses",
    },
    namespaces: {
      type: list(name(), "namespaces"),
      example: ["shop", "billing"],
      doc: "the namespaces that edge watches; all by default",
    },
    addresses: {
      type: list(cidr(), "networks"),
      example: ["10.91.0.0/24"],
      doc: "each Gateway gets one of these addresses, which edge binds",
    },
    service: {
      type: textLike(/^[a-z0-9-]+\/[a-z0-9-]+$/, "namespace/name"),
      absent: "",
      example: "edge/edge",
      doc: "the Service whose addresses all Gateways share",
    },
    publish: { type: flag(), default: true, doc: "false: edge writes no statuses and events" },
  },
  {
    absent: { enabled: false },
    isSwitch: true,
    check({ addresses, service }, { log, path }) {
      if (addresses.length > 0 && service !== "")
        log.fault(
          [...path, "service"],
          "either addresses, one for each Gateway, or service, whose addresses they share",
        );
    },
  },
);

export type KubernetesConfig = ConfigOf<typeof kubernetes>;
