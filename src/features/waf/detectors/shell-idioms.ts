import { Byte, isLowerLetter, isOws } from "../../../core/bytes.ts";
import { isDrive, isWordByte, wordEnd } from "../match/scan.ts";
import { InputLocation, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, each, type WafRule } from "../rule.ts";
import { COMMANDS } from "./shell-words.ts";

const SHELL_IDIOM: WafRule = {
  id: "RCE-004",
  crs: [932160, 932190, 932200],
  category: "rce",
  score: CRITICAL_SCORE,
  description: "reverse shell, inline interpreter code, or shell syntax that evades filters",
  keywords: ["${ifs", "$ifs", "??", "bin/", ";$"],
};

/** A row of words, what must be around one of them, and the rule that it belongs to. */
interface Idiom {
  readonly rule: WafRule;
  readonly words: string;
  readonly keywords: readonly string[];
  /** Whether the word in `[from, to)` is part of an attack. */
  readonly isFound: (bytes: Uint8Array, from: number, to: number) => boolean;
}

const INTERPRETERS = "python python2 python3 perl ruby php lua node";
const IDIOMS: readonly Idiom[] = [
  { rule: SHELL_IDIOM, words: "sh bash zsh ksh dash", keywords: ["sh -i", "sh -c"], isFound: isInlineShell },
  { rule: SHELL_IDIOM, words: "tcp udp", keywords: ["/tcp/", "/udp/"], isFound: isSocketDevice },
  { rule: SHELL_IDIOM, words: "nc ncat netcat", keywords: ["nc -", "cat -"], isFound: isBoundProgram },
  {
    rule: SHELL_IDIOM,
    words: "cmd command",
    keywords: ["cmd.exe", "cmd/", "cmd /", "cmd|'", "command /"],
    isFound: isWindowsCommand,
  },
  { rule: SHELL_IDIOM, words: "powershell pwsh", keywords: ["shell -", "pwsh -", ".exe -"], isFound: isPowershell },
  {
    rule: SHELL_IDIOM,
    words: "downloadstring downloadfile downloaddata iex",
    keywords: ["downloadstring(", "downloadfile(", "downloaddata(", "iex(", "iex ("],
    isFound: (bytes, _from, to) => bytes[to] === Byte.OpenParen,
  },
  {
    rule: SHELL_IDIOM,
    words: INTERPRETERS,
    keywords: each(INTERPRETERS, (name) => `${name} -`),
    isFound: isInlineProgram,
  },
  { rule: SHELL_IDIOM, words: "base64", keywords: ["base64 -d"], isFound: isDecodedShell },
  {
    rule: SHELL_IDIOM,
    words: "dir type del rmdir",
    keywords: each("dir type del rmdir", (name) => each("c d e", (drive) => `${name} ${drive}:`)),
    isFound: isDriveCommand,
  },
  {
    rule: SHELL_IDIOM,
    words: "mkfifo",
    keywords: ["mkfifo /"],
    isFound: (bytes, _from, to) => bytes[nextArgument(bytes, to)] === Byte.Slash,
  },
];
/** The number of each word's row, and 1. */
const IDIOM_WORDS: WordSet = new WordSet(IDIOMS.map((idiom, row) => [row + 1, idiom.words] as const));

/** The rules that are reported here. */
export const IDIOM_RULES: readonly WafRule[] = [SHELL_IDIOM];

/** What calls them beside the keywords of the rules. */
export function idiomKeywords(): string[] {
  return IDIOMS.flatMap((idiom) => idiom.keywords);
}

/**
 * Finds what only attacks write, wherever it is: ${IFS}, /dev/tcp/…, bash -i, nc -e, cmd /c, powershell -enc,
 * /???/ in place of /bin/. One pass over the value; every find costs a bounded look after a word.
 */
export function findShellIdioms(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  for (let at = 0; at < length; ) {
    const byte = bytes[at]!;
    if (isWordByte(byte)) {
      const from = at;
      at = wordEnd(bytes, at);
      const row = IDIOM_WORDS.valueOf(bytes, from, at);
      if (row === 0) continue;
      if (!value.steps.take(MAX_PROGRAM)) return;
      const idiom = IDIOMS[row - 1]!;
      if (idiom.isFound(bytes, from, at)) listener.found(idiom.rule, from);
      continue;
    }
    if (
      (byte === Byte.Dollar && (isFieldSeparator(bytes, at + 1) || isRunVariable(value, at))) ||
      (byte === Byte.Slash && (isWildcardFolder(bytes, at + 1) || isWildcardProgram(bytes, at)))
    ) {
      listener.found(SHELL_IDIOM, at);
    }
    at++;
  }
}

/** sh -c after a separator, bash -i with a redirection. "#!/bin/bash -e" begins many a script. */
function isInlineShell(bytes: Uint8Array, from: number, to: number): boolean {
  const next = nextArgument(bytes, to);
  const option = optionAt(bytes, next);
  return option === LOWER_I ? isRedirected(bytes, next) : option === LOWER_C && isBehindSeparator(bytes, from);
}

/** /dev/tcp/… */
function isSocketDevice(bytes: Uint8Array, from: number, to: number): boolean {
  return bytes[from - 1] === Byte.Slash && bytes[to] === Byte.Slash && hasFolder(bytes, from - 1, DEV);
}

/** nc -e */
function isBoundProgram(bytes: Uint8Array, _from: number, to: number): boolean {
  const next = nextArgument(bytes, to);
  return optionAt(bytes, next) !== 0 && hasProgram(bytes, next);
}

/** cmd /c, cmd.exe /k; =cmd|' /C calc'!A0, which a spreadsheet runs. */
function isWindowsCommand(bytes: Uint8Array, _from: number, to: number): boolean {
  if (bytes[to] === Byte.Bar && bytes[to + 1] === Byte.Apostrophe) return true;
  const slash = behindExtension(bytes, to);
  const letter = bytes[slash + 1];
  return bytes[slash] === Byte.Slash && (letter === LOWER_C || letter === LOWER_K) && bytes[slash + 2] === Byte.Space;
}

/** powershell -enc, powershell.exe -nop: options that hide a window, skip the profile or bring a program along. */
function isPowershell(bytes: Uint8Array, _from: number, to: number): boolean {
  const at = behindExtension(bytes, to);
  return bytes[at] === Byte.Dash && OPTIONS.valueOf(bytes, at + 1, wordEnd(bytes, at + 1)) !== 0;
}

/** base64 -d|sh: a program that no filter reads. */
function isDecodedShell(bytes: Uint8Array, _from: number, to: number): boolean {
  const option = nextArgument(bytes, to);
  if (optionAt(bytes, option) !== LOWER_D) return false;
  const bar = nextArgument(bytes, wordEnd(bytes, option + 1));
  const shell = nextArgument(bytes, bar + 1);
  return bytes[bar] === Byte.Bar && SHELLS.valueOf(bytes, shell, wordEnd(bytes, shell)) !== 0;
}

/** |dir c:\, && type c:\x: a command of Windows behind an operator, with a drive. */
function isDriveCommand(bytes: Uint8Array, from: number, to: number): boolean {
  const drive = nextArgument(bytes, to);
  if (!isDrive(bytes, drive) || drive === to) return false;
  let before = from;
  while (before > 0 && from - before < MAX_FOLDER && isOws(bytes[before - 1]!)) before--;
  const mark = bytes[before - 1];
  return mark === Byte.Bar || mark === Byte.Ampersand || mark === Byte.Lf;
}

/** CMD='…';$CMD and no more: what a value sets, and runs. */
function isRunVariable(value: ValueReading, at: number): boolean {
  const { bytes, length } = value;
  const to = wordEnd(bytes, at + 1);
  if (value.location !== InputLocation.Query || bytes[at - 1] !== Byte.Semicolon || to === at + 1 || to < length)
    return false;
  const size = to - at - 1;
  for (let from = Math.max(0, at - MAX_COMMAND); from + size < at; from++) {
    if (bytes[from + size] !== Byte.Equals || (from > 0 && isWordByte(bytes[from - 1]!))) continue;
    let same = 0;
    while (same < size && bytes[from + same] === bytes[at + 1 + same]) same++;
    if (same === size) return true;
  }
  return false;
}

/** python -c 'import socket' */
function isInlineProgram(bytes: Uint8Array, _from: number, to: number): boolean {
  const next = nextArgument(bytes, to);
  const option = optionAt(bytes, next);
  return (option === LOWER_C || option === LOWER_E || option === LOWER_R) && hasSystemWord(bytes, next + 2);
}

/** The letter after a dash; 0 if there is no dash. */
function optionAt(bytes: Uint8Array, at: number): number {
  return bytes[at] === Byte.Dash ? bytes[at + 1]! : 0;
}

/** Where the next word begins after a program's name that ends at `to`, with .exe after it or not. */
function behindExtension(bytes: Uint8Array, to: number): number {
  return nextArgument(bytes, bytes[to] === Byte.Dot ? to + 4 : to);
}

/** nc -e /bin/sh, nc -lvp 4444 -e /bin/sh: a program at the other end of a connection. */
function hasProgram(bytes: Uint8Array, from: number): boolean {
  for (let at = from; at < from + MAX_OPTIONS && bytes[at] !== 0; at++) {
    const option = bytes[at] === Byte.Dash ? bytes[at + 1] : 0;
    const isProgram = option === LOWER_E || option === LOWER_C;
    if (isProgram && bytes[at + 2] === Byte.Space && isFolderOrShell(bytes, at + 3)) return true;
  }
  return false;
}

/** $IFS, ${IFS}: the shell's blank. */
function isFieldSeparator(bytes: Uint8Array, at: number): boolean {
  const from = bytes[at] === Byte.OpenBrace ? at + 1 : at;
  let to = from;
  while (to < from + 4 && isLowerLetter(bytes[to]!)) to++;
  return FIELD_SEPARATOR.valueOf(bytes, from, to) !== 0;
}

/** /???/ or /b?n/?: question marks in the name of a folder, more than one in what follows. */
function isWildcardFolder(bytes: Uint8Array, from: number): boolean {
  let marks = 0;
  let at = from;
  for (; at < from + MAX_FOLDER && (isWordByte(bytes[at]!) || bytes[at] === Byte.Question); at++) {
    if (bytes[at] === Byte.Question) marks++;
  }
  return marks > 1 && at - from <= MAX_FOLDER && bytes[at] === Byte.Slash;
}

/** /bin/c?t, /usr/bin/wh*mi: a program by half its name. A question mark at the end begins a query. */
function isWildcardProgram(bytes: Uint8Array, slash: number): boolean {
  if (!hasFolder(bytes, slash, BIN)) return false;
  let marks = 0;
  let at = slash + 1;
  for (; at < slash + MAX_FOLDER && (isWordByte(bytes[at]!) || isWildcard(bytes[at]!)); at++) {
    const isInside = isWordByte(bytes[at + 1]!) || isWildcard(bytes[at + 1]!);
    if (isWildcard(bytes[at]!) && at > slash + 1 && isInside) marks++;
  }
  return marks > 0 && bytes[at]! <= Byte.Space;
}

function isWildcard(byte: number): boolean {
  return byte === Byte.Question || byte === Byte.Star || byte === Byte.LeftBracket || byte === Byte.RightBracket;
}

/** bash -i >& …, bash -i 2>&1: what makes an interactive shell an attacker's. */
function isRedirected(bytes: Uint8Array, from: number): boolean {
  for (let at = from; at < from + MAX_OPTIONS && bytes[at] !== 0; at++) {
    if (bytes[at] === Byte.Greater || bytes[at] === Byte.Bar || bytes[at] === Byte.Less) return true;
  }
  return false;
}

/** Whether a shell's name follows a separator, with its path at most in between. */
function isBehindSeparator(bytes: Uint8Array, from: number): boolean {
  let at = from - 1;
  const limit = from - MAX_OPTIONS;
  while (at >= 0 && at > limit && (isWordByte(bytes[at]!) || bytes[at] === Byte.Slash)) at--;
  while (at >= 0 && at > limit && bytes[at] === Byte.Space) at--;
  const byte = bytes[at];
  return (
    byte === Byte.Semicolon ||
    byte === Byte.Bar ||
    byte === Byte.Ampersand ||
    byte === Byte.Backtick ||
    byte === Byte.OpenParen
  );
}

function isFolderOrShell(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] === Byte.Slash) return true;
  const end = wordEnd(bytes, at);
  return SHELLS.valueOf(bytes, at, end) !== 0 || COMMANDS.valueOf(bytes, at, end) !== 0;
}

/** Whether one of the modules that reach the system is named soon after `from`. */
function hasSystemWord(bytes: Uint8Array, from: number): boolean {
  for (let at = from; at < from + MAX_PROGRAM && bytes[at] !== 0; ) {
    const start = at;
    at = wordEnd(bytes, at);
    if (MODULES.valueOf(bytes, start, at) !== 0) return true;
    if (at === start) at++;
  }
  return false;
}

/** Whether the folder before the slash at `slash` has this name. */
function hasFolder(bytes: Uint8Array, slash: number, name: WordSet): boolean {
  let from = slash;
  while (from > 0 && isWordByte(bytes[from - 1]!) && slash - from < MAX_FOLDER) from--;
  return name.valueOf(bytes, from, slash) !== 0;
}

/** Offset of the next word of a command line, after SP and HTAB. */
function nextArgument(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + MAX_FOLDER && isOws(bytes[at]!)) at++;
  return at;
}

const SHELLS: WordSet = new WordSet([[1, "sh bash zsh ksh dash"]]);
const DEV: WordSet = new WordSet([[1, "dev"]]);
const BIN: WordSet = new WordSet([[1, "bin sbin"]]);
const FIELD_SEPARATOR: WordSet = new WordSet([[1, "ifs"]]);
const OPTIONS: WordSet = new WordSet([
  [1, "e ec en enc encod encodedcommand nop noprofile w windowstyle c command ep exec executionpolicy noni sta"],
]);
const MODULES: WordSet = new WordSet([
  [1, "socket pty subprocess system os fsockopen popen spawn child_process tcpsocket"],
]);
const MAX_FOLDER = 8;
const MAX_OPTIONS = 32;
const MAX_PROGRAM = 192;
const MAX_COMMAND = 96;
const LOWER_C = 0x63;
const LOWER_D = 0x64;
const LOWER_E = 0x65;
const LOWER_I = 0x69;
const LOWER_K = 0x6b;
const LOWER_R = 0x72;
