import { trimmed } from "../../core/trimming.ts";
import { counterpartsOf } from "./rule.ts";
import { WAF_RULES } from "./rule-table.ts";

/** What lists of rules that are removed from the Core Rule Set come to. */
interface ImportedExclusions {
  /** Numbers, and what of ours has them for a counterpart. */
  readonly disabled: readonly (readonly [number: string, ids: readonly string[]])[];
  readonly exclusions: readonly { readonly rule: string; readonly param: string }[];
  /** Numbers without a counterpart, and lines that say something else, with their places: `12: SecRuleRemoveByTag …`. */
  readonly unknown: readonly string[];
  readonly ignored: readonly string[];
}

/**
 * Reads the directives `SecRuleRemoveById` and `SecRuleUpdateTargetById … "!ARGS:name"` of a file of ModSecurity or Coraza.
 * docs/waf.md#from-the-core-rule-set
 */
export function importCrsExclusions(text: string): ImportedExclusions {
  const disabled = new Map<string, readonly string[]>();
  const exclusions: { rule: string; param: string }[] = [];
  const unknown = new Set<string>();
  const ignored: string[] = [];
  const lines = text.replaceAll("\\\n", " ").split("\n");
  for (const [index, line] of lines.entries()) {
    const [directive = "", ...words] = line.trim().split(/\s+/);
    const operands = words.map((word) => trimmed(word, "\"'")).filter((word) => word !== "");
    if (directive === "" || directive.startsWith("#")) continue;
    if (/^SecRuleRemoveById$/i.test(directive)) {
      for (const number of operands.flatMap(numbersOf)) {
        const ids = counterpartsOf(number, WAF_RULES);
        if (ids.length > 0) disabled.set(number, ids);
        else unknown.add(number);
      }
      continue;
    }
    const params = /^SecRuleUpdateTargetById$/i.test(directive) ? (operands[1] ?? "").split(/[,|]/).map(paramOf) : [""];
    if (params.includes("")) {
      ignored.push(`${index + 1}: ${line.trim().slice(0, MAX_SHOWN)}`);
      continue;
    }
    for (const number of numbersOf(operands[0] ?? "")) {
      if (!WAF_RULES.some(({ crs }) => crs?.includes(Number(number)))) unknown.add(number);
      else exclusions.push(...params.map((param) => ({ rule: number, param })));
    }
  }
  return { disabled: [...disabled], exclusions, unknown: [...unknown], ignored };
}

/** A number, or of a range all that have a counterpart. */
function numbersOf(operand: string): string[] {
  const [, from, to] = /^(\d{1,9})(?:-(\d{1,9}))?$/.exec(operand) ?? [];
  if (from === undefined) return operand === "" ? [] : [operand];
  if (to === undefined) return [from];
  const known = new Set(WAF_RULES.flatMap(({ crs }) => crs ?? []));
  const inside = [...known].filter((number) => number >= Number(from) && number <= Number(to));
  return inside.length === 0 ? [operand] : inside.sort((a, b) => a - b).map(String);
}

/** The name of a parameter or a cookie that is removed; "" for anything else. */
function paramOf(target: string): string {
  const [, name = ""] =
    /^!(?:ARGS|ARGS_GET|ARGS_POST|ARGS_NAMES|REQUEST_COOKIES|REQUEST_HEADERS):([\w.[\]$@-]{1,128})$/i.exec(target) ??
    [];
  return name;
}

const MAX_SHOWN = 120;
