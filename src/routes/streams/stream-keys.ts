import * as v from "valibot";
import { breakerRows, probeRows, retries } from "../../config/attempt-settings.ts";
import { quote } from "../../config/config-fault.ts";
import { hostPattern, resolveHost } from "../../config/host-kinds.ts";
import { type OriginConfig, originOf, parseAuthority, parseOrigin, type TargetConfig } from "../../config/origin.ts";
import { list, type Spot } from "../../config/piece.ts";
import { below, block, type Fields, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { duration, flag, integer, text, textOrNumber, word, wordOrEmpty } from "../../config/scalars.ts";
import { ipRules } from "../../features/client/settings.ts";
import { checkPlaceRules } from "../../features/geo/settings.ts";
import { routeSpot } from "../route-spot.ts";
import { checkTargetNames, TARGET_NAME, withNames } from "../upstream/target-name.ts";
import { addressText, type ListenAddress } from "./stream-config.ts";

/** A server at an address, reached by a protocol. */
const targetOf = (scheme: StreamScheme) =>
  block(
    {
      url: {
        type: text("an address"),
        required: "the address of a server, such as 10.0.0.5:5432",
        field: "",
        example: "10.0.0.5:5432",
        doc: "or unix:/run/app.sock",
      },
      name: TARGET_NAME,
      weight: {
        type: integer(0, 1_000_000_000),
        default: 1,
        doc: "its share of the connections, beside the other weights",
      },
      backup: { type: flag(), default: false, doc: "true: gets requests only while all others are down" },
    },
    {
      shorthand: "url",
      finish: (_, { url }, spot) => targetAt(scheme, url, "url", spot),
      list: ({ url }, lines) => ({ url: shortUrl(url), ...lines }),
    },
  );

type StreamScheme = "tcp" | "udp";

const target = targetOf("tcp");
const datagramTarget = targetOf("udp");

const balancing = block(
  {
    policy: {
      type: word("round_robin", "random", "least_conn", "p2c", "ip_hash"),
      default: "round_robin",
      doc: "random, least_conn, p2c, ip_hash",
    },
  },
  { shorthand: "policy" },
);

const healthCheck = block(
  {
    enabled: { type: flag(), default: true, doc: "false: no target is tried" },
    interval: { ...probeRows.interval, doc: "time between two tries" },
    timeout: { ...probeRows.timeout, doc: "a try that takes longer has failed" },
    healthy_threshold: {
      ...probeRows.healthy_threshold,
      doc: "tries in a row after which a target gets connections again",
    },
    unhealthy_threshold: {
      ...probeRows.unhealthy_threshold,
      doc: "failed tries in a row after which a target gets none",
    },
  },
  {
    absent: { enabled: false },
    isSwitch: true,
    // A connection that comes about is the healthy outcome.
    finish: () => ({
      grpc: false,
      path: "",
      host: "",
      method: "GET" as const,
      headers: [],
      port: 0,
      body: "",
      expectStatusFrom: CONNECTED_STATUS,
      expectStatusTo: CONNECTED_STATUS,
    }),
  },
);

const breaker = block(
  {
    enabled: { type: flag(), default: true, doc: "false: connections go to a target that fails" },
    failure_threshold: { ...breakerRows.failure_threshold, doc: "connections in a row that did not come about" },
    open_duration: { ...breakerRows.open_duration, doc: "at most; it ends when a connection comes about" },
  },
  { finish: () => ({ failureStatuses: [], successRate: 0, successRateRequests: 100, slowStartMs: 0 }) },
);

/** What stands for a connection that came about, where probes have statuses. */
export const CONNECTED_STATUS = 200;

/** Keys of all streams of connections. */
const common = {
  // Resolved, one of the targets.
  target: { type: text("an address"), absent: "", field: "", doc: "the one target, host:port" },
  targets: { type: list(target, "targets"), field: "", doc: 'or "target: 10.0.0.5:5432" for one' },
  load_balancing: { type: balancing, field: "", doc: "how edge chooses a target" },
  health_check: { type: healthCheck, doc: "a connection is made and closed; off without this section" },
  circuit_breaker: { type: breaker, doc: "targets that fail get no connections for a while" },
  retries: { type: retries, field: "retryAttempts", doc: "further targets to try if one is unreachable" },
  connect_timeout: {
    type: duration(1),
    absent: null,
    field: "",
    example: "5s",
    doc: "time to connect; as the transport by default",
  },
  idle_timeout: {
    type: duration(1),
    default: "10m",
    doc: "edge closes a connection without a byte in either direction for this time",
  },
  send_proxy: {
    type: wordOrEmpty("v1", "v2"),
    default: "",
    doc: "v1 or v2: a PROXY header tells your targets the client's address",
  },
  max_connections: {
    type: integer(0, 10_000_000),
    default: 0,
    doc: "most connections in all workers; 0: only the server's limit",
  },
  ip_rules: { type: ipRules, doc: "who may use the stream" },
} as const satisfies Rows;

const passthroughRows = {
  hosts: {
    type: list(hostPattern(), "names", true),
    example: ["db.example.com", "*.apps.example.com"],
    doc: "names that clients ask for in their TLS handshake (SNI)",
  },
  listeners: {
    type: list(text("the name of a listener"), "listeners"),
    example: ["public"],
    doc: "TLS listeners whose connections they are; every one by default",
  },
  terminate: {
    type: flag(),
    default: false,
    field: "endsTls",
    doc: "true: TLS ends here with the listener's certificate, and your targets get clear text",
  },
  ...common,
} as const satisfies Rows;

/** The keys of `type: tls_passthrough`. docs/streams.md#tls-pass-through */
export const passthroughKeys = block(passthroughRows, {
  check({ hosts }, spot) {
    if (hosts.length === 0 && !isFaultyAt(spot, "hosts"))
      spot.log.fault(
        spot.path,
        "a pass-through needs hosts, the names to pass through, such as hosts: [db.example.com]",
      );
  },
  finish: (plain, values, spot) => ({
    ...finishCommon(plain, values, spot),
    path: `tls:${plain.hosts[0] ?? ""}`,
    listen: [],
    acceptProxy: false,
  }),
  list: ({ hosts, listeners, ...config }, lines) => ({
    hosts,
    ...(listeners.length > 0 ? { listeners } : {}),
    ...listCommon(config, lines),
  }),
});

const tcpRows = {
  listen: {
    type: list(textOrNumber("an address and a port"), "addresses", true),
    field: "",
    example: ["10.0.0.1:5432", "[fd00::1]:5432"],
    doc: "the address to listen on; or a port, at server.host",
  },
  ...common,
  accept_proxy: {
    type: flag(),
    default: false,
    doc: "true: peers in server.proxy_protocol.trusted send a PROXY header first",
  },
} as const satisfies Rows;

/** The keys of `type: tcp`. docs/streams.md#tcp */
export const tcpKeys = block(tcpRows, {
  check({ accept_proxy }, spot) {
    if (accept_proxy && !routeSpot(spot).server.proxyProtocol.enabled)
      spot.log.fault(
        [...spot.path, "accept_proxy"],
        "needs server.proxy_protocol, with the networks of the senders of PROXY headers",
        true,
      );
  },
  finish(plain, values, spot) {
    const listen = listenAddresses(values.listen, spot);
    return {
      ...finishCommon(plain, values, spot),
      path: `tcp:${listen[0] ? addressText(listen[0]) : ""}`,
      listen,
      endsTls: false,
      listeners: [],
      hosts: [],
    };
  },
  list: ({ listen, ...config }, { accept_proxy, ...lines }) => ({
    listen: listen.map(addressText),
    ...listCommon(config, lines),
    accept_proxy,
  }),
});

/** Where a stream listens; what is no address is a fault. */
function listenAddresses(texts: readonly string[], spot: Spot): readonly ListenAddress[] {
  const { server } = routeSpot(spot);
  const at = below(spot, "listen");
  if (texts.length === 0 && !isFaultyAt(spot, "listen"))
    spot.log.fault(spot.path, "it needs listen, the address and port of its connections, such as listen: 0.0.0.0:5432");
  return texts.flatMap((text, i) => {
    const full = /^\d+$/.test(text)
      ? addressText({ host: server.host, port: Number(text) })
      : text.replace(/^:/, "0.0.0.0:");
    const parsed = parseAuthority(full);
    const path = [...at.path, i];
    if (typeof parsed !== "string" && parsed.port > 0)
      return [{ host: resolveHost(parsed.hostname, path, spot.log), port: parsed.port }];
    spot.log.fault(path, `expected an address and a port such as 0.0.0.0:5432, found ${quote(text)}`);
    return [];
  });
}

const datagramRows = {
  listen: tcpRows.listen,
  target: common.target,
  targets: { type: list(datagramTarget, "targets"), field: "", doc: 'or "target: 10.0.0.5:53" for one' },
  load_balancing: common.load_balancing,
  circuit_breaker: common.circuit_breaker,
  idle_timeout: { type: duration(1), default: "30s", doc: "a session without a datagram in either direction" },
  responses: {
    type: integer(0, 1_000_000),
    absent: -1,
    example: 1,
    doc: "datagrams in response to each of a client, after which the session ends; without it idle_timeout ends it",
  },
  max_sessions: {
    type: integer(1, 1_000_000),
    default: 10_000,
    field: "maxConnections",
    doc: "most sessions in all workers; one more ends the session that was silent for longest",
  },
  send_proxy: {
    type: wordOrEmpty("v2"),
    default: "",
    doc: "v2: a PROXY header begins the first datagram of a session",
  },
  ip_rules: { type: ipRules, doc: "who may use the stream" },
} as const satisfies Rows;

/** The keys of `type: udp`. docs/streams.md#udp */
export const udpKeys = block(datagramRows, {
  finish(_plain, values, spot) {
    const { proxy, server } = routeSpot(spot);
    checkPlaceRules(values.ip_rules, server.geo, below(spot, "ip_rules"));
    const listen = listenAddresses(values.listen, spot);
    return {
      path: `udp:${listen[0] ? addressText(listen[0]) : ""}`,
      prefix: "",
      hosts: [],
      endsTls: false,
      listeners: [],
      listen,
      targets: resolveTargets("udp", values, spot),
      policy: values.load_balancing.policy,
      healthCheck: healthCheck.resolve(v.parse(healthCheck, { enabled: false }), spot),
      timeouts: { connectMs: proxy.transport.connectTimeoutMs },
      retryAttempts: 0,
      acceptProxy: false,
      strictOrigins: true,
      tls: null,
    };
  },
  list: ({ listen, targets, policy }, { ip_rules, ...lines }) => ({
    listen: listen.map(addressText),
    targets: datagramRows.targets.type.write(withNames(targets)),
    load_balancing: { policy },
    ...lines,
    ip_rules,
  }),
});

type TargetValues = Pick<Values<typeof common>, "target" | "targets">;

type CommonFields = Fields<typeof common>;

function finishCommon(_plain: CommonFields, values: Values<typeof common>, spot: Spot) {
  const { proxy, server } = routeSpot(spot);
  checkPlaceRules(values.ip_rules, server.geo, below(spot, "ip_rules"));
  return {
    targets: resolveTargets("tcp", values, spot),
    policy: values.load_balancing.policy,
    timeouts: { connectMs: values.connect_timeout ?? proxy.transport.connectTimeoutMs },
    prefix: "",
    strictOrigins: true,
    tls: null,
    responses: -1,
  };
}

function listCommon(
  config: {
    readonly targets: readonly TargetConfig[];
    readonly policy: string;
    readonly timeouts: { connectMs: number };
  },
  { ip_rules, hosts: _, ...lines }: Readonly<Record<string, unknown>>,
): object {
  return {
    targets: common.targets.type.write(withNames(config.targets)),
    load_balancing: { policy: config.policy },
    ...lines,
    connect_timeout: common.connect_timeout.type.write(config.timeouts.connectMs),
    ip_rules,
  };
}

function resolveTargets(scheme: StreamScheme, values: TargetValues, spot: Spot): readonly TargetConfig[] {
  const { log, path } = spot;
  if (values.target !== "" && values.targets.length > 0)
    log.fault([...path, "target"], "it has either target (one server) or targets (a list): remove one", true);
  const isKnown = !isFaultyAt(spot, "target") && !isFaultyAt(spot, "targets");
  if (isKnown && values.target === "" && values.targets.length === 0)
    log.fault(path, "it needs target, the server to forward to, such as target: 10.0.0.5:5432");
  if (values.target !== "")
    return [{ ...targetAt(scheme, values.target, "target", spot), weight: 1, backup: false, name: "" }];
  const kind = scheme === "tcp" ? common.targets.type : datagramRows.targets.type;
  const all = kind.resolve!([...values.targets], below(spot, "targets"));
  checkTargetNames(all, below(spot, "targets"));
  if (all.length > 0 && all.every(({ backup }) => backup))
    log.fault([...path, "targets"], "every target is a backup: leave backup out of one at least", true);
  else if (all.length > 0 && all.every(({ weight }) => weight === 0))
    log.warn([...path, "targets"], "every weight is 0: connections are closed at once");
  return all;
}

/** The server at an address; one that cannot be read is a fault. */
function targetAt(
  scheme: StreamScheme,
  url: string,
  key: string,
  { path, log, files }: Spot,
): OriginConfig & { readonly url: string } {
  const parsed = parseTarget(scheme, url, (socket) => files.absolute(socket));
  if (typeof parsed === "string") log.fault([...path, key], parsed);
  const origin = typeof parsed === "string" ? originOf(scheme, "", 0, "") : parsed;
  return { ...origin, url: origin.originKey };
}

/** Reads `10.0.0.5:5432`, `db.internal:5432`, `tcp://…`, `[fd00::5]:5432` or `unix:/run/app.sock`: its parts, or a fault text. */
function parseTarget(scheme: StreamScheme, url: string, absolute: (path: string) => string): OriginConfig | string {
  if (/^unix:/i.test(url) && scheme === "tcp") {
    const socket = parseOrigin(url, absolute);
    if (typeof socket === "string") return socket;
    return socket.basePath === ""
      ? { ...socket, scheme: "tcp" }
      : `expected the path of a socket alone, found ${quote(url)}`;
  }
  const bare = url.replace(/^(tcp|udp):\/\//i, "");
  const example = "such as 10.0.0.5:5432";
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(bare)) return `expected an address and a port ${example}, without a scheme`;
  const parsed = parseAuthority(bare);
  if (typeof parsed === "string") return `${parsed}, ${example}, found ${quote(url)}`;
  if (parsed.port < 0) return `expected an address and a port ${example}, found ${quote(url)}`;
  return originOf(scheme, parsed.hostname, parsed.port, "");
}

function shortUrl(url: string): string {
  return url.replace(/^(tcp|udp):\/\//, "");
}
