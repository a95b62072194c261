import { NetworkSet } from "../../core/network-set.ts";
import type { BodyBudget } from "../../memory/body-budget.ts";
import type { Exchange, Handler, MessageGate, Phase, TrailerGate } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import { PreparedHandler } from "../../message/prepared-handler.ts";
import type { RouteFacts } from "./detectors/path-traversal.ts";
import type { IncidentListener } from "./incident.ts";
import type { LeakPorts } from "./responses/leak-guard.ts";
import { RoutedWafBodyPhase, RoutedWafPhase, RoutedWafTrailerPhase, type RouteFinder } from "./routed-waf.ts";
import type { RuleFirewall } from "./seclang/rule-firewall.ts";
import type { WafConfig } from "./settings.ts";
import { type Firewall, type MakeRules, RouteFirewall, Waf, WafBodyPhase, WafPhase, WafTrailerPhase } from "./waf.ts";

/** Bytes of responses that a worker holds for it at the same time. */
const MAX_HELD_LEAK_BYTES = 16_777_216;

/** The phases of the firewall, each null if it has nothing to do. */
export interface WafPolicy {
  readonly head: Phase | null;
  readonly body: (Phase & MessageGate) | null;
  readonly trailers: (Phase & TrailerGate) | null;
  /** Lets rules look at responses. */
  readonly response: Phase | null;
}

/** Looks at the responses of routes whose firewall does, and wraps no handler elsewhere. docs/waf.md#responses */
export class LeakGuards {
  private readonly ports: Omit<LeakPorts, "room" | "allowedIps">;
  private readonly allowedIps: WafConfig["allowedIps"];
  private services: LeakPorts | null = null;

  constructor(waf: WafConfig, ports: Omit<LeakPorts, "room" | "allowedIps">) {
    this.ports = ports;
    this.allowedIps = waf.allowedIps;
  }

  /** @param waf of the route */
  wrap(handler: Handler, { enabled, mode, responses, disabledRules, exclusions }: WafConfig): Handler {
    if (!enabled || responses === "off") return handler;
    const { LeakPolicy, HeldRoom } = guards();
    const withholds = responses === "enforce" && mode === "enforce";
    this.services ??= {
      ...this.ports,
      room: new HeldRoom(MAX_HELD_LEAK_BYTES),
      allowedIps: new NetworkSet(this.allowedIps),
    };
    const policy = new LeakPolicy({ withholds, disabledRules, exclusions }, this.services);
    return new PreparedHandler(handler, (ex) => policy.watch(ex));
  }
}

/** Loaded where a configuration asks for it. */
function guards(): typeof import("./responses/leak-guard.ts") {
  return require("./responses/leak-guard.ts");
}

/** What the phases need. */
interface WafPorts {
  readonly server: WafConfig;
  /** By the routes' numbers; null if all have the server's. */
  readonly byRoute: readonly WafConfig[] | null;
  readonly routes: RouteFacts;
  readonly finder: RouteFinder;
  readonly listener: IncidentListener;
  readonly clock: NowMs;
  readonly budget: BodyBudget;
}

/** Makes the phases of a server's `waf` and of its routes'. docs/waf.md#at-a-route */
export function buildWafPolicy(ports: WafPorts): WafPolicy {
  const { server, byRoute, routes, listener, clock, budget } = ports;
  if (byRoute !== null) return routedPolicy(ports, byRoute);
  if (!server.enabled) return { head: null, body: null, trailers: null, response: null };
  const own = new Waf(server, new NetworkSet(server.allowedIps), routes, listener, clock, rulesMaker(ports));
  const { head, body, trailers } = phases(own, budget);
  return { head, body, trailers, response: responsePhase([own.rules], () => own.rules) };
}

/** What makes rules is loaded if there are some. */
function rulesMaker({ listener, clock }: WafPorts): MakeRules {
  return (settings, switches) => {
    const { rules } = settings;
    if (rules === undefined || rules.entries.length === 0) return null;
    const { RuleFirewall } = require("./seclang/rule-firewall.ts") as typeof import("./seclang/rule-firewall.ts");
    return new RuleFirewall(rules, { settings, switches, listener, clock });
  };
}

/** Null if no rule looks at responses. */
function responsePhase(
  all: readonly (RuleFirewall | null)[],
  rulesOf: (ex: Exchange) => RuleFirewall | null,
): Phase | null {
  if (!all.some((rules) => rules?.looksAtResponses)) return null;
  const { RuleResponsePhase } = require("./seclang/response-phase.ts") as typeof import("./seclang/response-phase.ts");
  return new RuleResponsePhase(rulesOf);
}

/** What one firewall has: routes with the same settings share it, and all share what is costly. */
interface Phases {
  readonly head: WafPhase;
  readonly body: WafBodyPhase | null;
  readonly trailers: WafTrailerPhase;
  readonly rules: RuleFirewall | null;
}

function routedPolicy(ports: WafPorts, settingsOf: readonly WafConfig[]): WafPolicy {
  const { server: waf, routes, finder, listener, clock, budget } = ports;
  const makeRules = rulesMaker(ports);
  // One for each level, since what an inspector knows of harmless values holds for the rules that it has.
  const bases = new Map<string, Waf>();
  const baseOf = (settings: WafConfig): Waf => {
    const key = JSON.stringify([settings.level, settings.profile]);
    // Rules are those of the firewalls that share it.
    const base =
      bases.get(key) ??
      new Waf({ ...settings, rules: NO_RULES }, new NetworkSet(waf.allowedIps), routes, listener, clock);
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
    const { enabled, mode, level, profile, fields, anomalyThreshold, disabledRules, exclusions, rules, json } =
      settings;
    const own = [enabled, mode, level, profile, fields, anomalyThreshold, disabledRules, exclusions, json];
    const key = JSON.stringify([...own, numberOf(rules)]);
    if (!known.has(key))
      known.set(key, enabled ? phases(new RouteFirewall(baseOf(settings), settings, clock, makeRules), budget) : null);
    return known.get(key)!;
  };
  const server = phasesOf(waf);
  const byRoute = settingsOf.map(phasesOf);
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
