import { Fault } from "../../core/fault.ts";
import { Exchange } from "../../message/exchange.ts";
import { IDLE_PORTS } from "../../message/idle-ports.ts";
import { Framing, type RequestHead } from "../../message/request-head.ts";
import { faultOf } from "../../proto/h1/outcome.ts";
import { RequestParser } from "../../proto/h1/request-parser.ts";
import type { RuleSet } from "../../proto/seclang/rule-set.ts";
import { decodeFully } from "../../proto/target/percent-decoding.ts";
import type { BodyReading } from "./body/body-reading.ts";
import type { RouteFacts } from "./detectors/path-traversal.ts";
import type { Finding } from "./findings.ts";
import type { IncidentListener, WafIncident } from "./incident.ts";
import type { WafRule } from "./rule.ts";
import type { RuleFirewall } from "./seclang/rule-firewall.ts";
import { switchesOf, WafInspector } from "./waf-inspector.ts";
import { isBlocked, refusesRequest, type WafSettings } from "./waf-scorer.ts";

/** A request to be explained. */
export interface WafQuestion {
  /** Such as `GET`. */
  readonly method: string;
  /** The raw target; an absolute form names the host where routes have hosts. */
  readonly target: string;
  /** Lines such as `Name: value`. */
  readonly headers: readonly string[];
  /** The decoded body, without any chunk framing; empty if there is none. */
  readonly body: Uint8Array;
}

/** What the WAF would say of a request, and why. */
export interface WafExplanation {
  /** Why the request does not even reach the WAF; Fault.None for most. All else is empty then. */
  readonly fault: Fault;
  /** The texts that the rules on the path look at. */
  readonly candidates: { readonly raw: string; readonly decoded: string };
  /** What of the body was inspected, in bytes: 0 if there is none, or the head blocks. */
  readonly inspectedBodyBytes: number;
  /** The rules that match, in the order of the table, and where. */
  readonly rules: readonly WafRule[];
  readonly findings: readonly Finding[];
  readonly score: number;
  readonly verdict: "refuse" | "block" | "log" | "pass";
  /** What a block is answered with; 0 if the connection is cut. */
  readonly status: number;
}

/** A request as a firewall gets it. @returns the exchange, or why the request does not even get there */
export function questionedExchange(question: WafQuestion): Exchange | Fault {
  const ex = new Exchange(IDLE_PORTS);
  const fault = parse(question, ex.request);
  // The body comes beside the head, and has a length.
  if (question.body.length > 0 && !ex.request.hasBody()) {
    ex.request.framing = Framing.Length;
    ex.request.contentLength = question.body.length;
  }
  return fault === Fault.None ? ex : fault;
}

/** Explains a request. It asks nothing of the running gateway but its routes. */
export function explainWaf(question: WafQuestion, settings: WafSettings, routes: RouteFacts): WafExplanation {
  const ex = questionedExchange(question);
  if (!(ex instanceof Exchange)) return { ...NOTHING, fault: ex };
  const head = ex.request;
  const inspector = new WafInspector(
    settings.disabledRules,
    routes,
    settings.exclusions,
    undefined,
    undefined,
    settings,
  );
  const { findings } = inspector;
  const own = OwnRules.of(ex, settings);
  const raw = head.path();
  const candidates = { raw, decoded: decodeFully(raw).text };
  if (own !== null && own.judgeHead() !== Fault.None)
    return { ...NOTHING, ...own.told(), candidates, verdict: "block", status: own.status };
  findings.overrides = ex.rules;
  const skips = (): boolean => ex.rules?.skipsAll === true;
  let score = skips() ? 0 : inspector.inspect(head);
  let inspectedBodyBytes = 0;
  if (!isBlocked(settings, score)) {
    const maxBytes = settings.maxInspectBodyBytes;
    inspectedBodyBytes = Math.min(question.body.length, maxBytes);
    const end = inspectedBodyBytes;
    inspector.body.begin(head.headers, question.body, 0, end, maxBytes);
    if (own !== null && head.hasBody() && own.judgeBody(inspector.body) !== Fault.None)
      return { ...NOTHING, ...own.told(), candidates, inspectedBodyBytes, verdict: "block", status: own.status };
    if (end > 0 && !skips()) score = inspector.inspectBody(head, score);
  }
  const blocks = refusesRequest(settings, findings, score) && ex.rules?.onlyDetects !== true;
  const told = own === null ? { rules: [], findings: [] } : own.told();
  return {
    fault: Fault.None,
    candidates,
    inspectedBodyBytes,
    rules: [...told.rules, ...findings.rules()],
    findings: [...told.findings, ...findings.list],
    score,
    status: 403,
    verdict: findings.list.length === 0 && told.rules.length === 0 ? "pass" : blocks ? "block" : "log",
  };
}

/** What rules of `waf.rules` say of a request. */
class OwnRules implements IncidentListener {
  private readonly ex: Exchange;
  private readonly rules: RuleFirewall;
  private readonly incidents: WafIncident[] = [];
  private fault: Fault = Fault.None;

  /** Null if there are none. */
  static of(ex: Exchange, settings: WafSettings): OwnRules | null {
    const { rules } = settings;
    return rules === undefined || rules.entries.length === 0 ? null : new OwnRules(ex, settings, rules);
  }

  private constructor(ex: Exchange, settings: WafSettings, set: RuleSet) {
    const { RuleFirewall: Rules } =
      require("./seclang/rule-firewall.ts") as typeof import("./seclang/rule-firewall.ts");
    const switches = switchesOf(settings.disabledRules, settings.exclusions, settings);
    this.ex = ex;
    this.rules = new Rules(set, { settings, switches, listener: this, clock: { nowMs: 0 } });
  }

  judgeHead(): Fault {
    this.fault = this.rules.judgeHead(this.ex);
    return this.fault;
  }

  judgeBody(body: BodyReading): Fault {
    this.fault = this.rules.judgeBody(this.ex, body);
    return this.fault;
  }

  /** What the refusal is answered with; 0 if the connection is cut. */
  get status(): number {
    if (this.fault === Fault.RuleDropped) return 0;
    return this.fault === Fault.RuleRefused ? Number.parseInt(this.ex.detail, 10) : 403;
  }

  /** The rules that matched, as those of the firewall itself are shown. */
  told(): Pick<WafExplanation, "rules" | "findings" | "score"> {
    const findings = this.incidents.map(({ ruleId, anomalyScore, text, location, payloadSnippet }): Finding => {
      const [place = "url", ...param] = location.split(" ");
      const description = text?.msg || "rule of waf.rules";
      const rule: WafRule = { id: ruleId, category: "custom", score: anomalyScore, description };
      return {
        rule,
        score: anomalyScore,
        location: place as Finding["location"],
        param: param.join(" "),
        snippet: payloadSnippet,
      };
    });
    const score = findings.reduce((sum, { rule }) => sum + rule.score, 0);
    return { rules: findings.map(({ rule }) => rule), findings, score };
  }

  onInspected(): void {}
  onBudgetExhausted(): void {}
  onOverLimit(): void {}
  onIncident(incident: WafIncident): void {
    this.incidents.push(incident);
  }
}

/** Parses the head. Spaces and line breaks in the parts would make another request of it: that is a fault, too. */
function parse({ method, target, headers }: WafQuestion, head: RequestHead): Fault {
  // HTTP/1.0, since that is complete without a Host field.
  const lines = [`${method} ${target} HTTP/1.0`, ...headers, "", ""];
  const bytes = Buffer.from(lines.join("\r\n"), "utf8");
  head.reset(bytes);
  const parser = new RequestParser(bytes.length);
  parser.begin(0);
  const outcome = parser.parse(bytes, bytes.length, head);
  const isWhole = outcome === bytes.length && head.target() === target && head.methodText() === method;
  if (isWhole && head.headers.count === headers.length) return Fault.None;
  return outcome < -1 ? faultOf(outcome) : Fault.BadRequestLine;
}

const NOTHING: WafExplanation = {
  fault: Fault.None,
  candidates: { raw: "", decoded: "" },
  inspectedBodyBytes: 0,
  rules: [],
  findings: [],
  score: 0,
  verdict: "refuse",
  status: 403,
};
