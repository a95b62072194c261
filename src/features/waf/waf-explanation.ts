import { Fault } from "../../core/fault.ts";
import { Exchange } from "../../message/exchange.ts";
import { IDLE_PORTS } from "../../message/idle-ports.ts";
import { Framing, type RequestHead } from "../../message/request-head.ts";
import { faultOf } from "../../proto/h1/outcome.ts";
import { RequestParser } from "../../proto/h1/request-parser.ts";
import { decodeFully } from "../../proto/target/percent-decoding.ts";
import type { RouteFacts } from "./detectors/path-traversal.ts";
import type { Finding } from "./findings.ts";
import type { WafRule } from "./rule.ts";
import { WafInspector } from "./waf-inspector.ts";
import { isBlocked, type WafSettings } from "./waf-scorer.ts";

/** A request to be explained. */
export interface WafQuestion {
  /** Such as `GET`. */
  readonly method: string;
  /** The raw target; an absolute form names the host where routes have hosts. */
  readonly target: string;
  /** Lines such as `Name: value`. */
  readonly headers: readonly string[];
  /** The decoded body, without any chunk framing; empty where there is none. */
  readonly body: Uint8Array;
}

/** What the WAF would say of a request, and why. */
export interface WafExplanation {
  /** Why the request does not even reach the WAF; Fault.None for most. All else is empty then. */
  readonly fault: Fault;
  /** The texts that the rules on the path look at. */
  readonly candidates: { readonly raw: string; readonly decoded: string };
  /** What of the body was inspected, in bytes: 0 where there is none, or the head blocks. */
  readonly inspectedBodyBytes: number;
  /** The rules that match, in the order of the table, and where. */
  readonly rules: readonly WafRule[];
  readonly findings: readonly Finding[];
  readonly score: number;
  readonly verdict: "refuse" | "block" | "log" | "pass";
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
  let score = inspector.inspect(head);
  let inspectedBodyBytes = 0;
  if (!isBlocked(settings, score)) {
    const maxBytes = settings.maxInspectBodyBytes;
    inspectedBodyBytes = Math.min(question.body.length, maxBytes);
    const end = inspectedBodyBytes;
    if (end > 0)
      score = inspector.inspectBody(head, score, question.body, 0, end, { isJson: false, maxBytes, progress: null });
  }
  const raw = head.path();
  return {
    fault: Fault.None,
    candidates: { raw, decoded: decodeFully(raw).text },
    inspectedBodyBytes,
    rules: findings.rules(),
    findings: [...findings.list],
    score,
    verdict: score === 0 ? "pass" : isBlocked(settings, score) ? "block" : "log",
  };
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
};
