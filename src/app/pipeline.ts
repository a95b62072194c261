import { asksClients } from "../config/bot-settings.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { Fault } from "../core/fault.ts";
import { Http01Phase, type LeavesChallenge } from "../features/acme/http01-phase.ts";
import type { ResponseCache } from "../features/cache/response-cache.ts";
import { LateFieldsPhase } from "../features/forward/edited-handler.ts";
import { ForwardEnd } from "../features/forward/forward-handler.ts";
import { BodyLimitPhase } from "../features/ingest/body-limit.ts";
import { NormalizePhase } from "../features/ingest/normalize.ts";
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
import type { Tracer } from "../features/telemetry/tracer.ts";
import type { BodyRules } from "../message/body-rules.ts";
import { DispatchPhase, type Exchange, type Phase, Pipeline, type ReplyTap } from "../message/exchange.ts";
import { lateFields } from "../routes/header-operations.ts";
import type { BodyBudget } from "../shared/body-budget.ts";
import type { ClientPolicy } from "./client-policy.ts";
import { buildPagePolicy } from "./page-policy.ts";
import { passedNames } from "./passed-names.ts";
import { settingsByIndex } from "./routing.ts";
import { buildWafPolicy } from "./waf-policy.ts";
import type { WayInputs } from "./worker-runtime.ts";

/** What the pipeline is made of. */
export interface PipelineParts {
  readonly router: Router;
  readonly inputs: WayInputs;
  readonly accessLog: AccessLog | null;
  readonly budget: BodyBudget;
  readonly client: ClientPolicy;
  /** Null where no response is compressed. */
  readonly contentCoding: Phase | null;
  /** Null where the cache is off. */
  readonly cache: ResponseCache | null;
  /** Null without `telemetry`. */
  readonly tracer: Tracer | null;
}

/**
 * THE order of a request's way down and of its response's way up; docs/phases.md says why.
 *
 *   counters → http01 → clientAddress → trace → passedNames → identityFields → serverAddressRules → waf → routeExact → httpsRedirect
 *     → corsPreflight → prefixGuard → pathEscapes → routePrefix → routeAddressRules → maintenance → rateLimit → bots → auth
 *     → userRateLimit → bodyLimit → wafBody → responseFields → errorPages → responseRules → contentCoding → cacheLookup → ingest → wafTrailers → traceFields → hooks → dispatch
 *   spans ← accessLog ← forwardEnd ← counters ← (the protocol engine writes the response) ← altSvc ← securityHeaders ← matchVary ← cors ← cacheStore
 *
 * What a configuration does not ask for is left out.
 */
export function buildPipeline(config: RuntimeConfig, parts: PipelineParts): Pipeline {
  const { router, inputs, accessLog, budget, client, contentCoding, cache, tracer } = parts;
  const guard = new PrefixGuard(router.routes.map((route) => route.init));
  const pages = buildPagePolicy(config, router.routes, inputs.reports);
  const { preflight } = client;
  const isPreflight = preflight === null ? null : (ex: Exchange) => preflight.takes(ex);
  const exact = new RouteExactPhase({ router, bodies: bodyRules(config), guard, isPreflight });
  const nothing = config.transcoder.isPending ? Fault.SchemaPending : Fault.NotFound;
  const prefix = new RoutePrefixPhase(router, bodyRules(config), nothing);
  const finder = new RouteLookup(router, exact, prefix);
  const waf = buildWafPolicy(config, { router, finder, inputs, budget });
  const phases: (Phase | null)[] = [
    inputs.counters,
    new Http01Phase(inputs.challenges, router.routes.length, bodyRules(config), challengeTakers(router, finder)),
    client.clientAddress,
    tracer === null ? null : tracer.phase,
    passedNamesPhase(config),
    client.identityFields,
    client.serverAddressRules,
    waf.head,
    exact,
    client.httpsRedirect,
    client.preflight,
    new PrefixGuardPhase(guard, inputs.reports),
    new PathEscapesPhase(),
    prefix,
    client.routeAddressRules,
    pages.maintenance,
    client.rateLimit,
    botsPhase(config, router, inputs),
    client.auth,
    client.userRateLimit,
    new BodyLimitPhase(),
    waf.body,
    lateFieldsPhase(config, router),
    pages.intercept,
    waf.response,
    contentCoding,
    cache === null ? null : cache.phase,
    new NormalizePhase(budget, inputs.reports),
    waf.trailers,
    tracer === null ? null : tracer.fieldsPhase,
    hookPhase(config, router, inputs, budget),
    new DispatchPhase(),
  ];
  const taps: ReplyTap[] = [inputs.counters, new ForwardEnd()];
  if (cache !== null) taps.push(cache.tap);
  if (accessLog !== null) taps.push(accessLog);
  if (tracer !== null) taps.push(tracer.tap);
  const pipeline = new Pipeline(
    phases.filter((phase) => phase !== null),
    cache === null ? client.headTaps : [cache.tap, ...client.headTaps],
    taps,
    waf.trailers,
    inputs.requestIds,
    pages.refusals,
  );
  pipeline.messages = waf.body;
  return pipeline;
}

/** Null where no name is passed through. */
function passedNamesPhase(config: RuntimeConfig): Phase | null {
  const names = passedNames(config);
  return names === null ? null : new PassedNamesPhase((host) => (names.get(host) ?? null) !== null);
}

/** Null where no route has fields with values of the request. */
function lateFieldsPhase(config: RuntimeConfig, { routes }: Router): Phase | null {
  const fields = settingsByIndex(config, routes).map((route) =>
    route === null ? null : lateFields(route.headers.response),
  );
  return fields.every((each) => each === null) ? null : new LateFieldsPhase(fields);
}

/** Null where no route has hooks, and where they are not asked. */
function hookPhase(
  config: RuntimeConfig,
  { routes }: Router,
  { functions }: WayInputs,
  budget: BodyBudget,
): Phase | null {
  const hasHooks = config.routes.some((route) => "hooks" in route && route.hooks !== null);
  return hasHooks && functions !== null ? functions().hookPhase(config, settingsByIndex(config, routes), budget) : null;
}

/** Null where no client is asked for a task; what asks is loaded only then. */
function botsPhase(config: RuntimeConfig, { routes }: Router, inputs: WayInputs): Phase | null {
  if (!asksClients(config.server.bots) && !config.routes.some(({ bots }) => asksClients(bots))) return null;
  const { botPhase } = require("./bot-policy.ts") as typeof import("./bot-policy.ts");
  return botPhase(config, routes, inputs);
}

function bodyRules({ server }: RuntimeConfig): BodyRules {
  return { maxBodyBytes: server.maxBodyBytes, rejectsChunked: server.inboundChunkedMode === "reject" };
}

/** Null where no route has challenges for itself. docs/acme.md#http-01 */
function challengeTakers({ routes }: Router, finder: RouteLookup): LeavesChallenge | null {
  if (!routes.some(({ init }) => init.takesChallenges === true)) return null;
  return (ex) => finder.routeOf(ex)?.init.takesChallenges === true;
}

/** The way down and up of the listener of `internal_api.listen`, where only the built-in endpoints are. */
export function buildInternalPipeline(
  config: RuntimeConfig,
  router: Router,
  { inputs, accessLog, budget, client }: Pick<PipelineParts, "inputs" | "accessLog" | "budget" | "client">,
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
  return new Pipeline(
    phases.filter((phase) => phase !== null),
    [],
    taps,
    null,
    inputs.requestIds,
  );
}
