import { Byte } from "../../../core/bytes.ts";
import { isProgramByte } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import { CRITICAL_SCORE, type DetectionListener, type DetectorGroup, VALUES_AND_PATHS, type WafRule } from "../rule.ts";

const STRICT_COMMAND: WafRule = {
  id: "RCE-014",
  category: "rce",
  score: CRITICAL_SCORE,
  description:
    "short value that is a command line: a program after a mark of the shell, or by itself with options or paths",
  keywords: [";", "|", "&", "`", "$", "\\n", "\n", "^", "<{", "^{", "usr/bin", "/bin/", " -", " /", " c:", " \\"],
  level: 2,
  profiles: ["php", "node", "python", "ruby"],
  crs: [932236, 932235, 932260, 932350],
};

/** Command lines if no prose is. */
export const STRICT_COMMAND_GROUP: DetectorGroup = {
  rules: [STRICT_COMMAND],
  locations: VALUES_AND_PATHS,
  keywords: () => [],
  detectors: () => [{ analyse: findStrictCommands }],
};

/** Finds `;id`, `|dir c:\`, `\n/usr/bin/id`, `ls -l /var`, `^CMD=$'x'`: in one short line. */
function findStrictCommands(value: ValueReading, listener: DetectionListener): void {
  const { bytes, length } = value;
  if (length > MAX_LINE) return;
  if (isCommandLine(bytes, length)) return listener.found(STRICT_COMMAND, 0);
  for (let at = 0; at < length; at++) {
    const after = behindMark(bytes, at);
    if (after < 0) continue;
    let from = after;
    while (from < length && IS_GAP[bytes[from]!] === 1) from++;
    const end = programEnd(bytes, from);
    const name = nameFrom(bytes, from, end);
    const kind = PROGRAMS.valueOf(bytes, name, end);
    if (
      (kind === PLAIN && isEnd(bytes, end, length)) ||
      (kind !== 0 && name > from) ||
      isAssigned(bytes, from, end, length)
    )
      return listener.found(STRICT_COMMAND, at);
    if (kind === PLAIN && bytes[end] === Byte.Space && isArgument(bytes, end + 1))
      return listener.found(STRICT_COMMAND, at);
  }
}

/** `ls -l /`, `type c:\x`, `perl -e '…'`: a program, and then an option or a path. */
function isCommandLine(bytes: Uint8Array, length: number): boolean {
  let from = 0;
  while (bytes[from] === Byte.Space || bytes[from] === Byte.Apostrophe) from++;
  const end = programEnd(bytes, from);
  const name = nameFrom(bytes, from, end);
  if (PROGRAMS.valueOf(bytes, name, end) === 0) return false;
  let at = end;
  while (bytes[at] === Byte.Space) at++;
  return at > end && at < length && isArgument(bytes, at);
}

function isArgument(bytes: Uint8Array, at: number): boolean {
  const byte = bytes[at]!;
  if (byte === Byte.Slash || byte === Byte.Backslash || byte === Byte.Dollar) return true;
  if (byte === Byte.Dash) return bytes[at + 1]! > Byte.Space && bytes[at + 2]! <= 0x27;
  return bytes[at + 1] === Byte.Colon && (bytes[at + 2] === Byte.Backslash || bytes[at + 2] === Byte.Slash);
}

/** Offset after what separates commands at `at`, or after a line break that is spelt; -1 if there is none. */
function behindMark(bytes: Uint8Array, at: number): number {
  const byte = bytes[at]!;
  if (byte === Byte.Backslash && bytes[at + 1] === 0x6e) return at + 2;
  const isMark =
    byte === Byte.Semicolon ||
    byte === Byte.Bar ||
    byte === Byte.Ampersand ||
    byte === Byte.Backtick ||
    byte === Byte.Lf ||
    byte === Byte.Cr ||
    (at === 0 && (byte === CARET || byte === Byte.Less || byte === Byte.Dollar));
  return isMark ? at + 1 : -1;
}

/** CMD=$'…' after a mark: a variable that is a program. */
function isAssigned(bytes: Uint8Array, from: number, end: number, length: number): boolean {
  if (end === from || bytes[end] !== Byte.Equals || bytes[end + 1] !== Byte.Dollar) return false;
  return (
    end + 2 < length &&
    (bytes[end + 2] === Byte.Apostrophe || bytes[end + 2] === Byte.Quote || bytes[end + 2] === Byte.Backslash)
  );
}

/** What a command may end with. */
function isEnd(bytes: Uint8Array, at: number, length: number): boolean {
  return (
    at >= length ||
    bytes[at] === Byte.Semicolon ||
    bytes[at] === Byte.Bar ||
    bytes[at] === Byte.Backslash ||
    bytes[at] === Byte.Lf ||
    bytes[at] === Byte.Backtick ||
    bytes[at] === Byte.Ampersand
  );
}

function programEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isProgramByte(bytes[at]!) || bytes[at] === Byte.Slash) at++;
  return at;
}

/** Where the name of a program begins in its path. */
function nameFrom(bytes: Uint8Array, from: number, to: number): number {
  let at = to;
  while (at > from && bytes[at - 1] !== Byte.Slash) at--;
  return at;
}

const PLAIN = 1;
const PROGRAMS: WordSet = new WordSet([
  [
    PLAIN,
    "id ls dir cat nid pwd whoami uname ifconfig ipconfig netstat wget curl nslookup ping bash sh zsh cmd cmd.exe",
  ],
  [PLAIN, "powershell powershell.exe net nc ncat netcat telnet perl python python3 ruby php echo printenv env ps type"],
  [PLAIN, "tail head more less sleep reg ver del rm chmod touch tftp ftp systeminfo tasklist hostname cp mv"],
]);
/** Marks and blanks between a separator and a program. */
const IS_GAP: Uint8Array = Uint8Array.from({ length: 256 }, (_, byte) =>
  " \t|&;\\'\"+".includes(String.fromCharCode(byte)) ? 1 : 0,
);
/** Commands that attacks send fit in; paragraphs do not. */
const MAX_LINE = 160;
const CARET = 0x5e;
