// What a shell takes in front of a command's name. POSIX.1-2024, Shell Command Language, 2.9 and 2.10.
import { Byte, isDigit, isLowerLetter } from "../../../core/bytes.ts";
import { classEnd, FILE_NAME, isQuote, isShellSpace, PATH, WORD } from "../match/scan.ts";
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
  [Prefix.Word, "if then elif else while until do time command function coproc for case select trap parallel"],
  [
    Prefix.Mark,
    "sudo doas env exec nohup nice ionice timeout stdbuf setsid builtin xargs strace ltrace unbuffer watch busybox",
  ],
  [Prefix.Mark, "chroot unshare nsenter chrt taskset cpulimit prlimit runuser runcon setpriv capsh pkexec gosu toybox"],
  [Prefix.Mark, "fakeroot proot rlwrap valgrind numactl catchsegv setarch linux32 linux64 eatmydata firejail"],
  [Prefix.Mark, "systemd-run dbus-run-session start-stop-daemon script flock su sshpass torsocks proxychains"],
];
const PREFIXES: WordSet = new WordSet(PREFIX_WORDS);
/** Those that have another word of their own in front of the command: `chroot / id`, `su root -c id`. */
const WITH_OPERAND: WordSet = new WordSet([[1, "chroot flock setarch su runcon"]]);

/** The words that stand in front of a command, separated by blanks. */
export const SHELL_PREFIXES: string = PREFIX_WORDS.map(([, words]) => words).join(" ");

/** Reads what stands in front of a command. */
export class PrefixReader {
  /** Where what was read last ends. */
  end = 0;
  /** Whether the detector has read more than a word, up to the limit. */
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
    if (byte === Byte.Backslash || isQuote(byte)) return this.readWord(bytes, at, limit);
    if (!isLowerLetter(byte) && byte !== Byte.Underscore) return Prefix.None;
    const to = Math.min(limit, classEnd(bytes, at, WORD));
    const equals = bytes[to] === Byte.Plus ? to + 1 : to;
    this.hasLookedFar = bytes[equals] === Byte.Equals || bytes[to] === Byte.OpenParen;
    if (bytes[equals] === Byte.Equals) return this.readValue(bytes, equals + 1, limit);
    if (bytes[to] === Byte.OpenParen) return this.readHead(bytes, to, limit);
    return this.readWord(bytes, at, limit);
  }

  /** sudo -u root, \sudo, 'sudo': the word, and what it takes in front of a command. */
  private readWord(bytes: Uint8Array, from: number, limit: number): Prefix {
    let length = 0;
    let to = from;
    for (; to < limit && length < word.length; to++) {
      if (FILE_NAME[bytes[to]!] === 1) word[length++] = bytes[to]!;
      else if (bytes[to] !== Byte.Backslash && !isQuote(bytes[to]!)) break;
    }
    const kind = PREFIXES.valueOf(word, 0, length) as Prefix;
    // A word of prose is none in quotes.
    const isPlain = kind === Prefix.Mark || to - from === length;
    if (kind === Prefix.None || !isShellSpace(bytes[to]!) || !isPlain) return Prefix.None;
    this.hasLookedFar = true;
    this.end = kind === Prefix.Mark ? behindOperands(bytes, to, length, limit) : behindNames(bytes, from, to, limit);
    return kind;
  }

  /** /usr/bin/env, with its options. */
  private readProgram(bytes: Uint8Array, from: number, limit: number): Prefix {
    let name = from;
    let to = from;
    for (; to < limit && (PATH[bytes[to]!] === 1 || bytes[to] === Byte.Slash); to++)
      if (bytes[to] === Byte.Slash) name = to + 1;
    const isMark = PREFIXES.valueOf(bytes, name, to) === Prefix.Mark;
    return isMark ? this.readWord(bytes, name, limit) : Prefix.None;
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

  /** The value of X=1, X='a b', X=(a b), X+=1 or X=, and a blank behind it. */
  private readValue(bytes: Uint8Array, from: number, limit: number): Prefix {
    let at = from;
    let quote = bytes[from] === Byte.OpenParen ? Byte.CloseParen : 0;
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

/**
 * Whether the shell itself is at `from`, by a variable that has its name: $SHELL, "${BASH}", ${SHELL:-sh}; or $0 -c, by which it was called.
 * @returns the offset behind it, -1 if not
 */
export function shellVariableEnd(bytes: Uint8Array, from: number): number {
  const at = isQuote(bytes[from]!) ? from + 1 : from;
  if (bytes[at] !== Byte.Dollar) return -1;
  const isBraced = bytes[at + 1] === Byte.OpenBrace;
  const name = at + (isBraced ? 2 : 1);
  let end = name;
  while (end < name + MAX_SHELL_NAME && WORD[bytes[end]!] === 1) end++;
  const isCalled = bytes[name] === ZERO && end === name + 1;
  if (!isCalled && SHELL.valueOf(bytes, name, end) === 0) return -1;
  if (isBraced) {
    const limit = end + MAX_SUBSTITUTE;
    while (end < limit && bytes[end] !== Byte.CloseBrace && bytes[end]! > Byte.Space) end++;
    if (bytes[end] !== Byte.CloseBrace) return -1;
    end++;
  }
  if (at > from && isQuote(bytes[end]!)) end++;
  return isCalled && !isInlineOption(bytes, end) ? -1 : end;
}

/** Whether ` -c ` is at `at`. */
function isInlineOption(bytes: Uint8Array, at: number): boolean {
  const isOption = bytes[at] === Byte.Space && bytes[at + 1] === Byte.Dash && bytes[at + 2] === LOWER_C;
  return isOption && bytes[at + 3] === Byte.Space;
}

/** Offset after blanks, brackets and `!`. */
export function behindMarks(bytes: Uint8Array, from: number, limit: number): number {
  let at = from;
  while (at < limit && (isShellSpace(bytes[at]!) || MARKS.includes(bytes[at]!))) at++;
  return at;
}

/** Whether the word in `[from, to)` is one that stands in front of a command. */
export function isPrefixWord(bytes: Uint8Array, from: number, to: number): boolean {
  return PREFIXES.valueOf(bytes, from, to) !== 0;
}

/** Offset after the options of the word that was read last, and after the word that some take besides: `su root -c`. */
function behindOperands(bytes: Uint8Array, from: number, length: number, limit: number): number {
  const at = behindOptions(bytes, from, limit);
  if (WITH_OPERAND.valueOf(word, 0, length) === 0) return at;
  let next = at;
  while (next < limit && isShellSpace(bytes[next]!)) next++;
  const to = wordTo(bytes, next, limit);
  return to === next || COMMANDS.valueOf(bytes, next, to) !== 0 ? at : behindOptions(bytes, to, limit);
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
    if (!isOption && !isValue && !(isDue && (SIGNAL.valueOf(bytes, next, to) !== 0 || !isRun(bytes, next, to))))
      return at;
    isDue = isOption && to - next === 2 && !isQuote(bytes[to + 1]!);
    at = to;
  }
}

/** Whether the word in `[from, to)` is a command, or what stands in front of one. */
function isRun(bytes: Uint8Array, from: number, to: number): boolean {
  return COMMANDS.valueOf(bytes, from, to) !== 0 || PREFIXES.valueOf(bytes, from, to) !== 0;
}

/** Offset after the names that a reserved word has behind it, or its options: `function f {`, `case x in x)`, `time -p`. */
function behindNames(bytes: Uint8Array, from: number, to: number, limit: number): number {
  if (NAMED.valueOf(bytes, from, to) === 0) return bytes[to + 1] === Byte.Dash ? wordTo(bytes, to + 1, limit) : to;
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

const ZERO = 0x30;
const LOWER_C = 0x63;
/** ( { ! */
const MARKS: readonly number[] = [Byte.OpenParen, Byte.OpenBrace, Byte.Bang];
/** The name of a signal that is the name of a command as well: `timeout -s KILL 5`. */
const SIGNAL: WordSet = new WordSet([[1, "kill"]]);
const word: Uint8Array = new Uint8Array(24);
const NAMED: WordSet = new WordSet([[1, "function case"]]);
const SHELL: WordSet = new WordSet([[1, "shell bash"]]);
/** Of the name of a variable: one more than the longest of them has. */
const MAX_SHELL_NAME = 6;
/** Of what stands in for a variable that is not set: `:-sh`. */
const MAX_SUBSTITUTE = 16;
