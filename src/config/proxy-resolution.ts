import { parseCidr } from "./cidr.ts";
import { quote } from "./config-fault.ts";
import type { InternalApiValues, ProxyValues } from "./config-schema.ts";
import type { FaultLog } from "./fault-log.ts";
import { resolveHostPattern } from "./host-pattern.ts";
import { parseAuthority } from "./origin.ts";
import type {
  ChunkedMode,
  Cidr,
  InternalApiConfig,
  ProxyConfig,
  TransportConfig,
  TransportProfile,
} from "./runtime-config.ts";
import { resolveHost } from "./server-resolution.ts";

/** `proxy:`: the profile's numbers, the explicit settings on top. `serverMode` is the server's own chunked mode. */
export function resolveProxy(values: ProxyValues, serverMode: ChunkedMode): ProxyConfig {
  const own = values.transport;
  const preset = PROFILES[own.profile];
  return {
    enabled: values.enabled,
    transport: {
      profile: own.profile,
      maxIdleConns: own.max_idle_conns ?? preset.maxIdleConns,
      idleConnTimeoutMs: own.idle_conn_timeout ?? preset.idleConnTimeoutMs,
      connectTimeoutMs: own.connect_timeout ?? preset.connectTimeoutMs,
      responseHeaderTimeoutMs: own.response_header_timeout ?? preset.responseHeaderTimeoutMs,
      maxResponseFields: own.max_response_fields,
      inboundChunkedMode: own.inbound_chunked_mode || serverMode,
      maxBufferedBytes: own.max_buffered_bytes,
      maxBufferedShare: own.max_buffered_share,
      maxSpooledBytes: own.max_spooled_bytes,
      // In brackets an IPv6 address may have a port, and the resolver wants them where it has one.
      nameservers: own.nameservers.map((server) => server.replace(/^\[([^\]]+)\]$/, "$1")),
    },
  };
}

/** `internal_api:`. Loopback is always allowed; `allow` adds to it. Decisions §7 "Access". */
export function resolveInternalApi(values: InternalApiValues, log: FaultLog): InternalApiConfig {
  const listen = resolveListen(values.listen, log);
  if (values.token !== "" && !/^[\x21-\x7e]{8,}$/.test(values.token)) {
    log.fault(["internal_api", "token"], "expected a token of at least 8 letters, digits or signs, without spaces");
  }
  return {
    allow: [...LOOPBACK, ...values.allow],
    hosts: values.hosts.map((host, i) => resolveHostPattern(host, ["internal_api", "hosts", i], log)),
    token: values.token,
    listenHost: listen.host,
    listenPort: listen.port,
    maxProxyTestResponseBytes: values.max_proxy_test_response_bytes,
  };
}

/** `127.0.0.1:9090`, `:9090` (every address), or `9090` (loopback only); "" keeps the public port. */
function resolveListen(listen: string, log: FaultLog): { host: string; port: number } {
  if (listen === "") return { host: "", port: -1 };
  const path = ["internal_api", "listen"];
  const full = /^\d+$/.test(listen) ? `127.0.0.1:${listen}` : listen.startsWith(":") ? `0.0.0.0${listen}` : listen;
  const parsed = parseAuthority(full);
  if (typeof parsed !== "string" && parsed.port > 0)
    return { host: resolveHost(parsed.hostname, path, log), port: parsed.port };
  log.fault(path, `expected an address and a port such as 127.0.0.1:9090, found ${quote(listen)}`);
  return { host: "", port: -1 };
}

/**
 * The presets of `proxy.transport.profile`. `low_latency` gives up early and keeps more connections warm;
 * `high_throughput` keeps many connections and is patient with slow answers. Decisions §1 "Server defaults".
 */
const PROFILES: Readonly<
  Record<
    TransportProfile,
    Omit<
      TransportConfig,
      "profile" | "maxResponseFields" | "inboundChunkedMode" | "nameservers" | `max${"Buffered" | "Spooled"}${string}`
    >
  >
> = {
  default: { maxIdleConns: 100, idleConnTimeoutMs: 90_000, connectTimeoutMs: 5000, responseHeaderTimeoutMs: 30_000 },
  low_latency: {
    maxIdleConns: 200,
    idleConnTimeoutMs: 120_000,
    connectTimeoutMs: 1000,
    responseHeaderTimeoutMs: 10_000,
  },
  high_throughput: {
    maxIdleConns: 500,
    idleConnTimeoutMs: 120_000,
    connectTimeoutMs: 5000,
    responseHeaderTimeoutMs: 60_000,
  },
};

const LOOPBACK: readonly Cidr[] = ["127.0.0.0/8", "::1"].map((text) => parseCidr(text) as Cidr);
