import { type PlacedText, refuseText } from "./placed-text.ts";
import { UNSUPPORTED, VARIABLES, VariableKind } from "./rule-names.ts";

/** A part of a text with macros: characters, or a variable that they are taken of. */
type MacroPart = string | { readonly name: string; readonly key: string };

/** Takes a text apart at its macros, `%{tx.score}` or `%{REQUEST_METHOD}`. What is none stays as it is written. */
export function macroParts(text: string): readonly MacroPart[] {
  const parts: MacroPart[] = [];
  let end = 0;
  for (const match of text.matchAll(MACRO)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push({ name: match[1]!.toUpperCase(), key: (match[2] ?? "").toLowerCase() });
    end = match.index + match[0].length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

/** Refuses macros of what there is not. */
export function checkMacros(text: PlacedText): void {
  for (const match of text.text.matchAll(MACRO)) {
    const name = match[1]!.toUpperCase();
    const isRule = name === "RULE" && RULE_PARTS.has((match[2] ?? "").toLowerCase());
    const kind = VARIABLES.get(name);
    if (isRule) continue;
    if (kind === undefined) {
      const cure = UNSUPPORTED.get(name);
      refuseText(text, match.index, `the macro ${match[0]} is not supported${cure === undefined ? "" : `: ${cure}`}`);
    }
    if (kind === VariableKind.Map && match[2] === undefined)
      refuseText(text, match.index, `${name} has many values: name one, such as %{${name}.x}`);
  }
}

const MACRO = /%\{(\w+)(?:[.:]([^{}]*))?\}/g;
const RULE_PARTS: ReadonlySet<string> = new Set(["id", "msg", "severity", "rev", "ver"]);
