import { type PlacedText, refuseText } from "./placed-text.ts";
import { checkMacros } from "./rule-macros.ts";
import { ArgumentKind, OPERATORS, UNSUPPORTED } from "./rule-names.ts";
import type { RuleOperator } from "./rule-set.ts";
import type { ExpressionCheck } from "./rule-variables.ts";

/** What an operator asks its surroundings for. */
export interface OperatorNeeds {
  readonly check: ExpressionCheck;
  /** The lines of a file that are no comments. Throws a RuleError if it cannot be read. */
  lines(name: PlacedText): readonly string[];
}

/** Reads the second argument of a rule: `@rx ^a`, `!@pm a b`, or an expression alone. */
export function readOperator(text: PlacedText, needs: OperatorNeeds): RuleOperator {
  const negated = text.text.startsWith("!");
  const rest = negated ? text.slice(1) : text;
  const isNamed = rest.text.startsWith("@");
  const blank = rest.text.search(/\s/);
  const nameEnd = blank < 0 ? rest.text.length : blank;
  const name = isNamed ? rest.text.slice(1, nameEnd) : "rx";
  const argument = (isNamed ? rest.slice(nameEnd) : rest).trimmed();
  const found = [...OPERATORS].find(([known]) => known.toLowerCase() === name.toLowerCase());
  if (found === undefined) {
    const cure = [...UNSUPPORTED].find(([known]) => known.toLowerCase() === name.toLowerCase());
    refuseText(rest, 0, `the operator @${name} is not supported${cure === undefined ? "" : `: ${cure[1]}`}`);
  }
  const [known, kind] = found;
  const lines = checkArgument(known, kind, argument, needs);
  const literals = kind === ArgumentKind.Expression ? needs.check(argument.text, argument, 0) : null;
  return { name: ALIASES.get(known) ?? known, negated, argument: argument.text, lines, literals };
}

/** Judges an argument. @returns the phrases or networks that it has */
function checkArgument(
  name: string,
  kind: ArgumentKind,
  argument: PlacedText,
  needs: OperatorNeeds,
): readonly string[] {
  const { text } = argument;
  switch (kind) {
    case ArgumentKind.None:
      return [];
    case ArgumentKind.Text:
      checkMacros(argument);
      return [];
    case ArgumentKind.Number:
      checkMacros(argument);
      if (!/^[+-]?\d{1,15}$/.test(text) && !text.includes("%{"))
        refuseText(argument, 0, `@${name} compares with a whole number, such as @${name} 5`);
      return [];
    case ArgumentKind.Expression:
      return [];
    case ArgumentKind.Bytes:
      checkBytes(argument);
      return [];
    case ArgumentKind.Phrases:
      return phrases(argument);
    case ArgumentKind.PhraseFiles:
      return fileLines(name, argument, needs);
    case ArgumentKind.Networks:
      return networks(argument, text.split(","), (one) => text.indexOf(one));
    case ArgumentKind.NetworkFiles:
      return networks(argument, fileLines(name, argument, needs), () => 0);
  }
}

function phrases(argument: PlacedText): readonly string[] {
  const found = argument.text.split(/\s+/).filter((one) => one !== "");
  if (found.length === 0)
    refuseText(argument, 0, "expected phrases with blanks between them, such as @pm select union");
  const bar = argument.text.indexOf("|");
  if (bar >= 0 && /\|[0-9a-f]{2}/i.test(argument.text.slice(bar)))
    refuseText(argument, bar, "bytes in the notation of Snort are not supported: write the phrase, or @rx");
  return found;
}

function fileLines(name: string, argument: PlacedText, needs: OperatorNeeds): readonly string[] {
  const found = [...argument.text.matchAll(/\S+/g)];
  if (found.length === 0) refuseText(argument, 0, `expected the name of a file after @${name}`);
  return found.flatMap((one) => needs.lines(argument.slice(one.index, one.index + one[0].length)));
}

function networks(argument: PlacedText, found: readonly string[], at: (one: string) => number): readonly string[] {
  const all = found.map((one) => one.trim()).filter((one) => one !== "");
  const wrong = all.find(
    (one) => !/^(\d{1,3}(\.\d{1,3}){3}(\/\d{1,2})?|[0-9a-f.]*:[0-9a-f:.]*(\/\d{1,3})?)$/i.test(one),
  );
  if (wrong !== undefined)
    refuseText(argument, at(wrong), `expected networks such as 10.0.0.0/8, found ${JSON.stringify(wrong)}`);
  if (all.length === 0) refuseText(argument, 0, "expected networks such as 10.0.0.0/8, with commas between them");
  return all;
}

function checkBytes(argument: PlacedText): void {
  for (const one of argument.text.matchAll(/[^,]+/g)) {
    const range = /^\s*(\d{1,3})\s*(?:-\s*(\d{1,3})\s*)?$/.exec(one[0]);
    const [from, to] = range === null ? [1, 0] : [Number(range[1]), Number(range[2] ?? range[1])];
    if (from > to || to > 255)
      refuseText(argument, one.index, "expected bytes and ranges of bytes, such as 9,10,13,32-126");
  }
  if (argument.text === "") refuseText(argument, 0, "expected bytes and ranges of bytes, such as 9,10,13,32-126");
}

const ALIASES: ReadonlyMap<string, string> = new Map([
  ["pmFromFile", "pm"],
  ["pmf", "pm"],
  ["ipMatchFromFile", "ipMatch"],
  ["ipMatchF", "ipMatch"],
  ["strmatch", "contains"],
]);
