import { parseDuration } from "../config/duration.ts";
import { nearestName } from "../config/nearest-name.ts";
import { series } from "../core/number-text.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { HELP_COLUMNS, paragraph, wrapped, wrappedTable } from "./help/wrapped.ts";

type FlagType = "string" | "int" | "float" | "bool" | "duration";

/** One flag of a command. A long flag works with one dash or two, and with its value after `=` or a space. */
export interface FlagSpec {
  /** Without dashes, such as `attack-ratio`. */
  readonly name: string;
  /** A second name, such as `a`. */
  readonly alias?: string;
  readonly type: FlagType;
  /** As it would be typed; a duration such as `5s`. */
  readonly default: string | number | boolean;
  /** One line, in plain words. */
  readonly help: string;
  /** Shown for the value in the help, such as `FILE`. */
  readonly placeholder?: string;
  /** The only words that a string flag takes. */
  readonly choices?: readonly string[];
  /** Bounds of an int or float flag. */
  readonly min?: number;
  readonly max?: number;
}

/** The operands of a command. */
interface OperandSpec {
  /** As help shows them; FILE or LOG among them are names of files. */
  readonly usage: string;
  readonly min: number;
  readonly max: number;
  /** The only words that the first operand may be. */
  readonly words?: readonly string[];
}

/** A command as its help shows it. */
export interface CommandSpec<F extends readonly FlagSpec[]> {
  /** As typed, such as `edge check`. */
  readonly name: string;
  /** Its page in docs, such as `tools.md#purge`. */
  readonly page: string;
  readonly summary: string;
  readonly flags: F;
  /** The operands beside the flags; none when left out. */
  readonly operands?: OperandSpec;
  /** Paragraphs below the flags: examples, exit codes. Lines that begin with two spaces are typed as they are. */
  readonly notes?: readonly string[];
}

/** The values by flag name: durations in milliseconds, every default filled in. */
export type FlagValues<F extends readonly FlagSpec[]> = {
  readonly [S in F[number] as S["name"]]: S["type"] extends "bool"
    ? boolean
    : S["type"] extends "string"
      ? string
      : number;
};

type ParsedFlags<F extends readonly FlagSpec[]> =
  | {
      readonly kind: "run";
      readonly values: FlagValues<F>;
      /** The flags that were typed, by name: each as it was typed, such as `-attack-ratio` or `--a`. */
      readonly given: ReadonlyMap<string, string>;
      readonly operands: readonly string[];
    }
  | { readonly kind: "help" }
  | { readonly kind: "usage"; readonly message: string };

/** Flags and operands of a command that may run. */
export type CommandCall<F extends readonly FlagSpec[]> = Extract<ParsedFlags<F>, { kind: "run" }>;

/**
 * Parses the arguments of a command, and deals with `--help` and wrong usage itself: gives either the call or the code
 * to leave with.
 */
export function startCommand<const F extends readonly FlagSpec[]>(
  command: CommandSpec<F>,
  args: readonly string[],
  io: CommandIo,
): CommandCall<F> | ExitCode {
  const parsed = parseFlags(command, args);
  if (parsed.kind === "run") return parsed;
  if (parsed.kind === "help") {
    io.out(helpText(command));
    return ExitCode.Done;
  }
  io.err(`${command.name}: ${parsed.message}\nTry "${command.name} --help".\n`);
  return ExitCode.Usage;
}

/**
 * Parses the arguments of a command without doing anything about them. The last of a repeated flag wins.
 *
 * `parseArgs` of node:util was tried behind this function, with the same results for 20,000 random lines of arguments; the
 * file had six lines more (183). It reads `-url` as `-u -r -l` and `-5` as a flag, takes `--print` for the value of
 * `--config`, and knows neither types nor near names: what was left to it is the walk over the words.
 */
export function parseFlags<const F extends readonly FlagSpec[]>(
  command: CommandSpec<F>,
  args: readonly string[],
): ParsedFlags<F> {
  const values: Record<string, string | number | boolean> = {};
  for (const flag of command.flags) values[flag.name] = defaultOf(flag);
  const given = new Map<string, string>();
  const operands: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const word = args[i]!;
    if (word === "--") {
      operands.push(...args.slice(i + 1));
      break;
    }
    const parts = FLAG.exec(word);
    if (parts === null) {
      operands.push(word);
      continue;
    }
    const typed = word.split("=")[0]!;
    const flag = findFlag(command.flags, parts[1]!);
    if (flag === undefined) {
      if (parts[1] === "help" || parts[1] === "h") return { kind: "help" };
      return { kind: "usage", message: unknownFlag(typed, parts[1]!, command.flags) };
    }
    let text = parts[2];
    // A switch never takes the next word: `--print FILE` names a file.
    if (text === undefined && flag.type === "bool") text = "true";
    if (text === undefined && i + 1 < args.length && !isFlagWord(args[i + 1]!, command.flags)) text = args[++i];
    if (text === undefined) return { kind: "usage", message: `${typed} needs a value` };
    const value = readValue(flag, text);
    if (value instanceof FlagFault) return { kind: "usage", message: `${typed}: ${value.message}` };
    values[flag.name] = value;
    given.set(flag.name, typed);
  }
  const { min, max, words }: OperandSpec = command.operands ?? { usage: "", min: 0, max: 0 };
  if (operands.length > max) return { kind: "usage", message: `unexpected argument ${JSON.stringify(operands[max])}` };
  if (operands.length < min) return { kind: "usage", message: `missing ${command.operands!.usage}` };
  const [first] = operands;
  if (words !== undefined && first !== undefined && !words.includes(first)) {
    return { kind: "usage", message: `expected ${series(words, "or")}, found ${JSON.stringify(first)}` };
  }
  return { kind: "run", values: values as FlagValues<F>, given, operands };
}

/** Takes a flag that may be repeated out of the arguments: of all others the last wins. @param alias one letter */
export function takeRepeated(
  args: readonly string[],
  name: string,
  alias: string,
): { readonly taken: string[]; readonly others: string[] } {
  const taken: string[] = [];
  const others: string[] = [];
  const typed = new RegExp(`^--?(?:${name}|${alias})(?:=(.*))?$`, "s");
  for (let i = 0; i < args.length; i++) {
    const parts = typed.exec(args[i]!);
    const text = parts?.[1];
    if (parts === null || (text === undefined && i + 1 === args.length)) others.push(args[i]!);
    else taken.push(text ?? args[++i]!);
  }
  return { taken, others };
}

class FlagFault {
  constructor(readonly message: string) {}
}

function defaultOf(flag: FlagSpec): string | number | boolean {
  return flag.type === "duration" ? parseDuration(flag.default as string | number) : flag.default;
}

function findFlag(flags: readonly FlagSpec[], name: string): FlagSpec | undefined {
  return flags.find((flag) => flag.name === name || flag.alias === name);
}

/** So that `--config --print` says that a value is missing; a negative number or an unknown word is a value. */
function isFlagWord(word: string, flags: readonly FlagSpec[]): boolean {
  const parts = FLAG.exec(word);
  return parts !== null && findFlag(flags, parts[1]!) !== undefined;
}

function readValue(flag: FlagSpec, text: string): string | number | boolean | FlagFault {
  const found = `found ${JSON.stringify(text)}`;
  if (flag.type === "bool") {
    if (text === "true" || text === "false") return text === "true";
    return new FlagFault(`expected true or false, ${found}`);
  }
  if (flag.type === "string") {
    if (flag.choices === undefined || flag.choices.includes(text)) return text;
    const meant = nearestName(text, flag.choices);
    const cure = meant === "" ? "" : ` (did you mean ${meant}?)`;
    return new FlagFault(`expected one of ${flag.choices.join(", ")}, ${found}${cure}`);
  }
  if (flag.type === "duration") {
    const ms = parseDuration(text);
    return ms >= 0 ? ms : new FlagFault(`expected a duration such as 500ms, 60s or 1m30s, ${found}`);
  }
  const isNumber = flag.type === "int" ? /^[+-]?\d+$/.test(text) : /^[+-]?(\d+(\.\d*)?|\.\d+)$/.test(text);
  const what = flag.type === "int" ? "a whole number" : "a number";
  const number = isNumber ? Number(text) : Number.NaN;
  const { min = -Number.MAX_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER } = flag;
  return number >= min && number <= max ? number : new FlagFault(`expected ${what}${bounds(flag)}, ${found}`);
}

function bounds(flag: FlagSpec): string {
  if (flag.min !== undefined && flag.max !== undefined) return ` from ${flag.min} to ${flag.max}`;
  if (flag.min !== undefined) return ` of at least ${flag.min}`;
  return flag.max === undefined ? "" : ` of at most ${flag.max}`;
}

function unknownFlag(typed: string, name: string, flags: readonly FlagSpec[]): string {
  const meant = nearestName(name, [...flags.map((flag) => flag.name), "help"]);
  return `unknown flag ${typed}${meant === "" ? "" : ` (did you mean ${dashed(meant)}?)`}`;
}

const USAGE = "Usage: ";

/** `-x`, `--name`, `--name=value`; a lone `-` and negative numbers are operands or values. */
const FLAG = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s;

/** The help of a command: its purpose, its usage, each flag with its default. Lines fit {@link HELP_COLUMNS}. */
function helpText(command: CommandSpec<readonly FlagSpec[]>): string {
  const usage = wrapped(usageOf(command), HELP_COLUMNS - USAGE.length).join(`\n${" ".repeat(USAGE.length)}`);
  const notes = (command.notes ?? []).map((line) => (line.startsWith(" ") ? line : paragraph(line)));
  const parts = [paragraph(command.summary), USAGE + usage, `Flags:\n${wrappedTable(flagRows(command)).trimEnd()}`];
  if (notes.length > 0) parts.push(notes.join("\n"));
  return `${[...parts, `More: docs/${command.page}`].join("\n\n")}\n`;
}

/** How a command is called, in one line. */
export function usageOf({ name, operands }: CommandSpec<readonly FlagSpec[]>): string {
  return `${name} [flags]${operands === undefined ? "" : ` ${operands.usage}`}`;
}

/** Each flag of a command, `--help` last: its spelling, its purpose and its default. */
export function flagRows(command: CommandSpec<readonly FlagSpec[]>): (readonly [typed: string, help: string])[] {
  const rows = command.flags.map((flag) => [heading(flag), `${flag.help}${defaultNote(flag)}`] as const);
  return [...rows, ["-h, --help", "show this text"]];
}

/** A flag's name as help and messages show it: one dash before a letter, two before a word. */
export function dashed(name: string): string {
  return name.length === 1 ? `-${name}` : `--${name}`;
}

function heading(flag: FlagSpec): string {
  const value = flag.type === "bool" ? "" : ` ${flag.placeholder ?? PLACEHOLDERS[flag.type]}`;
  const names = flag.alias === undefined ? [flag.name] : [flag.name, flag.alias].sort((a, b) => a.length - b.length);
  return names.map(dashed).join(", ") + value;
}

function defaultNote(flag: FlagSpec): string {
  return flag.default === "" || flag.default === false ? "" : ` (default ${flag.default})`;
}

const PLACEHOLDERS = { string: "TEXT", int: "N", float: "X", duration: "TIME" } as const;
