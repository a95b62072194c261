import { Fault } from "../../core/fault.ts";
import { RequestHead } from "../../message/request-head.ts";
import { faultOf } from "../../proto/h1/outcome.ts";
import { RequestParser } from "../../proto/h1/request-parser.ts";
import { decodeFully } from "../../proto/target/percent-decoding.ts";
import type { RouteFacts } from "./dot-segment-judge.ts";
import { WafInspector } from "./waf-inspector.ts";
import { isBlocked, type WafSettings } from "./waf-phase.ts";
import type { WafRule } from "./waf-rule.ts";

/** What the WAF would say of a request, and why. */
export interface WafExplanation {
  /** Why the request does not even reach the WAF; Fault.None for most. All else is empty then. */
  readonly fault: Fault;
  /** The texts that the rules look at. */
  readonly candidates: { readonly raw: string; readonly decoded: string };
  /** The rules that match, in the order of the table. */
  readonly rules: readonly WafRule[];
  readonly score: number;
  readonly verdict: "refuse" | "block" | "log" | "pass";
}

/**
 * Explains a request line. It asks nothing of the running gateway but its routes.
 * @param method such as `GET`
 * @param target the raw target; an absolute form names the host where routes have hosts
 */
export function explainWaf(method: string, target: string, settings: WafSettings, routes: RouteFacts): WafExplanation {
  // HTTP/1.0, since that is complete without a Host field.
  const bytes = Buffer.from(`${method} ${target} HTTP/1.0\r\n\r\n`, "utf8");
  const head = new RequestHead();
  head.reset(bytes);
  const parser = new RequestParser(bytes.length);
  parser.begin(0);
  const outcome = parser.parse(bytes, bytes.length, head);
  // Spaces and line breaks in the arguments would make another request of it.
  if (outcome !== bytes.length || head.target() !== target || head.methodText() !== method) {
    const fault = outcome < -1 ? faultOf(outcome) : Fault.BadRequestLine;
    return { fault, candidates: { raw: "", decoded: "" }, rules: [], score: 0, verdict: "refuse" };
  }
  const inspector = new WafInspector(settings.disabledRules, routes);
  const score = inspector.inspect(head);
  const raw = head.path();
  const verdict = score === 0 ? "pass" : isBlocked(settings, score) ? "block" : "log";
  const candidates = { raw, decoded: decodeFully(raw).text };
  return { fault: Fault.None, candidates, rules: [...inspector.triggered], score, verdict };
}
