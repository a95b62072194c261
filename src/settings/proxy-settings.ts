import { type Cidr, parseCidr } from "../config/cidr.ts";
import { type KeyPath, quote } from "../config/config-fault.ts";
import type { FaultLog } from "../config/fault-log.ts";
import { hostPattern, resolveHost } from "../config/host-kinds.ts";
import { parseAuthority } from "../config/origin.ts";
import { type Kind, list, resolved, type Spot, written } from "../config/piece.ts";
import { below, block, type ConfigOf, type Fields, type Rows, type Values } from "../config/row.ts";
import {
  chunkedMode,
  cidr,
  duration,
  flag,
  integer,
  percent,
  secret,
  size,
  sizeOrAuto,
  sizeOrDefault,
  textLike,
  textOrNumber,
  word,
} from "../config/scalars.ts";
import { fileMode, socketName } from "../config/socket-kinds.ts";
import { hostAndPort } from "../core/ip-address.ts";
import { auth, ownPathsOf } from "../features/auth/settings.ts";

const NAME_SERVER = /^(\d+\.\d+\.\d+\.\d+(:\d{1,5})?|\[[0-9a-fA-F:.]+\](:\d{1,5})?|[0-9a-fA-F.]*:[0-9a-fA-F:.]*)$/;
const MAX_STORE = 1_099_511_627_776;

const transportRows = {
  profile: {
    type: word("default", "low_latency", "high_throughput"),
    default: "default",
    doc: "low_latency, high_throughput: other defaults for the next four",
  },
  max_idle_conns: {
    type: integer(0, 1_000_000),
    absent: null,
    example: 100,
    doc: "idle connections kept per upstream; the profile's by default, as below",
  },
  idle_conn_timeout: {
    type: duration(1),
    absent: null,
    example: "90s",
    doc: "how long an unused connection to an upstream stays open",
  },
  connect_timeout: { type: duration(1), absent: null, example: "5s", doc: "time to connect; then 504" },
  response_header_timeout: {
    type: duration(1),
    absent: null,
    example: "30s",
    doc: "time until the head of the response; then 504",
  },
  max_response_fields: {
    type: integer(1, 10_000),
    default: 256,
    doc: "most header fields of an upstream's response; more are 502",
  },
  inbound_chunked_mode: { type: chunkedMode(), default: "", doc: "as server.inbound_chunked_mode by default" },
  max_buffered_bytes: {
    type: size(16_384, MAX_STORE),
    default: "256MiB",
    doc: "memory for all buffered bodies; if it is full, the slowest client gets 408",
  },
  max_buffered_share: { type: percent(), default: "12.5%", doc: "share of that memory for one client address" },
  // Resolved, 0 is `auto`.
  max_spooled_bytes: {
    type: sizeOrAuto(16_384, MAX_STORE),
    default: "auto",
    doc: "disk space in $TMPDIR for buffered bodies over 1 MiB: 16GiB, or half of the free space",
  },
  nameservers: {
    type: list(nameServer(), "addresses"),
    example: ["10.0.0.2", "10.0.0.3:5353"],
    doc: "DNS servers for upstream names, in place of those in /etc/resolv.conf",
  },
  dns_hold: {
    type: duration(0),
    default: "30s",
    doc: "how long edge keeps the last addresses of a name that DNS no longer has",
  },
} as const satisfies Rows;

/** docs/upstreams.md#profiles */
const transport = block(transportRows, { finish: finishTransport });

/** The profile's numbers, the explicit settings on top. */
function finishTransport(own: Fields<typeof transportRows>) {
  const preset = PROFILES[own.profile];
  return {
    maxIdleConns: own.maxIdleConns ?? preset.maxIdleConns,
    idleConnTimeoutMs: own.idleConnTimeoutMs ?? preset.idleConnTimeoutMs,
    connectTimeoutMs: own.connectTimeoutMs ?? preset.connectTimeoutMs,
    responseHeaderTimeoutMs: own.responseHeaderTimeoutMs ?? preset.responseHeaderTimeoutMs,
  };
}

/**
 * The presets of `proxy.transport.profile`. `low_latency` gives up early and keeps more connections warm;
 * `high_throughput` keeps many connections and is patient with slow responses.
 */
const PROFILES = {
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

/** How the gateway connects to upstreams. */
export const proxy = block(
  {
    enabled: { type: flag(), default: true, doc: "false: upstream routes answer 503" },
    transport: { type: transport, doc: "connections to your upstreams" },
  },
  {
    misplaced: new Map(
      Object.keys(transportRows).map((key) => [key, `belongs one level down: write proxy.transport.${key}`]),
    ),
  },
);

const TEST_RESPONSE = "1MiB";
const internalApiRows = {
  // Resolved, loopback is always allowed, and first.
  allow: {
    type: written(
      resolved(list(cidr(), "networks"), (networks) => [...LOOPBACK, ...networks]),
      (networks) => networks.slice(LOOPBACK.length).map(({ text }) => text),
    ),
    example: ["10.0.0.0/8"],
    doc: "further networks that get in",
  },
  hosts: {
    type: list(hostPattern(), "host names", true),
    example: ["edge.example.net"],
    doc: "host names that you use for it, besides addresses and names without a dot",
  },
  // Resolved, "" asks for none.
  token: {
    type: secret("the token"),
    default: "",
    guard: true,
    example: "${EDGE_TOKEN:-secret}",
    doc: 'clients must send it as "Authorization: Bearer"',
  },
  auth: {
    type: auth,
    guard: true,
    example: { basic: { users_file: "./operators" } },
    doc: "users who get in from these addresses, by the keys of server.auth, beside clients with the token",
  },
  listen: {
    type: textOrNumber("host:port"),
    default: "",
    field: "",
    example: "127.0.0.1:9090",
    doc: "a port of its own; the public ports then serve none of it",
  },
  // Resolved, "" is none.
  socket: {
    type: socketName(),
    default: "",
    example: "/run/edge/edge.sock",
    doc: "a UNIX socket beside that; clients that may open it need no token",
  },
  socket_mode: { type: fileMode(), default: "0600", doc: "the permissions of that socket" },
  max_proxy_test_response_bytes: {
    type: sizeOrDefault(TEST_RESPONSE),
    default: TEST_RESPONSE,
    doc: "most bytes that the upstream probe reads",
  },
} as const satisfies Rows;

/** Who may use the built-in endpoints, and where. docs/endpoints.md#access */
export const internalApi = block(internalApiRows, {
  check: checkToken,
  // A port of -1 keeps the endpoints on the public one.
  finish: (plain, { listen }, spot) => {
    const users = { ...plain.auth, scope: "server" as const };
    if (ownPathsOf(users).length > 0)
      spot.log.fault(
        [...spot.path, "auth"],
        "has a method with paths of its own, such as oidc, which needs a route",
        true,
      );
    return { ...resolveListen(listen, below(spot, "listen")), auth: users };
  },
  list: ({ listenHost, listenPort }, lines) => ({ ...lines, listen: listenText(listenHost, listenPort) }),
});

function checkToken({ token }: Values<typeof internalApiRows>, { log, path }: Spot): void {
  if (token !== "" && !/^[\x21-\x7e]{8,}$/.test(token))
    log.fault([...path, "token"], "expected a token of at least 8 letters, digits or signs, without spaces");
}

/** `127.0.0.1:9090`, `:9090` (every address), or `9090` (loopback only); "" keeps the public port. */
function resolveListen(listen: string, { log, path }: Spot): { listenHost: string; listenPort: number } {
  if (listen === "") return { listenHost: "", listenPort: -1 };
  const full = /^\d+$/.test(listen) ? `127.0.0.1:${listen}` : listen.startsWith(":") ? `0.0.0.0${listen}` : listen;
  const parsed = parseAuthority(full);
  if (typeof parsed !== "string" && parsed.port > 0)
    return { listenHost: resolveHost(parsed.hostname, path, log), listenPort: parsed.port };
  log.fault(path, `expected an address and a port such as 127.0.0.1:9090, found ${quote(listen)}`);
  return { listenHost: "", listenPort: -1 };
}

function listenText(host: string, port: number): string {
  return port < 0 ? "" : hostAndPort(host, port);
}

/** An address of a name server. In brackets an IPv6 address may have a port, and the resolver wants them if it has one. */
function nameServer(): Kind<string> {
  const address = textLike(NAME_SERVER, "an address with or without a port such as 10.0.0.2 or [::1]:5353");
  return resolved(address, (server) => server.replace(/^\[([^\]]+)\]$/, "$1"));
}

const LOOPBACK: readonly Cidr[] = ["127.0.0.0/8", "::1"].map((text) => parseCidr(text) as Cidr);

/** Warns of a limit of bodies that the spool files cannot hold. */
export function warnOfSpool(
  maxBodyBytes: number,
  { transport: { maxSpooledBytes } }: ConfigOf<typeof proxy>,
  at: KeyPath,
  log: FaultLog,
): void {
  if (maxSpooledBytes === 0 || maxBodyBytes <= maxSpooledBytes) return;
  log.warn(at, "is above proxy.transport.max_spooled_bytes: chunked bodies between the two never fit and get 503");
}
