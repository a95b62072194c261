import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import type { RuleSet } from "../../proto/seclang/rule-set.ts";
import type { Findings } from "./findings.ts";
import { type IncidentListener, placeText } from "./incident.ts";
import type { Sharpness, WafRule } from "./rule.ts";
import type { RuleExclusion } from "./rule-switches.ts";

/** What the WAF is told: `server.waf`. */
export interface WafSettings extends Sharpness {
  readonly mode: "enforce" | "detection";
  /** A request with this score or more is blocked. */
  readonly anomalyThreshold: number;
  /** First bytes of a body that are inspected; 0 leaves bodies alone. */
  readonly maxInspectBodyBytes: number;
  /** What is done with a body of which more came than that: `inspect` its beginning, or `reject` it. */
  readonly overLimit: "inspect" | "reject";
  /** Ids of rules that stay silent. */
  readonly disabledRules: readonly string[];
  readonly exclusions: readonly RuleExclusion[];
  /** Rules of the operator's own. `waf.rules` */
  readonly rules?: RuleSet;
  /** Whether a refused client is told score and rules. */
  readonly revealRules: boolean;
}

/** A set of client addresses. */
export interface AddressSet {
  has(address: string): boolean;
}

/** Reports what was found in a request, and refuses it where it scores too much. */
export class WafScorer {
  private readonly settings: WafSettings;
  private readonly listener: IncidentListener;
  private readonly clock: NowMs;

  constructor(settings: WafSettings, listener: IncidentListener, clock: NowMs) {
    this.settings = settings;
    this.listener = listener;
    this.clock = clock;
  }

  /**
   * Decides on a request that scored.
   * @returns whether it may go on; otherwise it has been refused
   */
  passes(ex: Exchange, findings: Findings): boolean {
    const fault = this.decide(ex, findings, findings.score);
    if (fault === Fault.None) return true;
    ex.sink.abort(ex, fault);
    return false;
  }

  /**
   * Scores and reports a request that scored, and leaves it to the caller to refuse it.
   * @param score of what was found and of what had been found before
   * @returns Fault.None if it may go on
   */
  decide(ex: Exchange, findings: Findings, score: number): Fault {
    ex.wafScore = score;
    const blocks = refusesRequest(this.settings, findings, score) && ex.rules?.onlyDetects !== true;
    this.report(ex, findings, blocks);
    if (!blocks) return Fault.None;
    ex.detail = this.settings.revealRules ? blockBody(score, findings.rules()) : SILENT_BODY;
    return Fault.WafBlocked;
  }

  /** Reports a body that is refused because not all of it would be inspected. @returns the fault */
  refuseOverLimit(ex: Exchange): Fault {
    this.listener.onOverLimit(
      {
        timestampMs: this.clock.nowMs,
        clientIp: ex.clientIp,
        method: ex.request.methodText(),
        path: ex.request.path(),
        maxBytes: this.settings.maxInspectBodyBytes,
      },
      ex,
    );
    return Fault.BodyNotInspected;
  }

  private report(ex: Exchange, findings: Findings, blocks: boolean): void {
    const head = ex.request;
    const { rule, location, param, snippet } = findings.leader()!;
    this.listener.onIncident(
      {
        timestampMs: this.clock.nowMs,
        clientIp: ex.clientIp,
        method: head.methodText(),
        path: head.targetBeforeQuery(),
        category: rule.category,
        ruleId: rule.id,
        anomalyScore: ex.wafScore,
        action: blocks ? "blocked" : "logged",
        location: placeText(location, param),
        payloadSnippet: snippet,
        ...(rule.crs === undefined ? {} : { crs: rule.crs[0]! }),
        ...(this.settings.revealRules ? {} : { hiddenRules: findings.rules().map(({ id }) => id) }),
      },
      ex,
    );
  }
}

/** Whether a request is refused for what was found in it, or for its score. */
export function refusesRequest(settings: WafSettings, { refuses }: Pick<Findings, "refuses">, score: number): boolean {
  return (settings.mode === "enforce" && refuses) || isBlocked(settings, score);
}

/** Whether a score leads to a refusal. A request that no rule matches never does. */
export function isBlocked(settings: WafSettings, score: number): boolean {
  return settings.mode === "enforce" && score > 0 && score >= settings.anomalyThreshold;
}

const REFUSAL = { error: "403 Forbidden", message: "Request blocked by Web Application Firewall" };
const SILENT_BODY: string = JSON.stringify(REFUSAL);

/** The body of a refusal. docs/waf.md#the-response */
function blockBody(score: number, rules: readonly WafRule[]): string {
  return JSON.stringify({
    ...REFUSAL,
    threat_score: score,
    triggered_rules: rules.map((rule) => rule.id),
  });
}
