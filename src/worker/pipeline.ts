import { clientDemand } from "../config/tls-settings.ts";
import { Fault } from "../core/fault.ts";
import { Http01Phase, type LeavesChallenge } from "../features/acme/http01-phase.ts";
import { AccessGuard } from "../features/admin/access-guard.ts";
import { AgentPhase } from "../features/agents/agent-phase.ts";
import { BanPhase } from "../features/bans/ban-phase.ts";
import { judgesClients } from "../features/bots/settings.ts";
import type { ResponseCache } from "../features/cache/response-cache.ts";
import { ForwardEnd } from "../features/forward/forward-handler.ts";
import { LateFieldsPhase } from "../features/forward/late-fields-phase.ts";
import { BodyLimitPhase } from "../features/ingest/body-limit.ts";
import { NormalizePhase } from "../features/ingest/normalize.ts";
import { PacingPhase } from "../features/limit/pacing-phase.ts";
import { SheddingPhase } from "../features/overload/shedding-phase.ts";
import { buildPagePolicy, type PagePolicy } from "../features/pages/page-policy.ts";
import { HostDemandsPhase } from "../features/route/host-demands-phase.ts";
import { PassedNamesPhase } from "../features/route/passed-names-phase.ts";
import { PrefixGuard } from "../features/route/prefix-guard.ts";
import type { Router } from "../features/route/router.ts";
import {
  PathEscapesPhase,
  PrefixGuardPhase,
  RouteExactPhase,
  RouteLookup,
  RoutePrefixPhase,
} from "../features/route/routing-phases.ts";
import type { AccessLog } from "../features/telemetry/access-log.ts";
import { DebugHeaderTap } from "../features/telemetry/debug-header.ts";
import type { Tracer } from "../features/telemetry/tracer.ts";
import { buildWafPolicy, type WafPolicy } from "../features/waf/waf-policy.ts";
import type { BodyBudget } from "../memory/body-budget.ts";
import { DispatchPhase, type Exchange, type Phase, Pipeline, type ResponseTap } from "../message/exchange.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import { pageFieldsPhase } from "../routes/body-edits.ts";
import { concurrencyEnd, concurrencyPhase } from "../routes/concurrency-gates.ts";
import { lateFields } from "../routes/header-operations.ts";
import { wafOf } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { sloTap } from "../routes/slo-routes.ts";
import { passedNames } from "../routes/streams/passed-names.ts";
import { waitingPhase } from "../routes/waiting-rooms.ts";
import { sitesIn } from "../settings/server-listeners.ts";
import type { ClientPolicy } from "./client-policy.ts";
import { type AgentPolicy, agentPolicy } from "./client-policy.ts";
import { bodyRules, settingsByIndex } from "./routing.ts";
import type { WayPorts } from "./runtime-inputs.ts";

/** What the pipeline is made of. */
interface PipelinePorts {
  readonly router: Router;
  readonly inputs: WayPorts;
  readonly accessLog: AccessLog | null;
  readonly budget: BodyBudget;
  readonly client: ClientPolicy;
  /** Null if no response is compressed. */
  readonly contentCoding: Phase | null;
  /** Null if the cache is off. */
  readonly cache: ResponseCache | null;
  /** Null if no route has hooks. */
  readonly hooks: Phase | null;
  /** Null without `telemetry`. */
  readonly tracer: Tracer | null;
}

/** What the phases and taps of one configuration are made of. */
interface Way extends PipelinePorts {
  readonly config: RuntimeConfig;
  readonly guard: PrefixGuard;
  readonly pages: PagePolicy;
  readonly exact: RouteExactPhase;
  readonly prefix: RoutePrefixPhase;
  readonly finder: RouteLookup;
  readonly waf: WafPolicy;
  /** Null if no client is banned. */
  readonly bans: BanPhase | null;
  readonly agents: AgentPolicy | null;
}

/**
 * THE order of a request's way down: phases by name. Each makes null if a configuration does not ask for it. What each reads and
 * changes, and why it is at its place, is its row in phase-rows.ts; docs/phases.md and ARCHITECTURE.md are written from both.
 */
const DOWN = {
  counters: ({ inputs }) => inputs.counters,
  http01: ({ inputs, router, config, finder }) =>
    new Http01Phase(inputs.challenges, bodyRules(config), challengeTakers(router, finder)),
  clientAddress: ({ client }) => client.clientAddress,
  bans: ({ bans }) => bans,
  trace: ({ tracer }) => tracer?.phase ?? null,
  passedNames: ({ config }) => passedNamesPhase(config),
  hostDemands: ({ config }) => hostDemandsPhase(config),
  identityFields: ({ client }) => client.identityFields,
  serverAddressRules: ({ client }) => client.serverAddressRules,
  waf: ({ waf }) => waf.head,
  routeExact: ({ exact }) => exact,
  httpsRedirect: ({ client }) => client.httpsRedirect,
  corsPreflight: ({ client }) => client.preflight,
  prefixGuard: ({ guard, inputs }) => new PrefixGuardPhase(guard, inputs.reports),
  pathEscapes: () => new PathEscapesPhase(),
  routePrefix: ({ prefix }) => prefix,
  allowedMethods: ({ client }) => client.allowedMethods,
  routeAddressRules: ({ client }) => client.routeAddressRules,
  maintenance: ({ pages }) => pages.maintenance,
  shedding: (way) => sheddingPhase("shedding", way),
  rateLimit: ({ client }) => client.rateLimit,
  agents: ({ agents }) => agents && new AgentPhase(agents.rules),
  pageFields: ({ config, router }) => pageFieldsPhase(settingsByIndex(config, router.routes)),
  bots: ({ config, router, inputs, agents }) => botsPhase(config, router, inputs, agents),
  waitingRoom: ({ config, router, inputs }) =>
    waitingPhase(settingsByIndex(config, router.routes), inputs.under.rooms, inputs.services.clock, inputs.cookieKey),
  auth: ({ client }) => client.auth,
  userRateLimit: ({ client }) => client.userRateLimit,
  userShedding: (way) => sheddingPhase("userShedding", way),
  concurrency: (way) => limitedPhase("concurrency", way),
  bodyLimit: () => new BodyLimitPhase(),
  wafBody: ({ waf }) => waf.body,
  pacing: ({ config, router, inputs }) => pacingPhase(config, router, inputs),
  responseFields: ({ config, router }) => lateFieldsPhase(config, router),
  errorPages: ({ pages }) => pages.intercept,
  responseRules: ({ waf }) => waf.response,
  contentCoding: ({ contentCoding }) => contentCoding,
  cacheLookup: ({ cache }) => cache?.phase ?? null,
  fetchConcurrency: (way) => limitedPhase("fetchConcurrency", way),
  ingest: ({ budget, inputs }) => new NormalizePhase(budget, inputs.reports),
  wafTrailers: ({ waf }) => waf.trailers,
  traceFields: ({ tracer }) => tracer?.fieldsPhase ?? null,
  hooks: ({ hooks }) => hooks,
  dispatch: () => new DispatchPhase(),
} satisfies Readonly<Record<string, (way: Way) => Phase | null>>;

/** THE order in which the head of a response passes the taps, before the protocol engine writes it. */
const UP = {
  cacheStore: ({ cache }) => cache?.tap ?? null,
  cors: ({ client }) => client.cors,
  matchVary: ({ client }) => client.matchVary,
  securityHeaders: ({ client }) => client.securityHeaders,
  altSvc: ({ client }) => client.altSvc,
  debugHeader: ({ config }) => debugHeaderTap(config),
} satisfies Readonly<Record<string, (way: Way) => ResponseTap | null>>;

/** THE order of what runs when an exchange is over, answered or cut. */
const END = {
  counters: ({ inputs }) => inputs.counters,
  bans: ({ bans }) => bans,
  forwardEnd: () => new ForwardEnd(),
  concurrency: ({ config }) => concurrencyEnd(config.routes),
  slo: ({ config, router, inputs }) => sloTap(settingsByIndex(config, router.routes), inputs.under.slos),
  ai: ({ config }) => aiTap(config),
  cacheStore: ({ cache }) => cache?.tap ?? null,
  accessLog: ({ accessLog }) => accessLog,
  spans: ({ tracer }) => tracer?.tap ?? null,
} satisfies Readonly<Record<string, (way: Way) => ResponseTap | null>>;

export type PhaseName = keyof typeof DOWN;
export type HeadTapName = keyof typeof UP;
export type EndTapName = keyof typeof END;

/** The names, in order. */
export const WAY_DOWN: readonly PhaseName[] = Object.keys(DOWN) as PhaseName[];
export const WAY_UP: readonly HeadTapName[] = Object.keys(UP) as HeadTapName[];
export const AT_THE_END: readonly EndTapName[] = Object.keys(END) as EndTapName[];

function debugHeaderTap({ server, internalApi }: RuntimeConfig): ResponseTap | null {
  if (!server.debugHeader) return null;
  const guard = new AccessGuard(internalApi);
  return new DebugHeaderTap((ex) => guard.recognizes(ex));
}

/** The ways of a configuration, down and up. */
export function buildPipeline(config: RuntimeConfig, parts: PipelinePorts): Pipeline {
  const { router, inputs, client } = parts;
  const guard = new PrefixGuard(router.routes.map((route) => route.init));
  const pages = buildPagePolicy(config.server, router.routes, settingsByIndex(config, router.routes), inputs.reports);
  const { preflight } = client;
  const isPreflight = preflight === null ? null : (ex: Exchange) => preflight.takes(ex);
  const exact = new RouteExactPhase({ router, bodies: bodyRules(config), guard, isPreflight });
  const nothing = config.transcoder.isPending ? Fault.SchemaPending : Fault.NotFound;
  const prefix = new RoutePrefixPhase(router, bodyRules(config), nothing);
  const finder = new RouteLookup(router, exact, prefix);
  const waf = wafPolicy(config, router, finder, inputs);
  const bans = config.server.bans.enabled ? new BanPhase(inputs.bans) : null;
  const agents = agentPolicy(config.server.agents, inputs);
  const way: Way = { ...parts, config, guard, pages, exact, prefix, finder, waf, bans, agents };
  const pipeline = new Pipeline(
    made<Phase>(DOWN, way),
    made<ResponseTap>(UP, way),
    made<ResponseTap>(END, way),
    waf.trailers,
    inputs.requestIds,
    pages.refusals,
  );
  pipeline.messages = waf.body;
  pipeline.places = inputs.client.places;
  pipeline.agents = agents?.names ?? null;
  return pipeline;
}

function wafPolicy(config: RuntimeConfig, router: Router, finder: RouteLookup, inputs: WayPorts): WafPolicy {
  const { reports: listener, services, budget } = inputs;
  const isRouted = config.routes.some((route) => route.waf !== null);
  return buildWafPolicy({
    server: config.server.waf,
    byRoute: isRouted ? settingsByIndex(config, router.routes).map((route) => wafOf(config, route)) : null,
    routes: router,
    finder,
    listener,
    clock: services.clock,
    budget,
  });
}

/** What a configuration asks for, in the order of the table. */
function made<T>(table: Readonly<Record<string, (way: Way) => T | null>>, way: Way): T[] {
  return Object.values(table)
    .map((make) => make(way))
    .filter((one) => one !== null) as T[];
}

/** Null if no name is passed through. */
function passedNamesPhase(config: RuntimeConfig): Phase | null {
  const names = passedNames(config);
  return names === null ? null : new PassedNamesPhase((host) => (names.get(host) ?? null) !== null);
}

/** Null without `overload`; the phase after `auth` is null if no route has any. */
function sheddingPhase(name: SheddingPhase["name"], { config, router, inputs }: Way): Phase | null {
  if (!config.server.overload.enabled) return null;
  const routes = settingsByIndex(config, router.routes).map((route) =>
    route === null ? null : { priority: route.priority, knowsUsers: route.auth.enabled },
  );
  if (name === "userShedding" && !routes.some((route) => route?.knowsUsers)) return null;
  return new SheddingPhase(name, routes, inputs.under.pressure);
}

function limitedPhase(name: "concurrency" | "fetchConcurrency", { config, router, inputs }: Way): Phase | null {
  const { under, services } = inputs;
  return concurrencyPhase(name, settingsByIndex(config, router.routes), under.concurrency, services.turn);
}

/** Null if no route has `ai`; the tap is loaded only then. */
function aiTap({ routes }: RuntimeConfig): ResponseTap | null {
  if (!routes.some((route) => "ai" in route && route.ai !== null)) return null;
  const { AiTap } = require("../features/ai/ai-handler.ts") as typeof import("../features/ai/ai-handler.ts");
  return new AiTap();
}

/** Null if all names have one demand. */
function hostDemandsPhase({ server }: RuntimeConfig): Phase | null {
  const sites = sitesIn(server);
  const isOne = sites.every((site) => site.hosts.every((host) => clientDemand(host) === clientDemand(site)));
  return isOne ? null : new HostDemandsPhase();
}

/** Null if no route has `limit_rate`. */
function pacingPhase(config: RuntimeConfig, { routes }: Router, { services }: WayPorts): Phase | null {
  const rates = settingsByIndex(config, routes).map((route) => route?.limitRate ?? 0);
  if (rates.every((rate) => rate === 0)) return null;
  const { wheel, turn } = services;
  return new PacingPhase(rates, { wheel, turn, idle: IDLE_PORTS });
}

/** Null if no route has fields with values of the request. */
function lateFieldsPhase(config: RuntimeConfig, { routes }: Router): Phase | null {
  const fields = settingsByIndex(config, routes).map((route) =>
    route === null ? null : lateFields(route.headers.response),
  );
  return fields.every((each) => each === null) ? null : new LateFieldsPhase(fields);
}

/** Null if no route has hooks, and if they are not asked. */
export function hookPhase(
  config: RuntimeConfig,
  { routes }: Router,
  { functions, budget }: Pick<WayPorts, "functions" | "budget">,
): Phase | null {
  const hasHooks = config.routes.some((route) => "hooks" in route && route.hooks !== null);
  return hasHooks && functions !== null ? functions().hookPhase(config, settingsByIndex(config, routes), budget) : null;
}

/** Null if no client is asked for a task; what asks is loaded only then. */
function botsPhase(
  config: RuntimeConfig,
  { routes }: Router,
  inputs: WayPorts,
  agents: AgentPolicy | null,
): Phase | null {
  if (!judgesClients(config.server.bots) && !config.routes.some(({ bots }) => judgesClients(bots))) return null;
  const { botPhase } = require("../features/bots/bot-rules.ts") as typeof import("../features/bots/bot-rules.ts");
  const { turn, clock } = inputs.services;
  const agentAction = agents === null ? null : (ex: Exchange) => agents.rules.actionOf(ex);
  const ofRoutes = settingsByIndex(config, routes).map((route) => route?.bots ?? null);
  return botPhase(config.server.bots, routes, ofRoutes, {
    ...inputs,
    turn,
    clock,
    turns: inputs.services,
    agentAction,
  });
}

/** Null if no route has challenges for itself. docs/acme.md#http-01 */
function challengeTakers({ routes }: Router, finder: RouteLookup): LeavesChallenge | null {
  if (!routes.some(({ init }) => init.takesChallenges === true)) return null;
  return (ex) => finder.routeOf(ex)?.init.takesChallenges === true;
}

/** The way down and up of the listener of `internal_api.listen`, where only the built-in endpoints are. */
export function buildInternalPipeline(
  config: RuntimeConfig,
  router: Router,
  { inputs, accessLog, budget, client }: Pick<PipelinePorts, "inputs" | "accessLog" | "budget" | "client">,
): Pipeline {
  const bodies = bodyRules(config);
  const phases = [
    inputs.counters,
    client.clientAddress,
    new RouteExactPhase({ router, bodies, guard: null, isPreflight: null }),
    new PathEscapesPhase(),
    new RoutePrefixPhase(router, bodies),
    client.authOf(router.routes),
    new BodyLimitPhase(),
    new NormalizePhase(budget, inputs.reports),
    new DispatchPhase(),
  ];
  const taps = accessLog === null ? [inputs.counters] : [inputs.counters, accessLog];
  const own = phases.filter((phase) => phase !== null);
  const pipeline = new Pipeline(own, [], taps, null, inputs.requestIds);
  pipeline.places = inputs.client.places;
  return pipeline;
}
