import { type PlacedText, refuseText } from "./placed-text.ts";
import { UNSUPPORTED, VARIABLES, VariableKind } from "./rule-names.ts";
import type { RuleTarget } from "./rule-set.ts";

/** The first argument of a rule. */
export interface RuleTargets {
  readonly targets: readonly RuleTarget[];
  readonly excluded: readonly RuleTarget[];
}

/** Checks an expression. @returns texts of which every match has one; null if there are none to go by */
export type ExpressionCheck = (source: string, text: PlacedText, at: number) => readonly string[] | null;

/** Reads variables with `|` between them: `ARGS|!ARGS:q|&REQUEST_COOKIES|TX:/^a/`. */
export function readTargets(text: PlacedText, check: ExpressionCheck): RuleTargets {
  const targets: RuleTarget[] = [];
  const excluded: RuleTarget[] = [];
  for (let at = 0; at <= text.text.length; ) {
    const end = targetEnd(text, at);
    const isExcluded = text.text[at] === "!";
    const isCount = text.text[at] === "&";
    const target = readTarget(text.slice(isExcluded || isCount ? at + 1 : at, end), isCount, check);
    (isExcluded ? excluded : targets).push(target);
    at = end + 1;
  }
  return { targets, excluded };
}

/** Where a variable ends: a `|` in an expression is part of it. */
function targetEnd({ text }: PlacedText, from: number): number {
  const bar = text.indexOf("|", from);
  const end = bar < 0 ? text.length : bar;
  const opening = /^[!&]?\w+:'?\//.exec(text.slice(from, end + 1));
  if (opening === null || /^[!&]?XML:/i.test(text.slice(from))) return end;
  for (let at = from + opening[0].length; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === "/") {
      const next = text[at + 1] === "'" ? at + 2 : at + 1;
      if (next === text.length || text[next] === "|") return next;
    }
  }
  return end;
}

/** Reads one variable with what is chosen of it: `ARGS:q`, `TX:/^a/`, `REQUEST_URI`. */
export function readTarget(text: PlacedText, isCount: boolean, check: ExpressionCheck): RuleTarget {
  const colon = text.text.indexOf(":");
  const name = (colon < 0 ? text.text : text.text.slice(0, colon)).toUpperCase();
  const kind = VARIABLES.get(name);
  if (kind === undefined) {
    const cure = UNSUPPORTED.get(name);
    if (cure !== undefined) refuseText(text, 0, `the variable ${name} is not supported: ${cure}`);
    refuseText(text, 0, name === "" ? "expected a variable, such as ARGS" : `the variable ${name} is not supported`);
  }
  if (colon < 0) return { name, key: "", keyExpression: "", isCount };
  if (kind === VariableKind.Single) refuseText(text, colon, `${name} is one text: nothing can be chosen of it`);
  const selector = text.slice(colon + 1);
  if (selector.text === "") refuseText(text, colon, "expected a name after the colon");
  if (name === "XML") return xmlTarget(selector, isCount);
  const expression = /^'?\/(.*)\/'?$/s.exec(selector.text);
  if (expression !== null) {
    const source = expression[1]!.replaceAll("\\/", "/");
    check(source, selector, selector.text.indexOf("/") + 1);
    return { name, key: "", keyExpression: source, isCount };
  }
  const key = selector.text.replace(/^'(.*)'$/s, "$1").toLowerCase();
  return { name, key, keyExpression: "", isCount };
}

/** Texts or attributes: of the paths of XPath, these two alone. */
function xmlTarget(selector: PlacedText, isCount: boolean): RuleTarget {
  const key = selector.text;
  if (key === "/*" || key === "//@*") return { name: "XML", key, keyExpression: "", isCount };
  return refuseText(selector, 0, "XPath is not supported: write XML:/* for all texts, or XML://@* for all attributes");
}
