import { NetworkSet } from "../core/network-set.ts";
import { PrefixGuard } from "../features/route/prefix-guard.ts";
import type { Router } from "../features/route/router.ts";
import { RouteExactPhase, RouteLookup, RoutePrefixPhase } from "../features/route/routing-phases.ts";
import type { LeakPorts } from "../features/waf/responses/leak-guard.ts";
import {
  RoutedWafBodyPhase,
  RoutedWafPhase,
  RoutedWafTrailerPhase,
  type RouteFinder,
} from "../features/waf/routed-waf.ts";
import type { RuleFirewall } from "../features/waf/seclang/rule-firewall.ts";
import type { WafConfig } from "../features/waf/settings.ts";
import {
  type Firewall,
  type MakeRules,
  RouteFirewall,
  Waf,
  WafBodyPhase,
  WafPhase,
  WafTrailerPhase,
} from "../features/waf/waf.ts";
import type { BodyBudget } from "../memory/body-budget.ts";
import type { Exchange, Handler, MessageGate, Phase, TrailerGate } from "../message/exchange.ts";
import { IDLE_PORTS } from "../message/idle-ports.ts";
import { type RouteConfig, wafOf } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { settingsByIndex } from "./routing.ts";
import type { WayPorts } from "./runtime-inputs.ts";

/** Bytes of responses that a worker holds for it at the same time. */
const MAX_HELD_LEAK_BYTES = 16_777_216;

/** The phases of the firewall, each null where it has nothing to do. */
export interface WafPolicy {
  readonly head: Phase | null;
  readonly body: (Phase & MessageGate) | null;
  readonly trailers: (Phase & TrailerGate) | null;
  /** Lets rules look at responses. */
  readonly response: Phase | null;
}

/** Looks at the responses of routes whose firewall does, and wraps no handler elsewhere. docs/waf.md#responses */
export class LeakGuards {
  private readonly config: RuntimeConfig;
  private readonly inputs: Pick<WayPorts, "reports" | "services">;
  private services: LeakPorts | null = null;

  constructor(config: RuntimeConfig, inputs: Pick<WayPorts, "reports" | "services">) {
    this.config = config;
    this.inputs = inputs;
  }

  wrap(handler: Handler, route: RouteConfig): Handler {
    const { enabled, mode, responses, disabledRules, exclusions } = wafOf(this.config, route);
    if (!enabled || responses === "off") return handler;
    const { LeakGuard, LeakPolicy } = guards();
    const withholds = responses === "enforce" && mode === "enforce";
    return new LeakGuard(handler, new LeakPolicy({ withholds, disabledRules, exclusions }, this.shared()));
  }

  private shared(): LeakPorts {
    const { reports, services } = this.inputs;
    this.services ??= {
      listener: reports,
      clock: services.clock,
      wheel: services.wheel,
      turn: services.turn,
      idle: IDLE_PORTS,
      room: new (guards().HeldRoom)(MAX_HELD_LEAK_BYTES),
      allowedIps: new NetworkSet(this.config.server.waf.allowedIps),
    };
    return this.services;
  }
}

/** Loaded where a configuration asks for it. */
function guards(): typeof import("../features/waf/responses/leak-guard.ts") {
  return require("../features/waf/responses/leak-guard.ts");
}

/** What the phases are made with. */
export interface WafPorts {
  readonly router: Router;
  readonly finder: RouteFinder;
  readonly inputs: WayPorts;
  readonly budget: BodyBudget;
}

/** Wires `waf` of a server and its routes. docs/waf.md#at-a-route */
export function buildWafPolicy(config: RuntimeConfig, parts: WafPorts): WafPolicy {
  const { waf } = config.server;
  if (config.routes.some((route) => route.waf !== null)) return routedPolicy(config, parts);
  if (!waf.enabled) return { head: null, body: null, trailers: null, response: null };
  const { router, inputs, budget } = parts;
  const own = new Waf(
    waf,
    new NetworkSet(waf.allowedIps),
    router,
    inputs.reports,
    inputs.services.clock,
    rulesMaker(inputs),
  );
  const { head, body, trailers } = phases(own, budget);
  return { head, body, trailers, response: responsePhase([own.rules], () => own.rules) };
}

/** What makes rules is loaded where there are some. */
function rulesMaker({ reports, services }: WayPorts): MakeRules {
  return (settings, switches) => {
    const { rules } = settings;
    if (rules === undefined || rules.entries.length === 0) return null;
    const { RuleFirewall } =
      require("../features/waf/seclang/rule-firewall.ts") as typeof import("../features/waf/seclang/rule-firewall.ts");
    return new RuleFirewall(rules, { settings, switches, listener: reports, clock: services.clock });
  };
}

/** Null where no rule looks at responses. */
function responsePhase(
  all: readonly (RuleFirewall | null)[],
  rulesOf: (ex: Exchange) => RuleFirewall | null,
): Phase | null {
  if (!all.some((rules) => rules?.looksAtResponses)) return null;
  const { RuleResponsePhase } =
    require("../features/waf/seclang/response-phase.ts") as typeof import("../features/waf/seclang/response-phase.ts");
  return new RuleResponsePhase(rulesOf);
}

/** The firewall that judges a request, for questions without a running gateway. @param router see pathRouter */
export function firewallFor(config: RuntimeConfig, router: Router, ex: Exchange): WafConfig {
  const bodies = { maxBodyBytes: 0, rejectsChunked: false };
  const guard = new PrefixGuard(router.routes.map((route) => route.init));
  const exact = new RouteExactPhase({ router, bodies, guard, isPreflight: null });
  const route = new RouteLookup(router, exact, new RoutePrefixPhase(router, bodies)).routeOf(ex);
  return wafOf(config, route === null ? null : settingsByIndex(config, router.routes)[route.index]!);
}

/** What one firewall has: routes with the same settings share it, and all share what is costly. */
interface Phases {
  readonly head: WafPhase;
  readonly body: WafBodyPhase | null;
  readonly trailers: WafTrailerPhase;
  readonly rules: RuleFirewall | null;
}

function routedPolicy(config: RuntimeConfig, parts: WafPorts): WafPolicy {
  const { router, inputs, budget, finder } = parts;
  const { waf } = config.server;
  const makeRules = rulesMaker(inputs);
  const { clock } = inputs.services;
  // One for each level, since what an inspector knows of harmless values holds for the rules that it has.
  const bases = new Map<string, Waf>();
  const baseOf = (settings: WafConfig): Waf => {
    const key = JSON.stringify([settings.level, settings.profile]);
    // Rules are those of the firewalls that share it.
    const base =
      bases.get(key) ??
      new Waf({ ...settings, rules: NO_RULES }, new NetworkSet(waf.allowedIps), router, inputs.reports, clock);
    bases.set(key, base);
    return base;
  };
  const sets: unknown[] = [];
  const numberOf = (rules: unknown): number => {
    if (!sets.includes(rules)) sets.push(rules);
    return sets.indexOf(rules);
  };
  const known = new Map<string, Phases | null>();
  const phasesOf = (settings: WafConfig): Phases | null => {
    const { enabled, mode, level, profile, fields, anomalyThreshold, disabledRules, exclusions, rules } = settings;
    const own = [enabled, mode, level, profile, fields, anomalyThreshold, disabledRules, exclusions];
    const key = JSON.stringify([...own, numberOf(rules)]);
    if (!known.has(key))
      known.set(key, enabled ? phases(new RouteFirewall(baseOf(settings), settings, clock, makeRules), budget) : null);
    return known.get(key)!;
  };
  const server = phasesOf(waf);
  const byRoute = settingsByIndex(config, router.routes).map((route) => phasesOf(wafOf(config, route)));
  const bodies = byRoute.map((one) => one?.body ?? null);
  return {
    head: new RoutedWafPhase(
      finder,
      byRoute.map((one) => one?.head ?? null),
      server?.head ?? null,
    ),
    body: bodies.some((one) => one !== null) ? new RoutedWafBodyPhase(bodies) : null,
    trailers: new RoutedWafTrailerPhase(
      byRoute.map((one) => one?.trailers ?? null),
      server?.trailers ?? null,
    ),
    response: responsePhase(
      byRoute.map((one) => one?.rules ?? null),
      (ex) => byRoute[ex.route!.index]?.rules ?? null,
    ),
  };
}

function phases(waf: Firewall, budget: BodyBudget): Phases {
  return {
    head: new WafPhase(waf),
    body: waf.settings.maxInspectBodyBytes === 0 && waf.rules === null ? null : new WafBodyPhase(waf, budget),
    trailers: new WafTrailerPhase(waf),
    rules: waf.rules,
  };
}

const NO_RULES: WafConfig["rules"] = { files: [], engine: "on", entries: [] };
