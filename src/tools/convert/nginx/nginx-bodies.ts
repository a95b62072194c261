import type { Keys } from "../keys.ts";
import { hasType, type Rule } from "../plan.ts";
import type { Statement } from "../statement.ts";
import type { Scope } from "./nginx-scope.ts";

/** Bytes of a text that edge looks for. */
const MAX_FIND_BYTES = 256;

/** `sub_filter`: other texts in the bodies of responses. docs/body-rewriting.md */
export function bodyTexts(scope: Scope, rule: Rule): void {
  const all = scope.inherited("sub_filter");
  if (all.length === 0 || !(hasType(rule.keys, "upstream") || hasType(rule.keys, "static"))) return;
  const seen = new Set<string>();
  const rules: Keys[] = [];
  for (const one of all) {
    const [find = "", replacement = ""] = one.args;
    const fault = faultOf(find, replacement, seen);
    if (fault === "") {
      rules.push({ find, with: replacement });
      seen.add(find.toLowerCase());
      scope.ledger.carry(one);
    } else scope.ledger.note(one, fault, "write rewrite_body at the route: docs/body-rewriting.md");
  }
  if (rules.length === 0) return;
  const once = scope.one("sub_filter_once");
  scope.ledger.carry(once);
  rule.keys.rewrite_body = {
    rules,
    ...typesOf(scope),
    ignore_case: true,
    ...(once?.args[0] === "off" ? {} : { once: true }),
  };
}

/** `ssi on`: directives of pages. docs/ssi.md */
export function includes(scope: Scope, rule: Rule): void {
  const one = scope.one("ssi");
  if (one?.args[0] !== "on" || !(hasType(rule.keys, "upstream") || hasType(rule.keys, "static"))) return;
  const types = scope.one("ssi_types");
  const isNamed = types !== null && !types.args.includes("*");
  scope.ledger.carry(one);
  if (isNamed) scope.ledger.carry(types);
  rule.keys.ssi = isNamed ? { types: ["text/html", ...types.args.filter((type) => type !== "text/html")] } : true;
}

function faultOf(find: string, replacement: string, seen: ReadonlySet<string>): string {
  if (/[$]/.test(find + replacement)) return "it has variables";
  if (find === "" || Buffer.byteLength(find) > MAX_FIND_BYTES)
    return `edge looks for texts of 1 to ${MAX_FIND_BYTES} bytes`;
  return seen.has(find.toLowerCase()) ? "another one has the same text" : "";
}

function typesOf(scope: Scope): Keys {
  const one: Statement | null = scope.one("sub_filter_types");
  if (one === null) return {};
  if (one.args.includes("*")) {
    scope.ledger.note(one, "types are named: texts of any kind are changed", "add others to rewrite_body.types");
    return { types: ["text/*", "application/json", "application/javascript", "application/xml"] };
  }
  scope.ledger.carry(one);
  return { types: ["text/html", ...one.args.filter((type) => type !== "text/html")] };
}
