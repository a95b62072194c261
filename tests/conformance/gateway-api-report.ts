// Runs the suite of the Gateway API against ./edge on a control plane of processes, and writes its report. scripts/conformance-gateway-api
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { VERSION } from "../../src/core/version.ts";
import { SUPPORTED_FEATURES } from "../../src/features/kubernetes/gateway/features.ts";
import { EDGE_BINARY } from "../harness/gateway.ts";
import { build, ControlPlane, GATEWAY_ADDRESSES, SUITE_VERSION } from "./kube/control-plane.ts";

const PROFILES = ["HTTP", "TLS", "GRPC", "TCP", "UDP"].map((name) => `GATEWAY-${name}`);
const RESULTS = join(import.meta.dir, "results", "gateway-api.yaml");
const HOME = process.env.KUBE_HOME ?? join(process.env.XDG_CACHE_HOME ?? `${process.env.HOME}/.cache`, "edge-kube");

/** The gateway's account may do what `edge kubernetes manifests` gives it, and no more. */
function rights(): object[] {
  const group = "gateway.networking.k8s.io";
  const read = ["get", "list", "watch"];
  const kinds = ["gatewayclasses", "gateways", "listenersets", "httproutes", "grpcroutes", "tlsroutes", "tcproutes"];
  const statuses = [...kinds, "udproutes", "backendtlspolicies"].map((name) => `${name}/status`);
  const rules = [
    { apiGroups: [""], resources: ["services", "secrets", "configmaps", "namespaces"], verbs: read },
    { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: read },
    { apiGroups: ["networking.k8s.io"], resources: ["ingresses", "ingressclasses"], verbs: read },
    { apiGroups: [group], resources: ["*"], verbs: read },
    { apiGroups: [group], resources: statuses, verbs: ["patch"] },
    { apiGroups: [""], resources: ["events"], verbs: ["create"] },
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update"] },
  ];
  const metadata = { name: "edge-gateway" };
  const rbac = "rbac.authorization.k8s.io";
  return [
    { apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata, rules },
    {
      ...{ apiVersion: `${rbac}/v1`, kind: "ClusterRoleBinding", metadata },
      roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "edge-gateway" },
      subjects: [{ kind: "User", name: "edge-gateway", apiGroup: rbac }],
    },
    {
      ...{ apiVersion: `${group}/v1`, kind: "GatewayClass", metadata: { name: "edge" } },
      ...{ spec: { controllerName: "edge.dev/gateway" } },
    },
  ];
}

function startGateway(plane: ControlPlane): void {
  const folder = join(plane.home, "gateway");
  mkdirSync(folder, { recursive: true });
  const config = {
    server: { host: "127.0.0.1", port: 18_080, waf: { enabled: false } },
    providers: {
      kubernetes: { kubeconfig: join(plane.home, "pki", "edge.kubeconfig"), addresses: [GATEWAY_ADDRESSES] },
    },
  };
  writeFileSync(join(folder, "config.yaml"), JSON.stringify(config));
  writeFileSync(join(folder, "routes.yaml"), "[]\n");
  const files = ["--config", join(folder, "config.yaml"), "--routes", join(folder, "routes.yaml")];
  plane.spawn([EDGE_BINARY, "serve", ...files], "", { STATE_DIRECTORY: folder });
}

build(HOME);
const plane = new ControlPlane(HOME);
const report = join(HOME, "report.yaml");
try {
  await plane.start("experimental", rights());
  startGateway(plane);
  const child = plane.spawn(
    [
      join(HOME, "bin", "conformance.test"),
      ...["-test.run", "^TestConformance$", "-test.v", "-gateway-class=edge", "-disable-parallel-tests"],
      ...[`-conformance-profiles=${PROFILES}`, `-supported-features=${SUPPORTED_FEATURES}`, `-report-output=${report}`],
      ...["-organization=edge", "-project=edge", "-url=https://edge.dev", `-version=${VERSION}`, "-contact=none"],
      ...["-usable-address=10.91.0.200", "-unusable-address=10.92.0.1", ...process.argv.slice(2)],
    ],
    "",
    { KUBECONFIG: join(HOME, "pki", "admin.kubeconfig") },
  );
  const code = await child.exited;
  const text = readFileSync(report, "utf8");
  const failed = /failedTests/.test(text);
  console.log(
    `Gateway API ${SUITE_VERSION}: ${code === 0 && !failed ? "all tests passed" : "some tests failed"}; see ${report}`,
  );
  if (process.argv.length === 2 && code === 0) copyFileSync(report, RESULTS);
  process.exitCode = code ?? 1;
} finally {
  await plane.stop();
}
