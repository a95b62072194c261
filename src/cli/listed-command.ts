import type { CommandSpec, FlagSpec } from "./flags.ts";

export type ListedSpec = CommandSpec<readonly FlagSpec[]>;

/** A command of the list of `edge help`. */
export interface ListedCommand {
  /** As typed after `edge`. */
  readonly name: string;
  /** One line. */
  readonly summary: string;
  /** As its help shows it; more than one where the command has words below it, such as `edge waf test`. */
  readonly specs: readonly ListedSpec[];
}

/** What a flag or an operand may be. */
export type CommandValues =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "files" | "folders" | "text" | "none" };

/** The words that lead to one of a command's specs, without `edge`: `["waf", "test"]`. Another name has them of its own. */
export function commandWords({ name }: ListedCommand, entry: ListedSpec): readonly string[] {
  return [name, ...entry.name.split(" ").slice(2)];
}

/** What a flag takes; "none" is a switch. */
export function choicesOf({ type, choices, placeholder = "" }: FlagSpec): CommandValues {
  if (type === "bool") return { kind: "none" };
  if (choices !== undefined) return { kind: "words", words: choices };
  return { kind: FILES.test(placeholder) ? "files" : FOLDERS.test(placeholder) ? "folders" : "text" };
}

/** What operands a command takes: the first, which may be of other kind, and those after it. */
export function operandsOf({ operands }: ListedSpec): {
  readonly first: CommandValues;
  readonly others: CommandValues;
} {
  if (operands === undefined) return { first: { kind: "none" }, others: { kind: "none" } };
  const others: CommandValues = { kind: FILES.test(operands.usage) ? "files" : "text" };
  return { first: operands.words === undefined ? others : { kind: "words", words: operands.words }, others };
}

/** Placeholders that are names of files and of folders. */
const FILES = /\b(FILE|PATH|LOG)\b/;
const FOLDERS = /\b(DIR|FOLDER)\b/;
