import type { WatchedKind } from "./kind-watch.ts";

const GATEWAY = "/apis/gateway.networking.k8s.io/v1";

/** THE kinds that are watched. A kind that the API server does not know is passed over until it does. */
export const KINDS: readonly WatchedKind[] = [
  { kind: "Namespace", base: "/api/v1", plural: "namespaces", isClusterWide: true },
  { kind: "Service", base: "/api/v1", plural: "services" },
  { kind: "Secret", base: "/api/v1", plural: "secrets" },
  { kind: "ConfigMap", base: "/api/v1", plural: "configmaps" },
  { kind: "EndpointSlice", base: "/apis/discovery.k8s.io/v1", plural: "endpointslices" },
  { kind: "IngressClass", base: "/apis/networking.k8s.io/v1", plural: "ingressclasses", isClusterWide: true },
  { kind: "Ingress", base: "/apis/networking.k8s.io/v1", plural: "ingresses" },
  { kind: "GatewayClass", base: GATEWAY, plural: "gatewayclasses", isClusterWide: true },
  { kind: "Gateway", base: GATEWAY, plural: "gateways" },
  { kind: "ListenerSet", base: GATEWAY, plural: "listenersets" },
  { kind: "HTTPRoute", base: GATEWAY, plural: "httproutes" },
  { kind: "GRPCRoute", base: GATEWAY, plural: "grpcroutes" },
  { kind: "TLSRoute", base: GATEWAY, plural: "tlsroutes" },
  { kind: "TCPRoute", base: GATEWAY, plural: "tcproutes" },
  { kind: "UDPRoute", base: GATEWAY, plural: "udproutes" },
  { kind: "ReferenceGrant", base: GATEWAY, plural: "referencegrants" },
  { kind: "BackendTLSPolicy", base: GATEWAY, plural: "backendtlspolicies" },
  { kind: "EdgePolicy", base: "/apis/edge.dev/v1alpha1", plural: "edgepolicies" },
];

export const KINDS_BY_NAME: ReadonlyMap<string, WatchedKind> = new Map(KINDS.map((one) => [one.kind, one]));
