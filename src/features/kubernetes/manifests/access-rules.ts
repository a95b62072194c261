/** A rule of a Role or ClusterRole. */
interface AccessRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

const READ = ["get", "list", "watch"];
const GATEWAY_API = "gateway.networking.k8s.io";

/** Kinds of the Gateway API that lie in namespaces. */
const GATEWAY_KINDS = [
  ...["gateways", "listenersets", "httproutes", "grpcroutes", "tlsroutes", "tcproutes", "udproutes"],
  ...["backendtlspolicies", "referencegrants"],
];
/** Those whose status edge writes. */
const STATUS_KINDS = GATEWAY_KINDS.filter((kind) => kind !== "referencegrants");

/** Kinds of the whole cluster; none of them holds a secret. */
export const CLUSTER_RULES: readonly AccessRule[] = [
  { apiGroups: [""], resources: ["namespaces"], verbs: READ },
  { apiGroups: [GATEWAY_API], resources: ["gatewayclasses"], verbs: READ },
  { apiGroups: [GATEWAY_API], resources: ["gatewayclasses/status"], verbs: ["update", "patch"] },
  { apiGroups: ["networking.k8s.io"], resources: ["ingressclasses"], verbs: READ },
];

/** What edge reads and writes in each namespace whose routes it serves. */
export const NAMESPACE_RULES: readonly AccessRule[] = [
  { apiGroups: [""], resources: ["services", "secrets", "configmaps"], verbs: READ },
  { apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: READ },
  { apiGroups: [GATEWAY_API], resources: GATEWAY_KINDS, verbs: READ },
  {
    apiGroups: [GATEWAY_API],
    resources: STATUS_KINDS.map((kind) => `${kind}/status`),
    verbs: ["update", "patch"],
  },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses"], verbs: READ },
  { apiGroups: ["networking.k8s.io"], resources: ["ingresses/status"], verbs: ["update", "patch"] },
  { apiGroups: ["edge.dev"], resources: ["edgepolicies"], verbs: READ },
  { apiGroups: ["edge.dev"], resources: ["edgepolicies/status"], verbs: ["update", "patch"] },
  { apiGroups: [""], resources: ["events"], verbs: ["create", "patch"] },
];

/** What edge needs in its own namespace: the Lease of the replica that writes statuses, and its own Service. @param service its name */
export function ownRules(service: string): readonly AccessRule[] {
  return [
    { apiGroups: ["coordination.k8s.io"], resources: ["leases"], verbs: ["get", "create", "update", "patch"] },
    { apiGroups: [""], resources: ["services"], resourceNames: [service], verbs: READ },
  ];
}
