import { Fault } from "../../../core/fault.ts";
import { errorBody } from "../../../core/status.ts";
import type { Exchange } from "../../../message/exchange.ts";
import type { NowMs } from "../../../message/ports.ts";
import type { RuleSet } from "../../../proto/seclang/rule-set.ts";
import type { BodyReading } from "../body/body-reading.ts";
import { BUDGET_EXHAUSTED } from "../detectors/protocol-abuse.ts";
import { type IncidentListener, placeText, snippetOf } from "../incident.ts";
import type { WafRule } from "../rule.ts";
import type { RuleSwitches } from "../rule-switches.ts";
import { isBlocked, type WafSettings } from "../waf-scorer.ts";
import { type CompiledRules, compileRules } from "./compiled-rules.ts";
import { RequestFacts } from "./request-facts.ts";
import { type PhaseResult, runPhase } from "./rule-engine.ts";
import { type RuleMatch, RuleTransaction } from "./rule-transaction.ts";

/** Matches of one request that are logged. */
const MAX_RULE_MATCHES = 16;
/** Characters of a message or of data that a match is logged with. */
const MAX_RULE_TEXT_CHARS = 512;

/** What the rules of a file are asked with. */
interface RuleFirewallPorts {
  readonly settings: WafSettings;
  readonly switches: RuleSwitches;
  readonly listener: IncidentListener;
  readonly clock: NowMs;
}

/**
 * The rules of `waf.rules`: asked before the firewall's own, at the head, at the body, and at the head of the response.
 * docs/waf.md#rules-of-your-own
 */
export class RuleFirewall {
  private readonly compiled: CompiledRules;
  private readonly parts: RuleFirewallPorts;

  constructor(set: RuleSet, parts: RuleFirewallPorts) {
    this.compiled = compileRules(set, new Set(parts.settings.disabledRules));
    this.parts = parts;
  }

  /** Whether there are rules that look at responses. */
  get looksAtResponses(): boolean {
    return this.compiled.phases.slice(RESPONSE_HEAD).some((phase) => phase.length > 0);
  }

  /** A request has come. Those without a body are judged whole. @returns Fault.None if it may go on */
  judgeHead(ex: Exchange): Fault {
    const { compiled, parts } = this;
    const isTrial = parts.settings.mode === "detection" && compiled.engine === "on";
    const transaction = new RuleTransaction(new RequestFacts(ex), isTrial ? "detection" : compiled.engine);
    ex.rules = transaction;
    const fault = this.run(ex, transaction, REQUEST_HEAD);
    transaction.endHead();
    if (fault !== Fault.None || ex.request.hasBody()) return fault;
    transaction.beginBody();
    return this.run(ex, transaction, REQUEST_BODY);
  }

  /** The beginning of a body has come, or a message of a stream. @param body null if it is not looked at
   * @param isJson whether the route takes every body for JSON. @returns Fault.None if it may go on */
  judgeBody(ex: Exchange, body: BodyReading | null = null, isJson = false): Fault {
    const transaction = transactionOf(ex);
    if (transaction === null) return Fault.None;
    transaction.beginBody();
    const { processor } = transaction;
    if (body !== null && this.compiled.readsBodies) transaction.facts.takeBody(body, { isJson, processor });
    return this.run(ex, transaction, REQUEST_BODY);
  }

  /** A response's head is in `ex.response`. @returns Fault.None if it may go on */
  judgeResponse(ex: Exchange): Fault {
    const transaction = transactionOf(ex);
    if (transaction === null) return Fault.None;
    const fault = this.run(ex, transaction, RESPONSE_HEAD);
    return fault === Fault.None ? this.run(ex, transaction, RESPONSE_BODY) : fault;
  }

  private run(ex: Exchange, transaction: RuleTransaction, phase: number): Fault {
    const entries = this.compiled.phases[phase]!;
    if (entries.length === 0 || transaction.skipsAll) return Fault.None;
    const { switches } = this.parts;
    switches.begin();
    const result = runPhase(entries, transaction, (id, name) => switches.excludes(id, ex.request, name));
    if (result.ending === null && result.isSpent) return this.giveUp(ex, transaction);
    return this.decide(ex, transaction, result);
  }

  private decide(ex: Exchange, transaction: RuleTransaction, { ending, matches }: PhaseResult): Fault {
    for (const match of matches) {
      if (match === ending?.match || transaction.told.has(match.rule)) continue;
      if (transaction.told.size >= MAX_RULE_MATCHES) break;
      transaction.told.add(match.rule);
      this.report(ex, transaction, match, false);
    }
    if (ending === null) return Fault.None;
    const { match, redirect } = ending;
    const { rule } = match;
    ex.wafScore = pointsOf(match);
    this.report(ex, transaction, match, true);
    if (rule.disruptive === "drop") return Fault.RuleDropped;
    const isRedirect = rule.disruptive === "redirect";
    const body = this.bodyOf(match);
    if (rule.status === 403 && !isRedirect) {
      ex.detail = body;
      return Fault.WafBlocked;
    }
    ex.detail = `${rule.status}\n${isRedirect ? locationOf(redirect) : ""}\n${body}`;
    return Fault.RuleRefused;
  }

  /** Not all rules could be asked. */
  private giveUp(ex: Exchange, transaction: RuleTransaction): Fault {
    const { settings, switches, listener } = this.parts;
    listener.onBudgetExhausted();
    if (switches.isOff(BUDGET_EXHAUSTED, ex.request, null)) return Fault.None;
    const { score } = BUDGET_EXHAUSTED;
    ex.wafScore = score;
    const blocks = isBlocked(settings, score) && !transaction.onlyDetects;
    this.tell(ex, {
      rule: BUDGET_EXHAUSTED,
      score,
      blocks,
      location: "url",
      snippet: snippetOf(ex.request.targetBeforeQuery(), 0),
    });
    if (!blocks) return Fault.None;
    ex.detail = JSON.stringify({
      ...errorBody(403, MESSAGE),
      ...(settings.revealRules ? { threat_score: score, triggered_rules: [BUDGET_EXHAUSTED.id] } : {}),
    });
    return Fault.WafBlocked;
  }

  private bodyOf(match: RuleMatch): string {
    const { rule } = match;
    // RFC 9110 §15.3.5, §15.4.5: these have no content.
    if (rule.status === 204 || rule.status === 304) return "";
    const told = { threat_score: pointsOf(match), triggered_rules: [String(rule.id)] };
    return JSON.stringify({ ...errorBody(rule.status, MESSAGE), ...(this.parts.settings.revealRules ? told : {}) });
  }

  private report(ex: Exchange, transaction: RuleTransaction, match: RuleMatch, blocks: boolean): void {
    const { rule, msg, logdata } = match;
    const snippet = snippetOf(match.name === "" ? match.value : `${match.name}=${match.value}`, 0);
    const text = {
      msg: ruleText(msg),
      data: ruleText(logdata),
      severity: SEVERITIES[rule.severity] ?? "",
      tags: rule.tags.map(ruleText),
    };
    const location = locationText(transaction, match);
    const score = pointsOf(match);
    this.tell(ex, { rule: { id: String(rule.id), category: "custom" }, score, blocks, location, snippet, text });
  }

  private tell(ex: Exchange, told: Told): void {
    const { listener, clock, settings } = this.parts;
    const { request } = ex;
    const { rule, score, blocks, location, snippet, text } = told;
    listener.onIncident(
      {
        timestampMs: clock.nowMs,
        clientIp: ex.clientIp,
        method: request.methodText(),
        path: request.targetBeforeQuery(),
        category: rule.category,
        ruleId: rule.id,
        anomalyScore: score,
        action: blocks ? "blocked" : "logged",
        location,
        payloadSnippet: snippet,
        ...(text === undefined ? {} : { text }),
        ...(settings.revealRules ? {} : { hiddenRules: [rule.id] }),
      },
      ex,
    );
  }
}

interface Told {
  readonly rule: Pick<WafRule, "id" | "category">;
  readonly score: number;
  readonly blocks: boolean;
  readonly location: string;
  readonly snippet: string;
  readonly text?: {
    readonly msg: string;
    readonly data: string;
    readonly severity: string;
    readonly tags: readonly string[];
  };
}

/** What rules know of an exchange; null if they were not asked at its head. */
export function transactionOf(ex: Exchange): RuleTransaction | null {
  return ex.rules instanceof RuleTransaction ? ex.rules : null;
}

/** Points of a rule that ends a request, by its severity; 0 for one that lets it pass. */
function pointsOf({ rule }: RuleMatch): number {
  if (rule.disruptive === "pass" || rule.disruptive.startsWith("allow")) return 0;
  return POINTS[rule.severity] ?? 5;
}

/** As in lines of the firewall's own rules: `query id`, `header user-agent`, `body user.name`. */
function locationText({ facts }: RuleTransaction, { variable, name }: RuleMatch): string {
  const [collection = ""] = variable.split(":");
  if (collection.startsWith("RESPONSE_")) return "response";
  const param = name.replace(/^json\./, "").toLowerCase();
  if (/^(REQUEST_HEADERS|REQUEST_COOKIES)/.test(collection)) return placeText("header", param);
  if (/^(ARGS_POST|FILES|XML|REQUEST_BODY|REQBODY)/.test(collection)) return placeText("body", param);
  if (!/^(ARGS|QUERY_STRING)/.test(collection)) return "url";
  const isInBody = collection !== "ARGS_GET" && facts.valuesOf("ARGS_POST").some((one) => one.name === name);
  return placeText(isInBody && name !== "" ? "body" : "query", param);
}

/** Where a redirect leads, with what values of the request may have brought in made harmless. RFC 3986 §2.1 */
function locationOf(text: string): string {
  // Two slashes would be another host.
  return text
    .replace(/^[/\\]+/, "/")
    .replace(/[^!-~]/g, (character) => `%${character.charCodeAt(0).toString(16).padStart(2, "0")}`);
}

function ruleText(text: string): string {
  return snippetOf(text.slice(0, MAX_RULE_TEXT_CHARS), 0);
}

const REQUEST_HEAD = 1;
const REQUEST_BODY = 2;
const RESPONSE_HEAD = 3;
const RESPONSE_BODY = 4;
const MESSAGE = "Request blocked by Web Application Firewall";
const SEVERITIES: readonly string[] = ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];
const POINTS: readonly number[] = [5, 5, 5, 4, 3, 2, 2, 2];
