// Requests in the short notation of tests/vectors/waf. A vector is a value of the query parameter `q`, unless words in brackets in
// front say where it is: `[name] value` a parameter, `[target] /a` a raw target, `[?] a=1&b=2` a raw query, `[User-Agent:] value` a
// header, `[method] TRACE` a method, `[cookie] a=1; b=2`, `[form] a=1`, `[json] {"a":1}`, `[xml] <a/>`, `[upload] x.php` the name of a file that is sent,
// `[type] text/plain` the Content-Type of a form.
import { Fault } from "../../../../src/core/fault.ts";
import type { RouteFacts } from "../../../../src/features/waf/detectors/path-traversal.ts";
import type { Finding } from "../../../../src/features/waf/findings.ts";
import type { WafRule } from "../../../../src/features/waf/rule.ts";
import { explainWaf, type WafQuestion } from "../../../../src/features/waf/waf-explanation.ts";
import ruleVectors from "../../../vectors/waf/rules.json";
import { settingsFor } from "./waf-settings.ts";

/** What the WAF finds in one vector. */
export interface VectorResult {
  readonly score: number;
  readonly ids: readonly string[];
  readonly findings: readonly Finding[];
}

/** What a rule matches when there are no routes, and look-alikes that it does not match. */
export interface RuleVectors {
  readonly matches: readonly string[];
  readonly passes: readonly string[];
}

/** The vectors of a rule; of a traversal rule these are targets. */
export function vectorsOf(id: string): RuleVectors {
  const { note: _note, ...rules } = ruleVectors;
  return (rules as Readonly<Record<string, RuleVectors>>)[id] ?? { matches: [], passes: [] };
}

/** A router that knows no route. */
export const NO_ROUTES: RouteFacts = { exactId: () => -1, prefixId: () => -1 };

/** Inspects a request in the short notation, head and body. @param rule decides on the settings: those with which it counts */
export function inspectVector(vector: string, rule: Pick<WafRule, "level" | "needs"> = {}): VectorResult {
  // Nothing blocks on the head alone, so that the body is always looked at.
  const settings = settingsFor(rule);
  const { fault, score, rules, findings } = explainWaf(requestOf(vector), settings, NO_ROUTES);
  if (fault !== Fault.None) throw new Error(`${vector}: not a request (${fault})`);
  return { score, ids: rules.map((rule) => rule.id), findings };
}

/** The request that a vector stands for. */
export function requestOf(vector: string): WafQuestion {
  const [, place = "q", text = ""] = /^(?:\[([^\]\s]+)\] )?(.*)$/s.exec(vector)!;
  const type = place === "type" ? text : TYPES[place];
  if (type !== undefined)
    return { ...PLAIN, method: "POST", headers: [`Content-Type: ${type}`], body: bodyOf(place, text) };
  if (place === "?") return { ...PLAIN, target: `/x?${escaped(text, KEPT_IN_QUERY)}` };
  if (place === "target") return { ...PLAIN, target: text };
  if (place === "method") return { ...PLAIN, method: text };
  if (place === "cookie") return { ...PLAIN, headers: [`Cookie: ${text}`] };
  if (place.endsWith(":")) return { ...PLAIN, headers: [`${place} ${text}`] };
  return { ...PLAIN, target: `/x?${escaped(place, KEPT_IN_VALUE)}=${escaped(text, KEPT_IN_VALUE)}` };
}

function bodyOf(place: string, text: string): Uint8Array {
  if (place === "form") return Buffer.from(escaped(text, KEPT_IN_QUERY), "latin1");
  if (place === "json" || place === "xml") return Buffer.from(text, "utf8");
  if (place === "type") return Buffer.from(text.includes("multipart") ? MULTIPART : "a=1", "latin1");
  return Buffer.from(MULTIPART.replace("NAME", text), "utf8");
}

/** Percent-encodes UTF-8 but for the kept bytes; an escape that is there stays one. */
function escaped(text: string, kept: RegExp): string {
  const bytes = Buffer.from(text, "utf8").toString("latin1");
  return bytes.replace(/%[0-9a-fA-F]{2}|[\s\S]/g, (part) => {
    if (part.length === 3 || kept.test(part)) return part;
    return part === " " ? "+" : `%${part.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}

const KEPT_IN_VALUE = /^[A-Za-z0-9\-._~/:,;()*'!@$?[\]{}|\\^`]$/;
const KEPT_IN_QUERY = /^[A-Za-z0-9\-._~/:,;()*'!@$?[\]{}|\\^`&=+]$/;
const BOUNDARY = "----edge-7d1a";
const MULTIPART = [
  `--${BOUNDARY}`,
  'Content-Disposition: form-data; name="title"',
  "",
  "A title",
  `--${BOUNDARY}`,
  'Content-Disposition: form-data; name="upload"; filename="NAME"',
  "Content-Type: application/octet-stream",
  "",
  "content",
  `--${BOUNDARY}--`,
  "",
].join("\r\n");
const TYPES: Readonly<Record<string, string>> = {
  form: "application/x-www-form-urlencoded",
  json: "application/json",
  xml: "application/xml",
  upload: `multipart/form-data; boundary=${BOUNDARY}`,
};
const PLAIN: WafQuestion = { method: "GET", target: "/x", headers: [], body: new Uint8Array(0) };
