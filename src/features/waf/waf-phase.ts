import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import type { NowMs } from "../../message/ports.ts";
import type { RouteFacts } from "./dot-segment-judge.ts";
import { type IncidentListener, snippetOf } from "./incident.ts";
import { WafInspector } from "./waf-inspector.ts";
import type { WafRule } from "./waf-rule.ts";

/** What the WAF is told; `server.waf` without what does not concern the path. */
export interface WafSettings {
  readonly mode: "enforce" | "detection";
  /** A request with this score or more is blocked. */
  readonly anomalyThreshold: number;
  /** Ids of rules that stay silent. */
  readonly disabledRules: readonly string[];
}

/** A set of client addresses. */
export interface AddressSet {
  has(address: string): boolean;
}

/**
 * Spec, "Request processing order", step 1: scores the raw target; from the threshold on the request is refused in
 * enforce mode. Every request that scores is reported.
 */
export class WafPhase implements Phase {
  readonly name = "waf";
  private readonly settings: WafSettings;
  private readonly inspector: WafInspector;
  private readonly allowedIps: AddressSet;
  private readonly listener: IncidentListener;
  private readonly clock: NowMs;

  /**
   * @param allowedIps clients that the WAF lets pass
   * @param routes decides on relative paths
   */
  constructor(
    settings: WafSettings,
    allowedIps: AddressSet,
    routes: RouteFacts,
    listener: IncidentListener,
    clock: NowMs,
  ) {
    this.settings = settings;
    this.inspector = new WafInspector(settings.disabledRules, routes);
    this.allowedIps = allowedIps;
    this.listener = listener;
    this.clock = clock;
  }

  run(ex: Exchange): Verdict {
    const score = this.inspector.inspect(ex.request);
    return score === 0 ? Verdict.Next : this.judge(ex, score);
  }

  /** Few requests score, so the client's address is looked up here and not before the inspection. */
  private judge(ex: Exchange, score: number): Verdict {
    if (this.allowedIps.has(ex.clientIp)) return Verdict.Next;
    ex.wafScore = score;
    const blocks = isBlocked(this.settings, score);
    this.report(ex, score, blocks);
    if (!blocks) return Verdict.Next;
    ex.detail = blockBody(score, this.inspector.triggered);
    ex.sink.abort(ex, Fault.WafBlocked);
    return Verdict.Done;
  }

  private report(ex: Exchange, score: number, blocks: boolean): void {
    const head = ex.request;
    const rule = leadingRule(this.inspector.triggered);
    const path = head.target();
    this.listener.onIncident({
      timestampMs: this.clock.nowMs,
      clientIp: ex.clientIp,
      method: head.methodText(),
      path,
      category: rule.category,
      ruleId: rule.id,
      anomalyScore: score,
      action: blocks ? "blocked" : "logged",
      location: "url",
      snippet: snippetOf(path, head.pathFrom - head.targetFrom + this.inspector.foundAt),
    });
  }
}

/** Whether a score leads to a refusal. A request that no rule matches never does. */
export function isBlocked(settings: WafSettings, score: number): boolean {
  return settings.mode === "enforce" && score > 0 && score >= settings.anomalyThreshold;
}

/** The body of a refusal. Spec, "WAF block response body (403)". */
function blockBody(score: number, rules: readonly WafRule[]): string {
  return JSON.stringify({
    error: "403 Forbidden",
    message: "Request blocked by Web Application Firewall",
    threat_score: score,
    triggered_rules: rules.map((rule) => rule.id),
  });
}

/** The rule with the highest score, the first on a tie. */
function leadingRule(rules: readonly WafRule[]): WafRule {
  return rules.reduce((leader, rule) => (rule.score > leader.score ? rule : leader));
}
