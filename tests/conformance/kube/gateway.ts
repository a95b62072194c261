import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { EDGE_BINARY } from "../../harness/gateway.ts";
import { type ControlPlane, GATEWAY_ADDRESSES } from "./control-plane.ts";

/** The gateway's account may do what `edge kubernetes manifests` gives it, and no more. */
export function rights(): object[] {
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

/** Starts ./edge beside the API server. @returns the process */
export function startGateway(plane: ControlPlane): Bun.Subprocess {
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
  return plane.spawn([EDGE_BINARY, "serve", ...files], "", { STATE_DIRECTORY: folder });
}
