import type { configFile } from "./config-settings.ts";
import type { RouteConfig } from "./route-config.ts";
import type { ConfigOf } from "./row.ts";
import type { StreamConfig } from "./stream-config.ts";

/**
 * The whole configuration of one gateway process after reading, checking and filling in: what `loadConfig` gives.
 *
 * Every field is always there. "Not set" is `""`, `0` or an empty list, as the field's comment says; there is no
 * `undefined`. Units end the names (`Ms`, `Bytes`). Paths are absolute. The tree is plain data, so it survives
 * `postMessage` to a worker (call `deepFreeze` again there), and it is deeply frozen.
 */
export interface RuntimeConfig extends ConfigOf<typeof configFile> {
  /** In the order of `routes.yaml`. The router decides precedence (exact, then the longest prefix), not this order. */
  readonly routes: readonly RouteConfig[];
  /** The entries of `routes.yaml` that forward connections and know nothing of HTTP, in their order. */
  readonly streams: readonly StreamConfig[];
}

/** Where a setting is in its file; line and column count from 1, and are 0 for a setting that no file holds. */
export interface ConfigPosition {
  readonly file: string;
  readonly line: number;
  readonly col: number;
}

/** A network, read for matching: `bytes` holds 16 octets, an IPv4 network as `::ffff:a.b.c.d` with 96 added to `bits`. */
export interface Cidr {
  /** As an operator would write it, such as `10.0.0.0/8`. */
  readonly text: string;
  readonly bytes: readonly number[];
  readonly bits: number;
}

/** Absolute paths of one certificate chain and its private key, both PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

export type ServerConfig = RuntimeConfig["server"];
export type ProxyConfig = RuntimeConfig["proxy"];
export type TransportConfig = ProxyConfig["transport"];
export type InternalApiConfig = RuntimeConfig["internalApi"];
export type ChunkedMode = ServerConfig["inboundChunkedMode"];
export type IpRules = ServerConfig["ipRules"];
export type TlsConfig = ServerConfig["tls"];
export type TlsVersion = TlsConfig["minVersion"];
export type ClientAuth = TlsConfig["clientAuth"];
export type WafConfig = ServerConfig["waf"];
/** Switches one rule off for a path prefix and, where `param` is named, one parameter. "" means any. */
export type WafExclusion = WafConfig["exclusions"][number];
export type CacheConfig = ServerConfig["cache"];
export type AcmeConfig = ServerConfig["acme"];
export type CorsConfig = ServerConfig["cors"];
export type SecurityHeadersConfig = ServerConfig["securityHeaders"];
export type AccessLogConfig = ServerConfig["accessLog"];

/** A token bucket, and whose it is: shared by all routes without a limit of their own, or of one route. */
export type RateLimitConfig = Omit<ServerConfig["rateLimit"], "scope"> & { readonly scope: "server" | "route" };
