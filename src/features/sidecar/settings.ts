import { retries, splitBreaker, timeoutsWith } from "../../config/attempt-settings.ts";
import { type KeyPath, quote } from "../../config/config-fault.ts";
import type { FaultLog } from "../../config/fault-log.ts";
import { hostPattern, listenHost } from "../../config/host-kinds.ts";
import { pathPattern, pathPrefix, routeMethod } from "../../config/http-syntax.ts";
import { match } from "../../config/match-settings.ts";
import { moduleFile } from "../../config/module-file.ts";
import { meshOrigin, type OriginConfig } from "../../config/origin.ts";
import { list, resolved, type Spot } from "../../config/piece.ts";
import { below, block, type ConfigOf, isFaultyAt, orWritten, type Rows, type Values } from "../../config/row.ts";
import { duration, fileName, flag, integer, port, sizeOrDefault, text, textLike, word } from "../../config/scalars.ts";
import { checkBothOrNeither } from "../../config/tls-settings.ts";

const ingressRows = {
  module: {
    type: moduleFile(),
    required: "a module with fetch, such as ./functions/app.ts",
    example: "./functions/app.ts",
  },
  timeout: { type: duration(1), default: "10s", doc: "until its response begins: 504 beyond" },
} as const satisfies Rows;

/** `sidecar.function`: a module that responds to what comes in. docs/sidecar.md#a-function-before-the-application */
const ingressFunction = orWritten(block(ingressRows, { shorthand: "module" }), fileName().form, (value) =>
  typeof value === "string" ? { module: value } : value,
);

/** One server of a split, resolved as a target of an upstream route; `weight` is its share. */
const backend = block(
  {
    target: {
      type: text("a server address"),
      required: "the address of a server, such as http://10.0.0.5:8080",
      field: "",
      example: "http://10.0.0.5:8000",
    },
    weight: { type: integer(0, 1_000_000_000), default: 1, doc: "its share of the requests, beside the other weights" },
  },
  {
    finish(_, { target }, spot) {
      const { path, log } = below(spot, "target");
      const origin = backendOrigin(target, path, log);
      return { ...origin, url: origin.originKey, backup: false };
    },
    list: ({ url }, lines) => ({ target: url, ...lines }),
  },
);

const spiffeIds = () =>
  list(textLike(/^spiffe:\/\/(?:[^\s*]+\*?|\*)$/, "a SPIFFE id such as spiffe://mesh/ns/shop/*"), "SPIFFE ids");

/** What a split asks of requests beside path and host. */
const splitMatch = block({ header: match.rows.header, query: match.rows.query, cookie: match.rows.cookie });

/** What some clients may ask for: all that is named must hold. docs/sidecar.md#authorization */
const accessRule = block(
  {
    identities: {
      type: spiffeIds(),
      example: ["spiffe://mesh/ns/shop/sa/web"],
      doc: "ids that the rule is for, all clients by default; spiffe://* is every client with an id",
    },
    methods: {
      type: list(routeMethod(), "methods", true),
      example: ["GET"],
      doc: "methods that the rule allows; HEAD goes with GET",
    },
    paths: {
      type: list(pathPattern(), "paths", true),
      example: ["/orders/*", "/shop.Orders/Get"],
      doc: "exact, or with * at the end",
    },
  },
  {
    check({ identities, methods, paths }, { log, path }) {
      if (identities.length === 0 && methods.length === 0 && paths.length === 0)
        log.warn(path, "asks nothing: every client may ask for everything");
    },
  },
);

/** All weights may be 0: such a split answers 503. docs/sidecar.md#splits */
const split = block(
  {
    prefix: { type: pathPrefix(), required: "the path prefix that is split, such as /api", example: "/checkout" },
    host: {
      type: list(hostPattern(), "host names", true),
      field: "hosts",
      example: ["checkout.shop.svc"],
      doc: "the host that the split is for; every one by default",
    },
    match: { type: splitMatch, absent: null, doc: "all of it must hold, as at routes" },
    backends: {
      type: list(backend, "backends"),
      required: 'a list of backends, such as [{target: "http://10.0.0.5:8080", weight: 9}]',
    },
    server_ids: {
      type: spiffeIds(),
      example: ["spiffe://mesh/ns/checkout/*"],
      doc: "in place of the section's server_ids",
    },
    timeouts: { type: timeoutsWith(0), doc: "in place of the sidecar's own" },
    retries: { type: retries, field: "retryAttempts", doc: "in place of the sidecar's own" },
    circuit_breaker: { type: splitBreaker, doc: "takes failing backends out for a while; off without this section" },
  },
  {
    check({ backends, server_ids }, { log, path }) {
      const at = [...path, "backends"];
      const clear = backends.find(({ target }) => !SECURE.test(target));
      if (server_ids.length > 0 && clear !== undefined)
        log.fault(
          [...path, "server_ids"],
          `${quote(clear.target)} uses clear text, and no server has an id there: write https:// or h2://`,
        );
      if (backends.length === 0) log.fault(at, "expected at least one backend, found an empty list");
      else if (backends.every(({ weight }) => weight === 0))
        log.warn(at, "every weight is 0: requests below this prefix get 503");
    },
  },
);

const SECURE = /^(?:https|h2):\/\//i;
const BODY_LIMIT = "10MiB";
const sidecarRows = {
  enabled: { type: flag(), default: false, doc: "true: edge is the sidecar of your application" },
  mode: {
    type: word("ingress", "egress", "dual"),
    default: "dual",
    doc: "ingress: inbound; egress: outbound",
  },
  ingress_host: { type: listenHost("0.0.0.0"), default: "0.0.0.0", doc: "the address for requests of other services" },
  ingress_port: { type: port(0), default: 15_006, doc: "the address for requests of other services" },
  egress_host: {
    type: listenHost("127.0.0.1"),
    default: "127.0.0.1",
    doc: "the address to which your application sends its requests",
  },
  egress_port: { type: port(0), default: 15_001, doc: "the address to which your application sends its requests" },
  app_port: { type: port(1), default: 8080, doc: "the port of your application on this machine" },
  app_protocol: {
    type: word("http1", "h2c", "auto"),
    default: "http1",
    doc: "what your application speaks: http1, h2c (HTTP/2 in clear text), or auto: gRPC by h2c, the rest by HTTP/1.1",
  },
  function: {
    type: ingressFunction,
    absent: null,
    doc: "your own module that responds to inbound requests; its ctx.upstream() calls the application",
  },
  max_body_bytes: {
    type: sizeOrDefault(BODY_LIMIT),
    default: BODY_LIMIT,
    doc: "largest request body, a larger one gets 413",
  },
  strict_mtls: { type: flag(), default: false, guard: true, doc: "true: inbound clients must present a certificate" },
  // Resolved, these two are `certificate`, whose files are "" if there is none.
  cert_file: {
    type: fileName(),
    default: "",
    field: "",
    example: "./sidecar.pem",
    doc: "the sidecar's certificate, for both directions",
  },
  key_file: {
    type: fileName(),
    default: "",
    field: "",
    example: "./sidecar-key.pem",
    doc: "the PEM file of the private key",
  },
  ca_file: {
    type: fileName(),
    default: "",
    example: "./mesh-ca.pem",
    doc: "roots that edge trusts; the system's by default",
  },
  workload_api: {
    type: textLike(/^unix:\/[^\0\s]+$/, "the socket of a SPIFFE agent such as unix:///run/spire/agent.sock"),
    absent: "",
    field: "",
    example: "unix:///run/spire/agent.sock",
    doc: "a SPIFFE agent that gives certificate, key and authorities, in place of the files",
  },
  insecure_skip_verify: {
    type: flag(),
    default: false,
    doc: "true: edge does not verify certificates of other services; use it in tests only",
  },
  allowed_ids: {
    type: spiffeIds(),
    guard: true,
    example: ["spiffe://mesh/ns/shop/*"],
    doc: "SPIFFE ids that get in; clients with another one get 403",
  },
  authorization: {
    type: list(accessRule, "rules"),
    guard: true,
    doc: "rules for inbound requests: a request that fits none gets 403. Without rules all get in",
  },
  outbound: {
    type: word("allow_any", "registry_only"),
    default: "allow_any",
    guard: ["registry_only"],
    doc: "registry_only: outbound requests that fit no split get 403",
  },
  transparent: {
    type: flag(),
    default: false,
    doc: "a firewall rule redirects outbound connections to edge, which sends them to their original address",
  },
  buffer: {
    type: flag(),
    absent: null,
    example: true,
    doc: "true: read every body whole first; false: none; by default all but bodies from HTTP/2 to HTTP/2",
  },
  server_ids: {
    type: spiffeIds(),
    example: ["spiffe://mesh/*"],
    doc: "outbound: ids of which the server must have one, in place of its name",
  },
  // Resolved, the longest prefix is first.
  traffic_splits: {
    type: resolved(list(split, "splits"), sortSplits),
    doc: "your application's requests go to several backends by weight",
  },
} as const satisfies Rows;

/** Beside an application, in a service mesh. docs/sidecar.md */
export const sidecar = block(sidecarRows, {
  check: checkSidecar,
  finish: ({ enabled }, values, { path, files }) => ({
    // Resolved, the path of the socket; "" where files count.
    workloadApi: values.workload_api.replace(/^unix:\/*/, "/").replace(/^\/$/, ""),
    certificate: enabled
      ? files.pair([...path, "cert_file"], values.cert_file, [...path, "key_file"], values.key_file)
      : { certFile: files.absolute(values.cert_file), keyFile: files.absolute(values.key_file) },
    caFile: enabled ? files.bundle([...path, "ca_file"], values.ca_file) : files.absolute(values.ca_file),
  }),
  list: ({ certificate, workloadApi }, lines) => ({
    ...lines,
    cert_file: certificate.certFile,
    key_file: certificate.keyFile,
    ...(workloadApi === "" ? {} : { workload_api: `unix://${workloadApi}` }),
  }),
});

const FILE_KEYS = ["cert_file", "key_file", "ca_file"] as const;

function checkSidecar(values: Values<typeof sidecarRows>, spot: Spot): void {
  const { log, path } = spot;
  if (!values.enabled) {
    if (values.traffic_splits.length > 0)
      log.warn(path, "the section is present, but enabled is not true: it has no effect");
    return;
  }
  if (values.function !== null && values.mode === "egress")
    log.warn([...path, "function"], "nothing comes in with mode: egress: it has no effect");
  checkBothOrNeither(values.cert_file, values.key_file, spot);
  const ofFiles = values.workload_api === "" ? undefined : FILE_KEYS.find((key) => values[key] !== "");
  if (ofFiles !== undefined)
    log.fault([...path, "workload_api"], `gives certificate, key and authorities: remove ${ofFiles}`);
  const hasCertificate = values.cert_file !== "" || values.workload_api !== "";
  const isMeant = isFaultyAt(spot, "cert_file") || isFaultyAt(spot, "key_file");
  if (values.strict_mtls && !hasCertificate && values.key_file === "" && !isMeant)
    log.fault([...path, "strict_mtls"], "needs cert_file and key_file, the sidecar's own certificate");
  if (!values.strict_mtls && values.mode !== "egress" && !hasCertificate && !isMeant)
    log.warn(path, "no cert_file: the inbound listener speaks cleartext");
  const asksIds = ["allowed_ids", "authorization"] as const;
  const asked = asksIds.find((key) => values[key].length > 0);
  if (!hasCertificate && !isMeant && values.mode !== "egress" && asked !== undefined)
    log.warn(
      [...path, asked],
      "no client has an id: without cert_file and key_file, or workload_api, nothing is verified",
    );
  const hasIds = values.server_ids.length > 0 || values.traffic_splits.some((one) => one.server_ids.length > 0);
  if (values.insecure_skip_verify && hasIds)
    log.fault([...path, "insecure_skip_verify"], "verifies nothing, server_ids neither: remove one of the two");
  else if (values.insecure_skip_verify)
    log.warn([...path, "insecure_skip_verify"], "certificate verification is disabled for outbound connections");
}

function sortSplits(splits: readonly ConfigOf<typeof split>[], { path, log }: Spot): readonly ConfigOf<typeof split>[] {
  const seen = new Set<string>();
  for (const [i, { prefix, hosts, match: asked }] of splits.entries()) {
    if (asked !== null) continue;
    for (const host of hosts.length === 0 ? [""] : hosts) {
      const place = `${host} ${prefix}`;
      const where = host === "" ? prefix : `${host} ${prefix}`;
      if (seen.has(place))
        log.fault([...path, i, "prefix"], `a second split for ${where}: put its backends into the first`);
      seen.add(place);
    }
  }
  return splits.toSorted((a, b) => b.prefix.length - a.prefix.length);
}

/** Of the URL of a backend, scheme, host and port count; path, query and fragment are dropped. */
function backendOrigin(url: string, path: KeyPath, log: FaultLog): OriginConfig {
  const kept = /^([a-z][a-z0-9+.-]*:\/\/)?[^/?#]*/i.exec(url)![0];
  const dropped = url.slice(kept.length);
  if (dropped !== "" && dropped !== "/")
    log.warn(path, `${quote(dropped)} is dropped: paths pass through a sidecar unchanged`);
  return meshOrigin(kept, path, log);
}

/** `sidecar:`. docs/sidecar.md */
export interface SidecarConfig extends ConfigOf<typeof sidecar> {}

/** Whether the sidecar has a certificate of its own, by files or by an agent: without one the inbound listener speaks clear text. */
export function hasCertificate({ certificate, workloadApi }: SidecarConfig): boolean {
  return certificate.certFile !== "" || workloadApi !== "";
}

/** `weight` of a backend is its share; all may be 0: such a split answers 503. */
export type TrafficSplit = SidecarConfig["trafficSplits"][number];
