import { parseCidr } from "../config/cidr.ts";
import { commaList } from "../core/comma-list.ts";
import { VERSION } from "../core/version.ts";
import { type ManifestOptions, manifests } from "../features/kubernetes/manifests/manifests.ts";
import { policyDefinition } from "../loading/policy-schema.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { type CommandCall, startCommand } from "./flags.ts";
import { kubernetesYaml } from "./kubernetes-yaml.ts";

/** The command as `edge help kubernetes` shows it. */
export const manifestsCommand = {
  name: "edge kubernetes manifests",
  page: "kubernetes.md#manifests",
  summary:
    "Prints the objects with which edge runs in a Kubernetes cluster as its gateway: account and roles, Deployment or DaemonSet, Services, autoscaler, network policy, classes and the definition of EdgePolicy.",
  flags: [
    { name: "namespace", type: "string", default: "edge", placeholder: "NAME", help: "where edge runs" },
    {
      name: "image",
      type: "string",
      default: `registry.example.com/edge:${VERSION}`,
      placeholder: "IMAGE",
      help: "the image with edge as its entry point",
    },
    {
      name: "replicas",
      type: "int",
      default: 2,
      min: 1,
      max: 1000,
      help: "pods at least; the autoscaler adds up to ten times as many",
    },
    { name: "daemonset", type: "bool", default: false, help: "one pod on each node, without an autoscaler" },
    {
      name: "service-type",
      type: "string",
      default: "LoadBalancer",
      choices: ["LoadBalancer", "NodePort", "ClusterIP"],
      help: "how clients reach the Service",
    },
    {
      name: "namespaces",
      type: "string",
      default: "",
      placeholder: "A,B",
      help: "serve these namespaces alone, by a Role in each: edge then reads no Secret of another one; all by default",
    },
    {
      name: "ports",
      type: "string",
      default: "80,443",
      placeholder: "PORTS",
      help: "of Gateways and Ingresses; one below 1024 adds NET_BIND_SERVICE",
    },
    { name: "gateway-class", type: "string", default: "edge", placeholder: "NAME", help: "the GatewayClass" },
    { name: "ingress-class", type: "string", default: "edge", placeholder: "NAME", help: "the IngressClass" },
    {
      name: "pod-network",
      type: "string",
      default: "10.0.0.0/8",
      placeholder: "CIDR",
      help: "whose pods may read metrics",
    },
    {
      name: "service-monitor",
      type: "bool",
      default: false,
      help: "with a ServiceMonitor, for the Prometheus operator",
    },
    { name: "crd", type: "bool", default: true, help: "false: without the definition of EdgePolicy" },
    { name: "json", type: "bool", default: false, help: "print one JSON object, a List" },
  ],
  notes: [
    "  edge kubernetes manifests | kubectl apply --server-side -f -",
    "  edge kubernetes manifests --namespaces shop,billing --replicas 3 > edge.yaml",
    "",
    "Install the definitions of the Gateway API before.",
    "Exit codes: 0 printed, 2 wrong usage.",
  ],
} as const;

type Flags = CommandCall<(typeof manifestsCommand)["flags"]>["values"];

/** `edge kubernetes manifests`. docs/kubernetes.md#manifests */
export function runKubernetes([word, ...args]: readonly string[], io: CommandIo): number {
  const isHelp = word === "--help" || word === "-h" || word === "-help";
  if (word !== "manifests" && !isHelp) {
    io.err('edge kubernetes: expected edge kubernetes manifests\nTry "edge kubernetes --help".\n');
    return ExitCode.Usage;
  }
  const call = startCommand(manifestsCommand, isHelp ? ["--help"] : args, io);
  if (typeof call === "number") return call;
  const options = optionsOf(call.values);
  if (typeof options === "string") {
    io.err(`edge kubernetes manifests: ${options}\nTry "edge kubernetes manifests --help".\n`);
    return ExitCode.Usage;
  }
  const all = manifests(options);
  if (call.values.json) io.out(`${JSON.stringify({ apiVersion: "v1", kind: "List", items: all }, null, 2)}\n`);
  else io.out(all.map((one) => kubernetesYaml(one)).join("---\n"));
  return ExitCode.Done;
}

/** @returns why a flag is wrong */
function optionsOf(flags: Flags): ManifestOptions | string {
  const namespaces = commaList(flags.namespaces);
  const ports = commaList(flags.ports).map(Number);
  for (const [flag, names] of Object.entries({ namespace: [flags.namespace], namespaces }))
    for (const name of names) if (!LABEL.test(name)) return `--${flag}: ${name}: ${A_NAME}`;
  for (const flag of ["gateway-class", "ingress-class"] as const)
    if (!CLASS.test(flags[flag])) return `--${flag}: ${flags[flag]}: ${A_NAME}, dots`;
  if (!/^\S{1,512}$/.test(flags.image)) return "--image: expected the name of an image";
  const wrong = ports.find((port) => !Number.isInteger(port) || port < 1 || port > 65_535 || TAKEN.includes(port));
  if (ports.length === 0 || wrong !== undefined)
    return `--ports: expected ports from 1 to 65535 and not ${TAKEN.join(" or ")}, such as 80,443`;
  const network = parseCidr(flags["pod-network"]);
  if (typeof network === "string") return `--pod-network: ${network}`;
  return {
    namespace: flags.namespace,
    image: flags.image,
    replicas: flags.replicas,
    isDaemonSet: flags.daemonset,
    serviceType: flags["service-type"],
    namespaces: [...new Set(namespaces)],
    ports: [...new Set(ports)],
    gatewayClass: flags["gateway-class"],
    ingressClass: flags["ingress-class"],
    controller: "edge.dev/gateway",
    podNetwork: flags["pod-network"],
    hasServiceMonitor: flags["service-monitor"],
    definition: flags.crd ? policyDefinition() : null,
  };
}

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
const CLASS = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const A_NAME = "a name has small letters, digits and dashes";
/** The gateway's own. */
const TAKEN = [8080, 9090];
