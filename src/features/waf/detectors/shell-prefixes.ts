// What a shell takes in front of a command's name. POSIX.1-2024, Shell Command Language, 2.9 and 2.10.
import { Byte, isDigit, isLowerLetter } from "../../../core/bytes.ts";
import { classEnd, isQuote, isShellSpace, PATH, WORD } from "../match/scan.ts";
import { WordSet } from "../match/word-set.ts";
import { COMMANDS } from "./shell-words.ts";

/** What stands in front of a command. */
export const enum Prefix {
  None = 0,
  /** A reserved word, or a command that takes another one and is a word of prose as well: then, time. */
  Word,
  /** A command that takes another one, such as sudo, with its options; a function's head; a file that is written. */
  Mark,
  /** A variable that is set, as in X=1. */
  Value,
  /** A file that is read: the command needs no argument. */
  Input,
}

const PREFIX_WORDS: readonly (readonly [prefix: Prefix, words: string])[] = [
  [Prefix.Word, "if then elif else while until do time command function coproc for case select"],
  [
    Prefix.Mark,
    "sudo doas env exec nohup nice ionice timeout stdbuf setsid builtin xargs strace ltrace unbuffer watch busybox",
  ],
  [Prefix.Mark, "chroot unshare chrt taskset cpulimit runuser"],
];
const PREFIXES: WordSet = new WordSet(PREFIX_WORDS);

/** The words that stand in front of a command, separated by blanks. */
export const SHELL_PREFIXES: string = PREFIX_WORDS.map(([, words]) => words).join(" ");

/** Reads what stands in front of a command. */
export class PrefixReader {
  /** Where what was read last ends. */
  end = 0;
  /** Whether more than a word was looked at, up to the limit. */
  hasLookedFar = false;

  /**
   * Reads one prefix at `from`, blanks and brackets in front of it included.
   * @param limit where reading ends
   */
  read(bytes: Uint8Array, from: number, limit: number): Prefix {
    const at = behindMarks(bytes, from, limit);
    this.end = at;
    this.hasLookedFar = true;
    const byte = bytes[at]!;
    if (byte === Byte.Less || byte === Byte.Greater || (isDigit(byte) && isArrow(bytes[at + 1]!)))
      return this.readRedirection(bytes, at, limit);
    if (byte === Byte.Slash) return this.readProgram(bytes, at, limit);
    this.hasLookedFar = false;
    if (!isLowerLetter(byte) && byte !== Byte.Underscore) return Prefix.None;
    const to = Math.min(limit, classEnd(bytes, at, WORD));
    this.hasLookedFar = bytes[to] === Byte.Equals || bytes[to] === Byte.OpenParen;
    if (bytes[to] === Byte.Equals) return this.readValue(bytes, to + 1, limit);
    if (bytes[to] === Byte.OpenParen) return this.readHead(bytes, to, limit);
    const kind = PREFIXES.valueOf(bytes, at, to) as Prefix;
    if (kind === Prefix.None || !isShellSpace(bytes[to]!)) return Prefix.None;
    this.hasLookedFar = true;
    this.end = kind === Prefix.Mark ? behindOptions(bytes, to, limit) : behindNames(bytes, at, to, limit);
    return kind;
  }

  /** /usr/bin/env, with its options. */
  private readProgram(bytes: Uint8Array, from: number, limit: number): Prefix {
    let name = from;
    let to = from;
    for (; to < limit && (PATH[bytes[to]!] === 1 || bytes[to] === Byte.Slash); to++)
      if (bytes[to] === Byte.Slash) name = to + 1;
    if (PREFIXES.valueOf(bytes, name, to) !== Prefix.Mark || !isShellSpace(bytes[to]!)) return Prefix.None;
    this.end = behindOptions(bytes, to, limit);
    return Prefix.Mark;
  }

  /** 2>/dev/null, >x: a file right behind the arrow, and a blank behind it. </etc/passwd, and no tag. */
  private readRedirection(bytes: Uint8Array, from: number, limit: number): Prefix {
    const isInput = bytes[from] === Byte.Less;
    let at = isDigit(bytes[from]!) ? from + 1 : from;
    while (at < limit && (isArrow(bytes[at]!) || bytes[at] === Byte.Ampersand || bytes[at] === Byte.Bar)) at++;
    const name = at;
    while (at < limit && (PATH[bytes[at]!] === 1 || bytes[at] === Byte.Slash)) at++;
    if (at === name || !isShellSpace(bytes[at]!)) return Prefix.None;
    this.end = at;
    // <x may be a tag: what is behind it must be more of a command.
    if (isInput) return bytes[name] === Byte.Slash ? Prefix.Input : Prefix.Word;
    return Prefix.Mark;
  }

  /** The value of X=1, X='a b' or X=, and a blank behind it. */
  private readValue(bytes: Uint8Array, from: number, limit: number): Prefix {
    let at = from;
    let quote = 0;
    for (; at < limit && bytes[at] !== Byte.Nul; at++) {
      const byte = bytes[at]!;
      if (quote !== 0) {
        if (byte === quote) quote = 0;
      } else if (isQuote(byte)) quote = byte;
      else if (isShellSpace(byte)) break;
      else if (byte === Byte.Semicolon || byte === Byte.Ampersand || byte === Byte.Less) return Prefix.None;
    }
    if (!isShellSpace(bytes[at]!)) return Prefix.None;
    this.end = at;
    return Prefix.Value;
  }

  /** f(){ and f() { */
  private readHead(bytes: Uint8Array, open: number, limit: number): Prefix {
    if (bytes[open + 1] !== Byte.CloseParen) return Prefix.None;
    let at = open + 2;
    while (at < limit && isShellSpace(bytes[at]!)) at++;
    if (bytes[at] !== Byte.OpenBrace || !isShellSpace(bytes[at + 1]!)) return Prefix.None;
    this.end = at + 1;
    return Prefix.Mark;
  }
}

/** Whether the shell itself is at `from`, by the variable that has its name: $SHELL, "${SHELL}". @returns the offset behind it, -1 if not */
export function shellVariableEnd(bytes: Uint8Array, from: number): number {
  const at = isQuote(bytes[from]!) ? from + 1 : from;
  if (bytes[at] !== Byte.Dollar) return -1;
  const isBraced = bytes[at + 1] === Byte.OpenBrace;
  const name = at + (isBraced ? 2 : 1);
  const to = name + 5;
  if (SHELL.valueOf(bytes, name, to) === 0 || WORD[bytes[to]!] === 1) return -1;
  const end = isBraced ? to + 1 : to;
  return at > from && isQuote(bytes[end]!) ? end + 1 : end;
}

/** Offset after blanks, brackets and `!`. */
function behindMarks(bytes: Uint8Array, from: number, limit: number): number {
  let at = from;
  while (at < limit && (isShellSpace(bytes[at]!) || MARKS.includes(bytes[at]!))) at++;
  return at;
}

/** Offset after options, numbers and variables: `-u root`, `-n 10`, `5`, `X=1`. */
function behindOptions(bytes: Uint8Array, from: number, limit: number): number {
  let at = from;
  let isDue = false;
  for (;;) {
    let next = at;
    while (next < limit && isShellSpace(bytes[next]!)) next++;
    const to = wordTo(bytes, next, limit);
    if (to === next || to >= limit) return at;
    const isOption = bytes[next] === Byte.Dash;
    const isValue = isDigit(bytes[next]!) || bytes.subarray(next, to).includes(Byte.Equals);
    if (
      !isOption &&
      !isValue &&
      !(isDue && COMMANDS.valueOf(bytes, next, to) === 0 && PREFIXES.valueOf(bytes, next, to) === 0)
    )
      return at;
    isDue = isOption && to - next === 2;
    at = to;
  }
}

/** Offset after the names that a reserved word has behind it: `function f {`, `case x in x)`. */
function behindNames(bytes: Uint8Array, from: number, to: number, limit: number): number {
  if (NAMED.valueOf(bytes, from, to) === 0) return to;
  for (let at = to; at < limit && bytes[at] !== Byte.Semicolon && bytes[at] !== Byte.Nul; at++) {
    if (bytes[at] === Byte.OpenBrace || bytes[at] === Byte.CloseParen) return at + 1;
  }
  return to;
}

function wordTo(bytes: Uint8Array, from: number, limit: number): number {
  let at = from;
  while (at < limit && bytes[at]! > Byte.Space && bytes[at] !== Byte.Semicolon && bytes[at] !== Byte.Bar) at++;
  return at;
}

function isArrow(byte: number): boolean {
  return byte === Byte.Less || byte === Byte.Greater;
}

/** ( { ! */
const MARKS: readonly number[] = [Byte.OpenParen, Byte.OpenBrace, Byte.Bang];
const NAMED: WordSet = new WordSet([[1, "function case"]]);
const SHELL: WordSet = new WordSet([[1, "shell"]]);
