import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Versions of the control plane and of the suite. */
export const VERSIONS = { kubernetes: "1.37.2", gatewayApi: "1.6.3", controllerRuntime: "0.25.2" } as const;

/** Modules of Kubernetes that k8s.io/kubernetes names without a version. */
const STAGING = [
  "api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap code-generator",
  "component-base component-helpers controller-manager cri-api cri-client cri-streaming csi-translation-lib",
  "dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator kube-controller-manager kube-proxy",
  "kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission sample-apiserver sample-cli-plugin",
  "sample-controller streaming",
]
  .join(" ")
  .split(" ");

const GATEWAY_API = "sigs.k8s.io/gateway-api";

/** Binaries by name, each with the arguments of `go` that make it. */
export const BINARIES: Readonly<Record<string, readonly string[]>> = {
  etcd: ["build", "-ldflags=-s -w", "go.etcd.io/etcd/server/v3"],
  "echo-basic": ["build", "-ldflags=-s -w", `${GATEWAY_API}/conformance/echo-basic`],
  "conformance.test": ["test", "-c", `${GATEWAY_API}/conformance`],
  "kube-apiserver": [
    "build",
    `-ldflags=-s -w -X k8s.io/component-base/version.gitVersion=v${VERSIONS.kubernetes}`,
    "k8s.io/kubernetes/cmd/kube-apiserver",
  ],
};

/** Writes the Go module that has the control plane and the suite as tools. */
export function writeModule(folder: string): void {
  const { kubernetes, gatewayApi, controllerRuntime } = VERSIONS;
  mkdirSync(folder, { recursive: true });
  const lines = [
    "module edge.dev/conformance",
    "go 1.26.0",
    "require (",
    `  k8s.io/kubernetes v${kubernetes}`,
    `  ${GATEWAY_API} v${gatewayApi}`,
    `  ${GATEWAY_API}/conformance v${gatewayApi}`,
    `  sigs.k8s.io/controller-runtime v${controllerRuntime}`,
    ")",
    "tool (",
    ...Object.values(BINARIES).map((args) => `  ${args.at(-1)}`),
    ")",
    `replace ${GATEWAY_API} => ${GATEWAY_API} v${gatewayApi}`,
    ...STAGING.map((name) => `replace k8s.io/${name} => k8s.io/${name} v${kubernetes.replace(/^1/, "0")}`),
  ];
  writeFileSync(join(folder, "go.mod"), `${lines.join("\n")}\n`);
}
