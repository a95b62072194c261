import type { PathPattern } from "../core/path-pattern.ts";
import type { OriginConfig, TargetConfig, UpstreamTlsConfig } from "./route-config.ts";
import type { CertificateFiles, ConfigPosition } from "./runtime-config.ts";

/** `sidecar:`. Spec, "`sidecar`" and "Sidecar mode"; decisions §10. */
export interface SidecarConfig {
  readonly enabled: boolean;
  readonly mode: "ingress" | "egress" | "dual";
  /** Address of the inbound listener. */
  readonly ingressHost: string;
  readonly ingressPort: number;
  /** Address of the outbound listener: loopback unless the configuration widens it. */
  readonly egressHost: string;
  readonly egressPort: number;
  /** The application's port on the local interface. */
  readonly appPort: number;
  /** Always above 0. */
  readonly maxBodyBytes: number;
  readonly strictMtls: boolean;
  /** Own certificate, for the inbound listener and towards upstreams; both paths "" when there is none. */
  readonly certificate: CertificateFiles;
  /** "" trusts the system's roots. */
  readonly caFile: string;
  readonly insecureSkipVerify: boolean;
  /** SPIFFE ids that may call in, `*` at the end allowed; empty lets every verified peer in. */
  readonly allowedIds: readonly string[];
  /** Longest prefix first. */
  readonly trafficSplits: readonly TrafficSplit[];
}

/** All weights may be 0: such a split answers 503. */
export interface TrafficSplit {
  /** Normalised like a route's prefix. */
  readonly prefix: string;
  /** `weight` is the share; `backup` is always false. */
  readonly backends: readonly TargetConfig[];
}

/** `transcoder:`. Spec, "`transcoder`"; decisions §11. */
export interface TranscoderConfig {
  readonly enabled: boolean;
  /** Always above 0. */
  readonly maxBodyBytes: number;
  /** Whether routes are taken from the `google.api.http` options of the descriptor set; they stand in `routes`. */
  readonly auto: boolean;
  /** As they stand in the section, for listings: the shared descriptor set, and where routes of `auto` go. */
  readonly descriptorSet: string;
  readonly upstreamUrl: string;
  /** How `https` and `h2` upstreams are spoken to. */
  readonly tls: UpstreamTlsConfig;
  readonly routes: readonly TranscodedRouteConfig[];
  /** The contents of the descriptor sets that routes name. */
  readonly descriptorSets: readonly DescriptorSetConfig[];
}

/** A file with descriptors, and what is in it. */
export interface DescriptorSetConfig {
  /** Absolute. */
  readonly file: string;
  /** Read with the configuration, so that all workers have the same. */
  readonly base64: string;
}

/** A REST path that is answered by a gRPC method. Spec, "`transcoder`". */
export interface TranscodedRouteConfig {
  readonly position: ConfigPosition;
  /** Upper-case. */
  readonly httpMethod: string;
  /** As written, such as `/v1/users/:id`. */
  readonly httpPath: string;
  readonly pattern: PathPattern;
  /** `/package.Service/Method`. */
  readonly grpcMethod: string;
  readonly upstream: OriginConfig;
  /** From path parameter to request field. */
  readonly fieldMappings: readonly FieldMapping[];
  /** FileDescriptorSet: the route's own, else the section's; "" asks the upstream by reflection. */
  readonly descriptorSet: string;
  readonly timeoutMs: number;
  /** `*`: the request's body is the message; else the field that it is, or "" where it is not looked at. */
  readonly body: string;
  /** The field of the reply that the answer is; "" for the whole of it. */
  readonly responseBody: string;
  /** Whether a `google.api.http` option asked for it. */
  readonly isAuto: boolean;
}

/** Which field of the request message a parameter of the path fills. */
export interface FieldMapping {
  readonly param: string;
  readonly field: string;
}
