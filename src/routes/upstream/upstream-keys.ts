import { circuitBreaker, routeRetries, timeoutsWith } from "../../config/attempt-settings.ts";
import {
  applicationScheme,
  type OriginConfig,
  originOf,
  originUrl,
  parseOrigin,
  parseService,
  speaksHttp2,
  type TargetConfig,
  usesTls,
} from "../../config/origin.ts";
import { list, type Spot } from "../../config/piece.ts";
import { below, block, type ConfigOf, isFaultyAt, type Rows, type Values } from "../../config/row.ts";
import { decimal, duration, flag, integer, percent, text, textLike } from "../../config/scalars.ts";
import { upstreamRouteTls } from "../../config/upstream-tls.ts";
import { LENIENT_MEANING } from "../../core/leniency.ts";
import { sign } from "../../features/agents/sign-settings.ts";
import { ai } from "../../features/ai/settings.ts";
import { balancing } from "../../features/balance/settings.ts";
import { type ConcurrencyConfig, concurrency } from "../../features/concurrency/settings.ts";
import { hooks } from "../../features/functions/settings.ts";
import { hedge } from "../../features/hedge/settings.ts";
import { rewrite } from "../rewrite-keys.ts";
import { routeMethods } from "../route-options.ts";
import { routeSpot } from "../route-spot.ts";
import { checkAi } from "./ai-keys.ts";
import { checkApplications, checkFastCgi, fastcgi, scgi, uwsgi } from "./fastcgi-keys.ts";
import { healthCheck } from "./health-check-keys.ts";
import { targetMapOf } from "./mapped-targets.ts";
import { rewriteCookies, rewriteLocation } from "./response-keys.ts";
import { checkTargetNames, TARGET_NAME, withNames } from "./target-name.ts";

const target = block(
  {
    url: {
      type: text("a server address"),
      required: "the address of a server, such as http://127.0.0.1:9001",
      field: "",
      example: "http://10.0.0.5:8000",
      doc: "http://, https://, h2c:// and h2:// (HTTP/2, gRPC), unix:/run/app.sock, fastcgi://, uwsgi:// or scgi://; edge prepends its path",
    },
    name: TARGET_NAME,
    weight: { type: integer(0, 1_000_000_000), default: 1, doc: "its share of the requests, beside the other weights" },
    backup: { type: flag(), default: false, doc: "true: gets requests only while all others are down" },
    concurrency: {
      type: concurrency,
      absent: null,
      doc: "most requests that the server gets at once, in all workers",
    },
  },
  {
    shorthand: "url",
    finish: (_, { url }, spot) => originAt(url, "url", spot, true),
    list: ({ url }, lines) => ({ url, ...lines }),
  },
);

export const timeouts = timeoutsWith("5m");

const mirrorRows = {
  target: {
    type: text("a server address"),
    required: "the address of a server, such as http://127.0.0.1:9001",
    field: "",
    example: "http://10.0.0.9:8000",
    doc: "the server for the copies; edge drops its responses",
  },
  share: { type: percent(), default: "100%", doc: "share of the requests that edge copies" },
  compare: { type: flag(), default: false, doc: "true: edge counts and logs responses that differ" },
} as const satisfies Rows;

const mirror = block(mirrorRows, {
  shorthand: "target",
  finish: (_, { target: url }, spot) => ({ target: originAt(url, "target", spot) }),
  list: ({ target: { url } }, lines) => ({ target: url, ...lines }),
});

const mirrorList = list(mirror, "mirrors");
/** Each is one more request to some server. */
const MAX_MIRRORS = 16;

const targetList = list(target, "targets");

/** One server, or several. */
type TargetValues = { readonly target: string; readonly targets: readonly Values<typeof target.rows>[] };

const shares = list(decimal(0.01, 100), "shares in percent");

const canaryAbort = block({
  errors_ratio: { type: decimal(1.01, 1000), default: 1.5, doc: "this many times the errors of the old version" },
  p99_ratio: {
    type: decimal(1.01, 1000),
    default: 1.3,
    doc: "this many times the latency of the old version, at the 99th percentile",
  },
  min_requests: { type: integer(1), default: 200, doc: "least requests of the new version in a step before the next" },
});

const canaryRows = {
  // Resolved, one of the targets.
  target: {
    type: text("a server address"),
    absent: "",
    field: "",
    example: "http://10.0.0.7:8000",
    doc: "the one server of your new version",
  },
  targets: { type: targetList, field: "", doc: "or its servers, as targets of the route" },
  steps: { type: shares, default: [1, 5, 25, 50, 100], doc: "percent of the requests in each step" },
  every: { type: duration(1), default: "5m", doc: "least time of a step" },
  sticky: {
    type: flag(),
    default: true,
    doc: "true: a client stays with its version, by a cookie, else by its address",
  },
  abort: { type: canaryAbort, doc: "limits beyond which edge takes all requests away from the new version" },
} as const satisfies Rows;

/** `canary`: a new version that gets more and more of the requests while it is no worse. docs/pressure.md#canaries */
export const canary = block(canaryRows, {
  shorthand: "target",
  check({ steps }, { log, path }) {
    const isRising = steps.every((step, i) => i === 0 || step > steps[i - 1]!);
    if (!isRising || steps.length === 0)
      log.fault([...path, "steps"], "expected shares that rise, such as [1, 5, 25, 100]");
  },
  finish: (_, values, spot) => ({ targets: resolveTargets(values, spot) }),
  list: ({ targets }, lines) => ({ targets: targetList.write(withNames(targets).map(withLimit)), ...lines }),
});

const rows = {
  methods: routeMethods,
  // Resolved, one of the targets.
  target: {
    type: text("a server address"),
    absent: "",
    field: "",
    doc: "your one server, http://host:port, or srv+http://NAME for SRV records",
  },
  targets: { type: targetList, field: "", doc: 'your servers; or "target: http://10.0.0.5:8000" for one' },
  canary: {
    type: canary,
    absent: null,
    doc: "your new version, which gets more and more requests while it is no worse",
  },
  load_balancing: { type: balancing, doc: "how edge chooses a target" },
  // Resolved, one of the mirrors.
  mirror: {
    type: mirror,
    absent: null,
    field: "",
    doc: "a second server that gets copies of requests; your clients never wait for it",
  },
  mirrors: { type: mirrorList, field: "", doc: "or several servers, each with its share" },
  hedge: { type: hedge, absent: null, doc: "edge sends a slow GET to a second target too; the first response wins" },
  health_check: { type: healthCheck, doc: "probes that find servers that fail. Off without this section" },
  circuit_breaker: { type: circuitBreaker, doc: "takes failing servers out for a while" },
  retries: { type: routeRetries, field: "", doc: "further attempts after a failed one" },
  timeouts: { type: timeouts, doc: "time limits for your upstream" },
  strict_origins: {
    type: flag(),
    absent: null,
    example: true,
    doc: "as the server by default; false accepts bare LF, folding, repeated lengths, a 204 body",
  },
  preserve_host: { type: flag(), default: true, doc: "false: edge sends the target's own name as Host" },
  host_header: {
    type: hostHeader(),
    absent: "",
    example: "shop.internal",
    doc: "the Host that edge sends, whatever the client's",
  },
  strip_prefix: { type: flag(), default: true, doc: "false: your upstream gets the path with its prefix" },
  rewrite: {
    type: rewrite,
    absent: null,
    example: { regex: "^/old/(.*)$", to: "/new/{match.1}" },
    doc: 'or "path: /new{rest}"; the path that goes upstream, the query is kept',
  },
  rewrite_location: {
    type: rewriteLocation,
    absent: null,
    example: { rules: [{ from: "http://app.internal/", to: "/app/" }] },
    doc: "redirects of your upstream lead back to this route: true, or rules",
  },
  rewrite_cookies: {
    type: rewriteCookies,
    absent: null,
    doc: "attributes of the cookies that your servers set",
  },
  sign: { type: sign, absent: null, doc: "edge signs requests to your targets as an agent (RFC 9421)" },
  hooks: { type: hooks, absent: null, doc: "your own module, which sees and changes requests and responses" },
  ai: { type: ai, absent: null, doc: "your language models behind the OpenAI API: targets by model, limits of tokens" },
  grpc_web: {
    type: flag(),
    default: false,
    doc: "true: browsers may call your gRPC servers (h2c:// and h2:// targets)",
  },
  fastcgi: { type: fastcgi, absent: null, doc: "settings for fastcgi:// targets, such as php-fpm" },
  uwsgi: { type: uwsgi, absent: null, doc: "settings for uwsgi:// targets, such as Django in uWSGI" },
  scgi: { type: scgi, absent: null, doc: "settings for scgi:// targets" },
  tls: { type: upstreamRouteTls, doc: "for https:// and h2:// targets; files are read again on reload" },
} as const satisfies Rows;

function hostHeader() {
  return textLike(/^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:\d{1,5})?$/, "a host name such as shop.internal");
}

/** The keys of `type: upstream`: docs/upstreams.md#upstreams */
export const upstreamKeys = block(rows, {
  finish(plain, values, spot) {
    const { proxy, server } = routeSpot(spot);
    const targetMap = targetMapOf(values.target, values.targets.length > 0, spot);
    const service = serviceAt(values.target, spot);
    const targets: readonly UpstreamTarget[] = targetMap?.targets ?? resolveTargets(values, spot, service);
    noteUseless(values, targets, spot);
    checkGrpcWeb(values, targets, spot);
    checkHedge(values, targets, spot);
    checkAi(values, targets, spot);
    checkFastCgi(values, targets, spot);
    checkApplications(values, targets, spot);
    const { connectMs, responseHeaderMs } = plain.timeouts;
    return {
      targets,
      targetMap: targetMap?.map ?? null,
      service,
      mirrors: resolveMirrors(values, spot),
      ...retryTerms(values.retries, spot),
      timeouts: {
        ...plain.timeouts,
        connectMs: connectMs ?? proxy.transport.connectTimeoutMs,
        responseHeaderMs: responseHeaderMs ?? proxy.transport.responseHeaderTimeoutMs,
      },
      strictOrigins: values.strict_origins ?? server.strictOrigins,
    };
  },
  list: ({ targets, targetMap, service, mirrors, ...retries }, { methods, ...lines }) => ({
    methods,
    ...(mirrors.length > 1
      ? { mirrors: mirrorList.write(mirrors) }
      : { mirror: mirrors[0] === undefined ? null : mirror.write(mirrors[0]) }),
    ...(service !== null
      ? { target: service.url }
      : targetMap === null
        ? { targets: rows.targets.type.write(withNames(targets).map(withLimit)) }
        : { target: `{map.${targetMap.name}}` }),
    retries: routeRetries.write(retriesOf(retries)),
    ...lines,
  }),
});

/** A target of a route of HTTP. */
interface UpstreamTarget extends TargetConfig {
  /** Absent or null without a limit. */
  readonly concurrency?: ConcurrencyConfig | null;
}

function withLimit<T extends UpstreamTarget>(target: T): T & { readonly concurrency: ConcurrencyConfig | null } {
  return { ...target, concurrency: target.concurrency ?? null };
}

/** A service whose servers SRV records name. docs/upstreams.md#srv-records */
export interface ServiceConfig {
  /** As it is written. */
  readonly url: string;
  /** In lower case, as the name servers know it. */
  readonly name: string;
  readonly scheme: OriginConfig["scheme"];
  readonly basePath: string;
}

/** The service that `target` names; null if it names a server. */
function serviceAt(target: string, { log, path }: Spot): ServiceConfig | null {
  const parsed = parseService(target);
  if (typeof parsed === "string") log.fault([...path, "target"], parsed);
  if (parsed === null || typeof parsed === "string") return null;
  return { url: target, name: parsed.hostname, scheme: parsed.scheme, basePath: parsed.basePath };
}

function resolveTargets(
  values: TargetValues,
  spot: Spot,
  service: ServiceConfig | null = null,
): readonly UpstreamTarget[] {
  const { log, path } = spot;
  if (values.target !== "" && values.targets.length > 0) {
    log.fault([...path, "target"], "a route has either target (one server) or targets (a list): remove one", true);
  }
  const isKnown = !isFaultyAt(spot, "target") && !isFaultyAt(spot, "targets");
  if (isKnown && values.target === "" && values.targets.length === 0) {
    log.fault(
      path,
      "an upstream route needs target, the server to send requests to, such as target: http://127.0.0.1:9001",
    );
  }
  if (values.target !== "") {
    const one = { weight: 1, backup: false, name: "", concurrency: null };
    // Until its servers are known, requests look the name of the service up: that says why there are none.
    if (service !== null)
      return [
        {
          ...originAt(
            originUrl(originOf(service.scheme, service.name, usesTls(service.scheme) ? 443 : 80, service.basePath)),
            "target",
            spot,
          ),
          ...one,
        },
      ];
    return isFaultyAt(spot, "target") ? [] : [{ ...originAt(values.target, "target", spot, true), ...one }];
  }
  const all = targetList.resolve!([...values.targets], { ...spot, path: [...path, "targets"] });
  checkTargetNames(all, { ...spot, path: [...path, "targets"] });
  if (all.length > 0 && all.every(({ backup }) => backup))
    log.fault([...path, "targets"], "every target is a backup: leave backup out of one at least", true);
  else if (all.length > 0 && all.every(({ weight }) => weight === 0))
    log.warn([...path, "targets"], "every weight is 0: requests of this route get 503");
  return all;
}

/** What the keys of `retries` become. Attempts may change while the rest of a route serves on; the others may not. */
function retryTerms(values: Values<typeof routeRetries.rows>, spot: Spot) {
  const { attempts, statuses, backoffMs } = routeRetries.resolve(values, below(spot, "retries"));
  return { retryAttempts: attempts, retryStatuses: statuses, retryBackoffMs: backoffMs };
}

/** `retries` of a resolved route. */
export function retriesOf({ retryAttempts, retryStatuses, retryBackoffMs }: ReturnType<typeof retryTerms>) {
  return { attempts: retryAttempts, statuses: retryStatuses, backoffMs: retryBackoffMs };
}

/** All mirrors, whether one or a list. */
function resolveMirrors(values: Pick<Values<typeof rows>, "mirror" | "mirrors">, spot: Spot): readonly MirrorConfig[] {
  const { log, path } = spot;
  if (values.mirror !== null && values.mirrors.length > 0)
    log.fault([...path, "mirror"], "a route has either mirror (one server) or mirrors (a list): remove one", true);
  if (values.mirror !== null) return [mirror.resolve(values.mirror, below(spot, "mirror"))];
  if (values.mirrors.length > MAX_MIRRORS) log.fault([...path, "mirrors"], `expected at most ${MAX_MIRRORS} mirrors`);
  return mirrorList.resolve!([...values.mirrors], below(spot, "mirrors"));
}

/** The server of an address; an unreadable address is a fault. */
function originAt(
  url: string,
  key: string,
  { path, log, files }: Spot,
  runsScripts = false,
): OriginConfig & { readonly url: string } {
  const parsed = parseOrigin(url, (socket) => files.absolute(socket), runsScripts);
  const isMap = url.trim().startsWith("{map.");
  if (typeof parsed === "string")
    log.fault([...path, key], isMap ? "only target of a route takes {map.NAME}: name one server here" : parsed);
  const origin = typeof parsed === "string" ? originOf("http", "", 0, "") : parsed;
  return { ...origin, url: originUrl(origin) };
}

/** Notes keys that do nothing with these targets. */
function noteUseless(values: Values<typeof rows>, targets: readonly TargetConfig[], { log, path }: Spot): void {
  if (values.strict_origins === false) {
    const isHttp2 = targets.length > 0 && targets.every(({ scheme }) => speaksHttp2(scheme));
    const meaning = isHttp2 ? "has no effect: every target speaks HTTP/2" : `is false: ${LENIENT_MEANING}`;
    log.warn([...path, "strict_origins"], meaning);
  }
  const { tls } = values;
  const isUsed =
    tls.ca_file !== "" ||
    tls.cert_file !== "" ||
    tls.server_name !== "" ||
    tls.alt_names.length > 0 ||
    tls.insecure_skip_verify;
  if (isUsed && targets.length > 0 && !targets.some(({ scheme }) => usesTls(scheme))) {
    log.warn([...path, "tls"], "has no effect: no target speaks TLS (https:// or h2://)");
  }
}

/** Second requests need a second target, and would count twice in a comparison. */
function checkHedge(values: Values<typeof rows>, targets: readonly TargetConfig[], { log, path }: Spot): void {
  if (values.hedge === null) return;
  const at = [...path, "hedge"];
  for (const other of ["mirror", "canary", "fastcgi"] as const)
    if (values[other] !== null) log.fault(at, `does not go with ${other}: remove one`, true);
  if (values.mirrors.length > 0) log.fault(at, "does not go with mirrors: remove one", true);
  const script = targets.find(({ scheme }) => applicationScheme(scheme) !== null);
  if (script !== undefined) log.fault(at, `needs targets of HTTP: remove it, or ${script.url}`, true);
  else if (targets.length === 1 && !values.target.startsWith("srv+"))
    log.warn(at, "has no effect: the route has one target");
  const isRepeatable = values.methods.length === 0 || values.methods.some((name) => REPEATABLE.has(name));
  if (!isRepeatable) log.warn(at, "has no effect: only GET, HEAD and OPTIONS have second requests");
}

const REPEATABLE: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** gRPC needs trailers and streams, which HTTP/2 has. */
function checkGrpcWeb(values: Values<typeof rows>, targets: readonly TargetConfig[], { log, path }: Spot): void {
  if (!values.grpc_web) return;
  const other = targets.find(({ scheme }) => !speaksHttp2(scheme));
  if (other !== undefined && other.hostname !== "")
    log.fault(
      [...path, "grpc_web"],
      `needs targets that speak gRPC, by HTTP/2: write h2c:// or h2:// in place of ${other.url}`,
      true,
    );
}

/** What the keys of `type: upstream` resolve to. */
export type UpstreamKeys = ConfigOf<typeof upstreamKeys>;

/** Where copies of a route's requests go. docs/upstreams.md#mirroring */
export type MirrorConfig = ConfigOf<typeof mirror>;

export type HealthCheckConfig = UpstreamKeys["healthCheck"];

export type CircuitBreakerConfig = UpstreamKeys["circuitBreaker"];

export type UpstreamTimeouts = UpstreamKeys["timeouts"];

/** How scripts are found and run; null if no target runs any. docs/php.md */
export type FastCgiConfig = UpstreamKeys["fastcgi"];

/** How the gateway speaks TLS to `https` and `h2` targets. */
export type UpstreamTlsConfig = UpstreamKeys["tls"];
