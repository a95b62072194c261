import { Byte } from "../../../core/ascii.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { Sign } from "../rules/sign.ts";
import { COMMANDS } from "./shell-words.ts";
import type { SignListener } from "./sign-listener.ts";

/**
 * Finds what only attacks write, wherever it stands: ${IFS}, /dev/tcp/…, bash -i, nc -e, cmd /c, powershell -enc,
 * /???/ in place of /bin/. One pass over the value; every find costs a bounded look behind a word.
 */
export function findShellIdioms(value: ValueReading, listener: SignListener): void {
  const { bytes, length } = value;
  for (let at = 0; at < length; ) {
    const byte = bytes[at]!;
    if (isWordByte(byte)) {
      const from = at;
      while (isWordByte(bytes[at]!)) at++;
      const idiom = IDIOMS.valueOf(bytes, from, at);
      if (idiom !== 0 && !value.steps.take(MAX_PROGRAM)) return;
      if (idiom !== 0 && isIdiom(idiom, bytes, from, at)) listener.found(Sign.ShellIdiom, from);
      continue;
    }
    if (
      (byte === Byte.Dollar && isFieldSeparator(bytes, at + 1)) ||
      (byte === Byte.Slash && (isWildcardFolder(bytes, at + 1) || isWildcardProgram(bytes, at)))
    ) {
      listener.found(Sign.ShellIdiom, at);
    }
    at++;
  }
}

const enum Idiom {
  /** sh -c, bash -i: with a path, a bracket or a separator before, or an interactive one. */
  Shell = 1,
  /** /dev/tcp/… */
  Device,
  /** nc -e */
  Connection,
  /** cmd /c */
  Cmd,
  /** powershell -enc */
  Powershell,
  /** (new-object net.webclient).downloadstring( */
  Download,
  /** python -c 'import socket' */
  Interpreter,
  /** mkfifo /tmp/f */
  Pipe,
}

function isIdiom(idiom: Idiom, bytes: Uint8Array, from: number, to: number): boolean {
  const next = skipBlanks(bytes, to);
  const option = bytes[next] === Byte.Dash ? bytes[next + 1]! : 0;
  switch (idiom) {
    case Idiom.Shell:
      // "#!/bin/bash -e" begins many a script.
      return option === LOWER_I ? isRedirected(bytes, next) : option === LOWER_C && isBehindSeparator(bytes, from);
    case Idiom.Device:
      return bytes[from - 1] === Byte.Slash && bytes[to] === Byte.Slash && hasFolder(bytes, from - 1, DEV);
    case Idiom.Connection:
      return option !== 0 && hasProgram(bytes, next);
    case Idiom.Cmd: {
      // =cmd|' /C calc'!A0: a spreadsheet runs it.
      if (bytes[to] === Byte.Bar && bytes[to + 1] === Byte.Apostrophe) return true;
      const slash = bytes[to] === Byte.Dot ? skipBlanks(bytes, to + 4) : next;
      const letter = bytes[slash + 1];
      return (
        bytes[slash] === Byte.Slash && (letter === LOWER_C || letter === LOWER_K) && bytes[slash + 2] === Byte.Space
      );
    }
    case Idiom.Powershell:
      return isEncoded(bytes, bytes[to] === Byte.Dot ? skipBlanks(bytes, to + 4) : next);
    case Idiom.Download:
      return bytes[to] === Byte.OpenParen;
    case Idiom.Interpreter:
      return (option === LOWER_C || option === LOWER_E || option === LOWER_R) && hasSystemWord(bytes, next + 2);
    case Idiom.Pipe:
      return bytes[next] === Byte.Slash;
  }
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
  while (to < from + 4 && bytes[to]! >= Byte.LowerA && bytes[to]! <= Byte.LowerZ) to++;
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

/** Whether a shell's name stands behind a separator, with its path at most in between. */
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
  let end = at;
  while (isWordByte(bytes[end]!)) end++;
  return IDIOMS.valueOf(bytes, at, end) === Idiom.Shell || COMMANDS.valueOf(bytes, at, end) !== 0;
}

/** Options that hide a window, skip the profile or bring a program along. */
function isEncoded(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] !== Byte.Dash) return false;
  let end = at + 1;
  while (isWordByte(bytes[end]!)) end++;
  return OPTIONS.valueOf(bytes, at + 1, end) !== 0;
}

/** Whether one of the modules that reach the system is named soon behind `from`. */
function hasSystemWord(bytes: Uint8Array, from: number): boolean {
  for (let at = from; at < from + MAX_PROGRAM && bytes[at] !== 0; ) {
    const start = at;
    while (isWordByte(bytes[at]!)) at++;
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

function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (at < from + MAX_FOLDER && (bytes[at] === Byte.Space || bytes[at] === Byte.Tab)) at++;
  return at;
}

function isWordByte(byte: number): boolean {
  const isLetter = byte >= Byte.LowerA && byte <= Byte.LowerZ;
  return isLetter || (byte >= Byte.Zero && byte <= Byte.Nine) || byte === Byte.Underscore;
}

const IDIOMS: WordSet = new WordSet([
  [Idiom.Shell, "sh bash zsh ksh dash"],
  [Idiom.Device, "tcp udp"],
  [Idiom.Connection, "nc ncat netcat"],
  [Idiom.Cmd, "cmd command"],
  [Idiom.Powershell, "powershell pwsh"],
  [Idiom.Download, "downloadstring downloadfile downloaddata iex"],
  [Idiom.Interpreter, "python python2 python3 perl ruby php lua node"],
  [Idiom.Pipe, "mkfifo"],
]);
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
const LOWER_C = 0x63;
const LOWER_E = 0x65;
const LOWER_I = 0x69;
const LOWER_K = 0x6b;
const LOWER_R = 0x72;
