import type { Incident } from "../../memory/incident-ring.ts";
import type { Exchange } from "../../message/exchange.ts";

/** What the WAF reports of a request that scored. docs/waf.md#events */
export interface WafIncident extends Incident {
  /** `blocked` goes out as the event `waf_block`, `logged` as `waf_detect`. */
  readonly action: "blocked" | "logged";
  /** The rule of the OWASP Core Rule Set that finds the same; absent if there is none. */
  readonly crs?: number;
  /** What a rule of `waf.rules` says of itself; absent for others. */
  readonly text?: IncidentRule;
  /** Ids of all rules that matched, if the client is not told them (`reveal_rules: false`). */
  readonly hiddenRules?: readonly string[];
}

/** Texts of a rule in printable ASCII; "" for what it does not say. */
export interface IncidentRule {
  readonly msg: string;
  readonly data: string;
  readonly severity: string;
  readonly tags: readonly string[];
}

/** The part of a request in which a rule matched. */
export type IncidentLocation = "url" | "query" | "header" | "body";

/** `url`, and elsewhere the parameter, field, cookie or member with it: `query id`, `body user.name`. In printable ASCII. */
export function placeText(location: IncidentLocation, param: string): string {
  return param === "" || location === "url" ? location : `${location} ${snippetOf(param, 0)}`;
}

/** A body that was refused because there was more of it than is inspected (`server.waf.over_limit: reject`). */
export interface OverLimit {
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
  readonly clientIp: string;
  readonly method: string;
  /** The raw path, without the query. */
  readonly path: string;
  /** `server.waf.max_inspect_body_size`. */
  readonly maxBytes: number;
}

/** Who wants to know of incidents: the log, the counters, the ring of recent events. */
export interface IncidentListener {
  /** The firewall has read a request; most give nothing to report. */
  onInspected(): void;
  onIncident(incident: WafIncident, ex: Exchange): void;
  /** The inspection of a head or a body was given up for its cost. docs/security.md#the-cost-of-inspection */
  onBudgetExhausted(): void;
  onOverLimit(refusal: OverLimit, ex: Exchange): void;
}

/** Longest snippet in characters. docs/waf.md#events */
export const MAX_SNIPPET_CHARS = 256;
/** Characters shown of what precedes the find. */
const LEAD_CHARS = 64;

/**
 * The part of a text around `at`, cut to MAX_SNIPPET_CHARS, with every byte that is not printable ASCII as `\xNN`.
 * @param text one character a byte
 */
export function snippetOf(text: string, at: number): string {
  const from = text.length <= MAX_SNIPPET_CHARS ? 0 : Math.max(0, at - LEAD_CHARS);
  let out = "";
  for (let i = from; i < text.length; i++) {
    const code = text.charCodeAt(i);
    const isPrintable = code >= 0x20 && code < 0x7f;
    const shown = isPrintable ? text[i]! : `\\x${code.toString(16).padStart(2, "0")}`;
    if (out.length + shown.length > MAX_SNIPPET_CHARS) break;
    out += shown;
  }
  return out;
}
