import { Fault } from "../core/fault.ts";
import { faultRow } from "../core/fault-rows.ts";
import { isSecretName, MASK } from "../core/secret-name.ts";
import { reasonOf } from "../core/status.ts";
import { type AuthConfig, fieldsSetBy } from "../features/auth/settings.ts";
import { sharingNeeded } from "../features/cache/identity.ts";
import { SlotFlag } from "../features/cache/store/cache-memory.ts";
import { limitsIn } from "../features/limit/settings.ts";
import { whyNotMirrored } from "../features/mirror/mirror.ts";
import type { WafConfig } from "../features/waf/settings.ts";
import { explainWaf } from "../features/waf/waf-explanation.ts";
import { CACHE_RESULT_NAMES, CacheNote, CacheResult } from "../message/cache-result.ts";
import type { Route } from "../message/exchange.ts";
import type { RequestHead } from "../message/request-head.ts";
import { canonicaliseDeeply, slashedPath } from "../proto/target/canonical-path.ts";
import { type HeaderEdits, namesChanged } from "../routes/header-operations.ts";
import { labelOf } from "../routes/route-base.ts";
import { hasTargets, type RouteConfig, wafOf } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { MirrorConfig } from "../routes/upstream/upstream-keys.ts";
import { authByIndex } from "../worker/routing.ts";
import { cachePolicies } from "../worker/worker-cache.ts";
import type { DryRequest, DryResult, DryRun, HttpVersion, PassedPhase } from "./dry-run.ts";
import type { SeenField } from "./recording-sink.ts";
import { lostRoutes, routeByPath, settingsOf } from "./route-contest.ts";

/** What would become of a request, and why: what `edge explain --json` prints. docs/explain.md#as-json */
export interface Explanation {
  readonly request: {
    readonly method: string;
    readonly host: string;
    readonly target: string;
    /** The path that routes are compared with. */
    readonly canonical_path: string;
    readonly client_ip: string;
    readonly tls: boolean;
    /** The version of HTTP: 1, 2 or 3. */
    readonly http: HttpVersion;
  };
  /** Null if none takes it. */
  readonly route: (RouteSummary & { readonly reached: boolean }) | null;
  /** Routes whose path fits and that did not get the request, the most specific first. */
  readonly lost: readonly (RouteSummary & { readonly why: string })[];
  readonly phases: readonly { readonly name: string; readonly verdict: "passed" | "ended"; readonly note: string }[];
  readonly waf_rules: readonly string[];
  /** What goes to an origin; null if nothing does. */
  readonly upstream: UpstreamSummary | null;
  /** The file that would be searched for; null if none would. */
  readonly file: string | null;
  readonly cache: CacheSummary | null;
  readonly limits: LimitSummary | null;
  /** Null where every client may come in. */
  readonly auth: AuthSummary | null;
  readonly response: ResponseSummary;
}

export interface RouteSummary {
  /** The prefix, the exact path or the pattern. */
  readonly route: string;
  /** The word at `type`, `built-in` or `transcoded`. */
  readonly type: string;
  /** `routes.yaml:12`; "" for the gateway's own. */
  readonly at: string;
}

interface UpstreamSummary {
  readonly targets: readonly { readonly url: string; readonly weight: number; readonly backup: boolean }[];
  readonly policy: string;
  /** The one that this request would have gone to first. */
  readonly origin: string;
  readonly method: string;
  readonly path: string;
  readonly headers_added: readonly SeenField[];
  readonly headers_removed: readonly SeenField[];
  /** The first one; null if the route has none. */
  readonly mirror: MirrorSummary | null;
  /** All, if there are several. */
  readonly mirrors?: readonly MirrorSummary[];
}

export interface MirrorSummary {
  readonly target: string;
  /** The part of the requests that is copied, up to 1. */
  readonly share: number;
  readonly compare: boolean;
  /** Why this request is not copied, whatever the share; "" if it may be. */
  readonly why_not: string;
}

export interface CacheSummary {
  /** The parts of the key: method, authority, target and Accept-Encoding. */
  readonly key: string;
  /** What the look-up in an empty cache says. */
  readonly result: string;
  /** Whether a 200 that says nothing of itself would be stored; null if an origin's response is not what comes. */
  readonly stored: boolean | null;
  /** What a response must say of itself to be stored, since the request may be answered for its client alone: "public", "s-maxage". */
  readonly needs: readonly string[];
  readonly default_ttl_ms: number;
  /** What the route's rules for the key make of this request; null if it has none. */
  readonly keyed: KeyedSummary | null;
  /** Where stored responses go beside memory; null if they do not. */
  readonly disk: { readonly path: string; readonly max_bytes: number } | null;
}

export interface KeyedSummary {
  /** Target and path that go by more of the request than its host and target. */
  readonly place: readonly string[];
  /** Parameters of the query that count, as they go to the origin, and names of those that go nowhere. */
  readonly query: string;
  readonly dropped: readonly string[];
  /** As it counts: normalised, where the rules say so. */
  readonly accept_encoding: readonly string[];
  /** Fields and cookies that count; those that the request has not have no value. */
  readonly headers: readonly (readonly [name: string, value: string | null])[];
  readonly cookies: readonly (readonly [name: string, value: string | null])[];
}

export interface LimitSummary {
  /** 0 is no limit. */
  readonly max_body_bytes: number;
  readonly max_body_key: string;
  readonly rate_limit: {
    readonly requests: number;
    readonly window_ms: number;
    readonly burst: number;
    readonly key: string;
    /** How many further limits must allow a request. */
    readonly more: number;
  } | null;
}

export interface AuthSummary {
  /** In the order in which they are asked. */
  readonly methods: readonly string[];
  readonly of: AuthConfig["scope"];
  /** Fields that they set on requests, and take off those of every client. */
  readonly sets: readonly string[];
  readonly keep_authorization: boolean;
}

interface ResponseSummary {
  readonly by: "gateway" | "origin" | "file" | "control" | "grpc" | "auth";
  /** Null where only another process or the disk knows it. */
  readonly status: number | null;
  /** `Not Found`; "" if there is no status. */
  readonly status_text: string;
  /** Why the gateway refuses, as logs name it; "" if it does not. */
  readonly reason: string;
  /** Of what the gateway answers; of an origin's response, what it adds. */
  readonly headers: readonly SeenField[];
  /** Names of fields that are removed from an origin's response. */
  readonly headers_removed: readonly string[];
  readonly body: string;
  /** What answers, where `by` is "control" or "grpc". */
  readonly asked: string;
}

/** Sends a request down a dry run, and says what became of it. */
export function explainRequest(config: RuntimeConfig, dry: DryRun, request: DryRequest): Explanation {
  const { said, route, head } = outcomeOf(config, dry, request);
  const lost = head === null ? [] : lostRoutes(dry.router, route, head);
  return { ...said, lost: lost.map((one) => ({ ...routeSummary(config, dry, one.route), why: one.why })) };
}

/** What became of a request, without a word on the routes that did not get it. */
interface Outcome {
  readonly said: Omit<Explanation, "lost">;
  readonly route: Route | null;
  /** Null if its bytes are no request. */
  readonly head: RequestHead | null;
  /** The fields of the response as they are sent, secrets and all: to be compared, and never to be shown. */
  readonly fields: readonly SeenField[];
}

/** The same as `explainRequest`, as far as the request itself tells. */
export function outcomeOf(config: RuntimeConfig, dry: DryRun, request: DryRequest): Outcome {
  const result = dry.run(request);
  const { ex } = result;
  const head = ex.request;
  const isSound = result.framing === Fault.None;
  const taken = ex.fault === Fault.MethodNotAllowed ? null : ex.route;
  // A phase before the routes may have ended it: then the router is asked where it would have gone.
  const route = taken ?? (isSound ? routeByPath(dry.router, head) : null);
  const settings = route === null ? null : settingsOf(config, dry.router, route);
  const waf = wafOf(config, settings);
  const rules = wafRules(waf, dry, request, result);
  const said = {
    request: {
      method: head.methodText(),
      host: head.authority(),
      target: head.target(),
      canonical_path: slashedPath(canonicaliseDeeply(head.path()).canonical),
      client_ip: ex.clientIp,
      tls: request.tls,
      http: request.http ?? 1,
    },
    route: route === null ? null : { ...routeSummary(config, dry, route), reached: route === taken },
    phases: result.phases.map((phase, i) => ({
      name: phase.name,
      verdict: phase.verdict,
      note: phaseNote(phase, result.phases[i - 1]?.incidents ?? 0, result, { rules, waf }),
    })),
    waf_rules: rules,
    upstream: upstreamSummary(result, settings),
    file: result.file,
    cache: cacheSummary(config, dry, result, { settings, request }),
    limits: route === null ? null : limitSummary(route, settings),
    auth: route === null ? null : authSummary(config, dry, route),
    response: responseSummary(result, settings),
  };
  const fields = said.response.headers.length === 0 ? [] : (result.response?.fields ?? []);
  return { said, route, head: isSound ? head : null, fields };
}

function routeSummary(config: RuntimeConfig, dry: DryRun, route: Route): RouteSummary {
  const settings = settingsOf(config, dry.router, route);
  if (settings === null) return { route: route.label, type: route.kind.name, at: "" };
  const { source, position } = settings;
  const at = `${position.file}:${position.line}`;
  return { route: labelOf(settings), type: settings.type, at: source === undefined ? at : `${source} ${at}` };
}

/** All rules that match, as `edge waf test` names them; [] where the firewall has nothing to report. */
function wafRules(waf: WafConfig, dry: DryRun, { head, body }: DryRequest, result: DryResult): string[] {
  if (result.incidents.length === 0) return [];
  const [, ...headers] = head.toString("latin1").trimEnd().split("\r\n");
  const { request } = result.ex;
  const question = { method: request.methodText(), target: request.target(), headers, body };
  return explainWaf(question, waf, dry.router).rules.map(({ id }) => id);
}

/** "" for a phase that has nothing to tell. @param before incidents before the phase */
function phaseNote(
  { name, verdict, wafScore, cacheResult, incidents }: PassedPhase,
  before: number,
  { ex, response: reply }: DryResult,
  { rules, waf }: { readonly rules: readonly string[]; readonly waf: WafConfig },
): string {
  const score = `score ${wafScore} of ${waf.anomalyThreshold}: ${rules.join(", ")}`;
  const found = incidents > before ? score : "";
  if (verdict === "ended" && reply !== null && name !== "dispatch") {
    const reason = ex.fault === Fault.None ? reasonOf(reply.status) : faultRow(ex.fault).label;
    const cause = ex.fault === Fault.BotChallenge ? `: ${ex.detail}` : "";
    return `${reply.status} ${reason}${cause}${found && `, ${found}`}`;
  }
  if (verdict === "ended" && name !== "dispatch") return "it waits for what takes its time, which is not done here";
  if (found !== "") return `${found}; logged, not blocked`;
  if (name === "clientAddress" && ex.fromTrustedProxy) {
    return `the proxy ${ex.client.address} is trusted: the client is ${ex.clientIp}`;
  }
  if (name === "cacheLookup" && cacheResult !== CacheResult.Miss) return CACHE_RESULT_NAMES[cacheResult] ?? "";
  return "";
}

function upstreamSummary({ sent, ex }: DryResult, settings: RouteConfig | null): UpstreamSummary | null {
  if (sent === null || settings === null || !hasTargets(settings)) return null;
  const [line = "", ...lines] = sent.head.trimEnd().split("\r\n");
  const [method = "", path = ""] = line.split(" ");
  const { headers } = ex.request;
  const given = Array.from({ length: headers.count }, (_, i): SeenField => [headers.nameText(i), headers.valueText(i)]);
  const going = lines.map(fieldOf);
  const isIn = (fields: readonly SeenField[]) => (field: SeenField) => fields.some((other) => isSame(field, other));
  const configured = namesIn(settings.headers.request);
  const own = given.find(([name]) => name.toLowerCase() === "x-request-id")?.[1] ?? "";
  return {
    targets: settings.targets.map(({ url, weight, backup }) => ({ url, weight, backup })),
    policy: settings.loadBalancing.policy,
    origin: sent.origin,
    method,
    path,
    headers_added: going.filter((field) => !isIn(given)(field)).map((field) => shown(field, own, configured)),
    headers_removed: given.filter((field) => !isIn(going)(field)),
    mirror: settings.mirrors.length === 0 ? null : mirrorSummary(settings.mirrors[0]!, ex.request),
    ...(settings.mirrors.length > 1 ? { mirrors: settings.mirrors.map((one) => mirrorSummary(one, ex.request)) } : {}),
  };
}

function mirrorSummary({ target, share, compare }: MirrorConfig, request: RequestHead): MirrorSummary {
  return { target: target.url, share, compare, why_not: whyNotMirrored(request) };
}

function fieldOf(line: string): SeenField {
  const colon = line.indexOf(":");
  return [line.slice(0, colon), line.slice(colon + 1).trim()];
}

function isSame([name, value]: SeenField, [otherName, otherValue]: SeenField): boolean {
  return name.toLowerCase() === otherName.toLowerCase() && value === otherValue;
}

/** What a file says of a secret is masked; an id that the gateway has just made up says nothing. */
function shown([name, value]: SeenField, ownId: string, configured: ReadonlySet<string>): SeenField {
  const lower = name.toLowerCase();
  if (lower === "x-request-id" && value !== ownId) return [name, "(a new one)"];
  return [name, configured.has(lower) && isSecretName(name) ? MASK : value];
}

/** Names of the fields that a route sets or adds, in lower case; Authorization may be the key of a model. */
function namesIn({ set, add }: Pick<HeaderEdits, "set" | "add">): ReadonlySet<string> {
  return new Set(["authorization", ...[...set, ...add].map(({ name }) => name.toLowerCase())]);
}

function cacheSummary(
  config: RuntimeConfig,
  { router: { routes } }: DryRun,
  { ex, sent }: DryResult,
  { settings, request: asked }: { readonly settings: RouteConfig | null; readonly request: DryRequest },
): CacheSummary | null {
  const { disk } = config.server.cache;
  if (!config.server.cache.enabled || settings === null || !settings.cache.enabled || ex.cacheResult === 0) return null;
  const { request } = ex;
  const encodings = valuesOf(request, "accept-encoding");
  const policy = cachePolicies(config, routes)[ex.route!.index] ?? null;
  const coding = encodings.length === 0 ? "" : ` (Accept-Encoding: ${encodings.join(", ")})`;
  return {
    key: `${request.methodText()} ${request.authority().toLowerCase()} ${request.target()}${coding}`,
    result: CACHE_RESULT_NAMES[ex.cacheResult] ?? "",
    stored: sent === null ? null : ex.cacheNote === CacheNote.Stored,
    needs: policy === null ? [] : needsOf(sharingNeeded(ex, policy)),
    default_ttl_ms: settings.cache.defaultTtlMs,
    keyed:
      policy === null || policy.key === null
        ? null
        : { place: policy.key.placeOf(ex), ...keyedSummary(request, asked, settings, encodings) },
    disk: disk === null ? null : { path: disk.path, max_bytes: disk.maxBytes },
  };
}

/** docs/cache.md#rules-for-the-key */
function keyedSummary(
  request: RequestHead,
  asked: DryRequest,
  { cache: { key } }: RouteConfig,
  encodings: readonly string[],
): Omit<KeyedSummary, "place"> {
  const query = queryOf(request.target());
  const kept = new Set(query.split("&"));
  const [, target = ""] = asked.head.toString("latin1").split(" ", 2);
  const dropped = queryOf(target)
    .split("&")
    .filter((pair) => pair !== "" && !kept.has(pair))
    .map((pair) => pair.split("=", 1)[0]!);
  const cookies = valuesOf(request, "cookie").flatMap((value) => value.split(/;\s*/));
  const cookieOf = (name: string): string | null =>
    cookies.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? null;
  return {
    query,
    dropped,
    accept_encoding: encodings,
    headers: key.headers.map((name) => [name, valuesOf(request, name.toLowerCase()).join(", ") || null]),
    cookies: key.cookies.map((name) => [name, cookieOf(name)]),
  };
}

/** Without the question mark. */
function queryOf(target: string): string {
  const at = target.indexOf("?");
  return at < 0 ? "" : target.slice(at + 1).split("#", 1)[0]!;
}

/** Values of a field, one for each line. @param name in lower case */
function valuesOf({ headers }: RequestHead, name: string): string[] {
  const values: string[] = [];
  for (let i = 0; i < headers.count; i++) {
    if (headers.nameText(i).toLowerCase() === name) values.push(headers.valueText(i));
  }
  return values;
}

function needsOf(flags: number): string[] {
  return [
    ...((flags & SlotFlag.Public) !== 0 ? ["public"] : []),
    ...((flags & SlotFlag.SharedMaxAge) !== 0 ? ["s-maxage"] : []),
  ];
}

function authSummary(config: RuntimeConfig, { router: { routes } }: DryRun, route: Route): AuthSummary | null {
  const auth = authByIndex(config, routes)[route.index] ?? null;
  if (auth === null || !auth.enabled) return null;
  const methods = auth.methods.map(({ key }) => key);
  return { methods, of: auth.scope, sets: fieldsSetBy([auth]), keep_authorization: auth.keepAuthorization };
}

function limitSummary({ maxBodyBytes, init }: Route, settings: RouteConfig | null): LimitSummary {
  const all = settings === null ? [] : limitsIn(settings.rateLimit);
  const [limit] = all;
  return {
    max_body_bytes: maxBodyBytes,
    max_body_key: init.bodyLimitKey ?? "server.max_body_bytes",
    rate_limit:
      limit === undefined
        ? null
        : {
            requests: limit.requests,
            window_ms: limit.windowMs,
            burst: limit.burst,
            key: limit.key,
            more: all.length - 1,
          },
  };
}

function askedBy({ ex, phases }: DryResult): ResponseSummary["by"] {
  if (phases.at(-1)?.name === "auth") return "auth";
  return ex.route?.kind.name === "transcoded" ? "grpc" : "control";
}

function responseSummary(result: DryResult, settings: RouteConfig | null): ResponseSummary {
  const { response: reply, sent, file, asked, ex } = result;
  const nothing = { status: null, status_text: "", reason: "", headers: [], headers_removed: [], body: "", asked: "" };
  if (asked !== null) return { ...nothing, by: askedBy(result), asked };
  if (reply === null) return { ...nothing, by: file === null ? "gateway" : "file" };
  const own = ex.request.headers;
  const id = Array.from({ length: own.count }, (_, i) => i).find(
    (i) => own.nameText(i).toLowerCase() === "x-request-id",
  );
  const configured = settings === null ? new Set<string>() : namesIn(settings.headers.response);
  const headers = reply.fields.map((field) => shown(field, id === undefined ? "" : own.valueText(id), configured));
  if (sent !== null && ex.fault === Fault.None) {
    return { ...nothing, by: "origin", headers, headers_removed: removedOf(settings) };
  }
  const reason = ex.fault === Fault.None ? "" : faultRow(ex.fault).label;
  return {
    ...nothing,
    by: "gateway",
    status: reply.status,
    status_text: reasonOf(reply.status),
    reason,
    headers,
    body: reply.body,
  };
}

function removedOf(settings: RouteConfig | null): string[] {
  if (settings === null) return [];
  const { response } = settings.headers;
  const set = namesIn(response);
  return namesChanged(response).filter((name) => !set.has(name));
}
