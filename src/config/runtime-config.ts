import type { SidecarConfig, TranscoderConfig } from "./mesh-config.ts";
import type { RouteConfig } from "./route-config.ts";
import type { ConfigOf } from "./row.ts";
import type { rateLimit } from "./server-schema.ts";

/**
 * The whole configuration of one gateway process after reading, checking and filling in: what `loadConfig` gives.
 *
 * Every field is always there. "Not set" is `""`, `0` or an empty list, as the field's comment says; there is no
 * `undefined`. Units end the names (`Ms`, `Bytes`). Paths are absolute. The tree is plain data, so it survives
 * `postMessage` to a worker (call `deepFreeze` again there), and it is deeply frozen.
 *
 * Spec, "Resources and their fields"; decisions §1.
 */
export interface RuntimeConfig {
  readonly server: ServerConfig;
  readonly proxy: ProxyConfig;
  readonly sidecar: SidecarConfig;
  readonly transcoder: TranscoderConfig;
  readonly internalApi: InternalApiConfig;
  /** In the order of `routes.yaml`. The router decides precedence (exact, then the longest prefix), not this order. */
  readonly routes: readonly RouteConfig[];
}

/** Where a setting stands in its file; line and column count from 1, and are 0 for a setting that no file holds. */
export interface ConfigPosition {
  readonly file: string;
  readonly line: number;
  readonly col: number;
}

export type ChunkedMode = "normalize" | "passthrough" | "reject";
export type TlsVersion = "1.2" | "1.3";
export type ClientAuth = "none" | "request" | "require";

/** `server:` in config.yaml. Spec, "`server` (general)"; decisions §1 "Server defaults". */
export interface ServerConfig {
  /** Address to listen on, without brackets: an IP address or a name such as `localhost`. */
  readonly host: string;
  /** The cleartext port; 0 lets the system choose one, -1 (`off`) is none. */
  readonly port: number;
  /** Data workers; 0 is one a CPU (`auto`). */
  readonly workers: number;
  /** A request head must be complete within this. */
  readonly headerTimeoutMs: number;
  /** Longest pause between two reads of a request body. */
  readonly readTimeoutMs: number;
  /** Bytes a second that a request body must bring on the average once it is under way; 0 asks for none. */
  readonly minBodyRate: number;
  /** Client connections of all workers at one time; 0 takes what the limit of descriptors leaves (`auto`). */
  readonly maxConnections: number;
  /** Client connections of one address at one time; 0 is no limit. */
  readonly maxConnectionsPerIp: number;
  /** Longest time a single write may make no progress; not the time of the whole answer. */
  readonly writeTimeoutMs: number;
  /** How long a kept-alive connection may rest between requests. */
  readonly idleTimeoutMs: number;
  /** How long the answer under way may still take once the client has ended its direction; -1 (`serve`) is no limit. */
  readonly halfCloseGraceMs: number;
  /** How long requests in flight may go on after SIGTERM; 0 cuts them at once. */
  readonly shutdownTimeoutMs: number;
  /** How long new connections are still taken after SIGTERM, while `/health` says that the process leaves. */
  readonly drainDelayMs: number;
  /** All header lines of a request together; more is 431. */
  readonly maxHeaderBytes: number;
  /** Header fields of a request, the cookie crumbs of HTTP/2 and 3 counted as one; more is 431. */
  readonly maxHeaderFields: number;
  /** Request body limit; 0 means unconstrained. Each route carries its own effective value. */
  readonly maxBodyBytes: number;
  /** Memory that may wait for peers that do not read, all workers together; the connections that stand still are cut. */
  readonly maxUnsentBytes: number;
  /** The server-wide value; each route carries its own effective value. */
  readonly inboundChunkedMode: ChunkedMode;
  /** Whether the valid trailers of requests become headers (or follow as trailers), or stay behind. */
  readonly requestTrailers: "expose" | "drop";
  /** Peers whose `X-Forwarded-For` and PROXY headers are believed. */
  readonly trustedProxies: readonly Cidr[];
  readonly ipRules: IpRules;
  readonly tls: TlsConfig;
  readonly http2: Http2Config;
  readonly http3: Http3Config;
  readonly proxyProtocol: ProxyProtocolConfig;
  readonly waf: WafConfig;
  readonly cache: CacheConfig;
  readonly acme: AcmeConfig;
  readonly cors: CorsConfig;
  readonly securityHeaders: SecurityHeadersConfig;
  readonly rateLimit: RateLimitConfig;
  readonly accessLog: AccessLogConfig;
}

/** A network, read for matching: `bytes` holds 16 octets, an IPv4 network as `::ffff:a.b.c.d` with 96 added to `bits`. */
export interface Cidr {
  /** As an operator would write it, such as `10.0.0.0/8`. */
  readonly text: string;
  readonly bytes: readonly number[];
  readonly bits: number;
}

/** Client address rules: `deny` is looked at first; with a non-empty `allow`, addresses outside it are refused. */
export interface IpRules {
  readonly allow: readonly Cidr[];
  readonly deny: readonly Cidr[];
}

/** `server.tls`. Decisions §1 "TLS". */
export interface TlsConfig {
  readonly enabled: boolean;
  readonly port: number;
  /** The first is the default for clients without SNI. May be empty when ACME obtains the certificates. */
  readonly certificates: readonly CertificateFiles[];
  readonly minVersion: TlsVersion;
  readonly clientAuth: ClientAuth;
  /** CA bundle that client certificates must chain to; "" unless `clientAuth` asks for one. */
  readonly clientCaFile: string;
  /** Whether cleartext requests are sent to `https://`. */
  readonly redirectHttp: boolean;
  /** The port that they are sent to, where clients reach TLS at another than `port`; 0 is `port`. */
  readonly redirectPort: number;
}

/** Absolute paths of one certificate chain and its private key, both PEM. */
export interface CertificateFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** `server.http2`. Decisions §4, HTTP/2. */
export interface Http2Config {
  /** HTTP/2 on the TLS port (ALPN `h2`) and by prior knowledge on the plain port. */
  readonly enabled: boolean;
  readonly maxConcurrentStreams: number;
  readonly maxHeaderListBytes: number;
  /** `drop` forwards the request without them (VECTOR-08), `reject` is RFC 9113 §8.3. */
  readonly unknownPseudoHeaders: "drop" | "reject";
  /** RFC 8441: WebSockets over HTTP/2, tunnelled to upgrades of HTTP/1.1. */
  readonly extendedConnect: boolean;
}

/** `server.http3`. The port is UDP. */
export interface Http3Config {
  readonly enabled: boolean;
  readonly port: number;
}

/** `server.proxy_protocol`: PROXY v1 and v2 headers, taken from peers in `trusted` only; others must not send one. */
export interface ProxyProtocolConfig {
  readonly enabled: boolean;
  /** `server.trusted_proxies` unless the section names its own. */
  readonly trusted: readonly Cidr[];
}

/** `server.waf`. Spec, "`server.waf`"; decisions §5. */
export interface WafConfig {
  readonly enabled: boolean;
  readonly mode: "enforce" | "detection";
  readonly anomalyThreshold: number;
  /** First bytes of a request body that are inspected; 0 leaves bodies alone. */
  readonly maxInspectBodyBytes: number;
  /** What is done with a body of which more came than that: `inspect` its beginning, or `reject` it. */
  readonly overLimit: "inspect" | "reject";
  readonly disabledRules: readonly string[];
  /** Clients that skip the WAF (never framing or the guards). */
  readonly allowedIps: readonly Cidr[];
  readonly exclusions: readonly WafExclusion[];
}

/** Switches one rule off for a path prefix and, where `param` is named, one parameter. `""` means any. */
export interface WafExclusion {
  readonly rule: string;
  readonly path: string;
  readonly param: string;
}

/** `server.cache`. Spec, "`server.cache`"; decisions §6. */
export interface CacheConfig {
  readonly enabled: boolean;
  readonly defaultTtlMs: number;
  readonly maxEntries: number;
  /** Largest body that is stored. */
  readonly maxPayloadBytes: number;
  /** Memory of all entries together. */
  readonly maxBytes: number;
  /** `bypass`: what belongs to a request with Cookie, or gives a cookie, is shared only where the answer says so. */
  readonly cookies: "share" | "bypass";
}

/** `server.acme`. Spec, "`server.acme`"; decisions §9. */
export interface AcmeConfig {
  readonly enabled: boolean;
  readonly directoryUrl: string;
  /** Contact address; "" registers without one. */
  readonly email: string;
  /** Lower-case names; never empty when enabled. */
  readonly domains: readonly string[];
  readonly cacheDir: string;
  readonly challengeType: "http-01" | "tls-alpn-01";
  /** External account binding; both "" when the CA needs none. */
  readonly eabKid: string;
  readonly eabHmacKey: string;
  /** CA bundle for the directory's own HTTPS certificate; "" uses the system's roots. */
  readonly caFile: string;
}

/** `server.cors`. Decisions §8. */
export interface CorsConfig {
  readonly enabled: boolean;
  /** `["*"]`, or origins such as `https://app.example.com`, lower-case and without a path. */
  readonly allowedOrigins: readonly string[];
  readonly allowedMethods: readonly string[];
  /** `["*"]`, or header names as written. Empty allows none beyond the safelisted ones. */
  readonly allowedHeaders: readonly string[];
  readonly exposedHeaders: readonly string[];
  readonly allowCredentials: boolean;
  readonly maxAgeSeconds: number;
}

/** `server.security_headers`: full header values; "" sends no such header. HSTS goes out on TLS only. Decisions §8. */
export interface SecurityHeadersConfig {
  readonly enabled: boolean;
  readonly frameOptions: string;
  readonly referrerPolicy: string;
  readonly hsts: string;
}

/** A token bucket. */
export interface RateLimitConfig extends ConfigOf<typeof rateLimit> {
  /** `server`: the buckets are the server's, shared by all routes without a limit of their own; `route`: its own. */
  readonly scope: "server" | "route";
}

/** `server.access_log`. Decisions §8. */
export interface AccessLogConfig {
  readonly enabled: boolean;
  /** Share of requests that are logged, 0 to 1. */
  readonly sample: number;
}

/** `proxy:`. Spec, "`server` (general)"; decisions §1. */
export interface ProxyConfig {
  /** When false, upstream routes answer 503 and only static, built-in and transcoded routes serve. */
  readonly enabled: boolean;
  readonly transport: TransportConfig;
}

export type TransportProfile = "default" | "low_latency" | "high_throughput";

/** `proxy.transport`: the profile's numbers with the explicit settings on top. */
export interface TransportConfig {
  readonly profile: TransportProfile;
  /** Idle connections kept per origin. */
  readonly maxIdleConns: number;
  readonly idleConnTimeoutMs: number;
  readonly connectTimeoutMs: number;
  readonly responseHeaderTimeoutMs: number;
  /** Header fields of an answer of an origin; more is 502. */
  readonly maxResponseFields: number;
  /** Effective at this level (transport, else server). */
  readonly inboundChunkedMode: ChunkedMode;
  /** Memory of all request bodies that are held back at one time; beyond it the slowest one ends. */
  readonly maxBufferedBytes: number;
  /** What part of it one client address may have, above 0 up to 1. */
  readonly maxBufferedShare: number;
  /** Request bodies in spool files at one time, likewise; 0 takes what the disk has (`auto`). */
  readonly maxSpooledBytes: number;
  /** `address[:port]` of the name servers; empty for the system's. */
  readonly nameservers: readonly string[];
}

/** `internal_api:`. Spec, "`internal API` configuration"; decisions §7 "Access". */
export interface InternalApiConfig {
  /** Loopback, and the networks that the configuration adds. */
  readonly allow: readonly Cidr[];
  /** Names by which this machine may call it beside addresses and local names: lower case, `*.` patterns allowed. */
  readonly hosts: readonly string[];
  /** Bearer token; "" asks for none. */
  readonly token: string;
  /** Own listener; `listenPort` -1 keeps the endpoints on the public port. */
  readonly listenHost: string;
  readonly listenPort: number;
  readonly maxProxyTestResponseBytes: number;
}
