import { Byte, byteTable, classOf, HEX_VALUE, indexOfByte, LOWER } from "../../core/bytes.ts";
import { type RequestHead, TargetFlag } from "../../message/request-head.ts";
import { findPackedGroups } from "./match/escaped-scan.ts";
import { MIN_PACKED_CHARS } from "./match/packed-text.ts";
import type { StepBudget } from "./match/step-budget.ts";
import { InputLocation } from "./match/value-reading.ts";
import { WordSet } from "./match/word-set.ts";
import type { RuleTables } from "./rule-table.ts";
import { inspectPairs, type ValueInspector } from "./value-inspector.ts";

/**
 * Whether the path holds, plain or escaped, a mark that attacks in paths cannot do without: a blank, a quote, a bracket, a
 * separator, an operator, an escape of an escape; or a text in base64. A short path of letters, digits and `- . _ ~` costs one look
 * at the flags.
 * @param steps counts the unpacked data
 */
export function mayPathMatch(head: RequestHead, tables: RuleTables, steps: StepBudget): boolean {
  const { targetFlags, bytes, pathFrom, pathTo } = head;
  if ((targetFlags & TargetFlag.DoubleSlash) !== 0) return true;
  const mayBeMarked = (targetFlags & (TargetFlag.Mark | TargetFlag.Percent)) !== 0;
  if (mayBeMarked && hasMark(bytes, pathFrom, pathTo)) return true;
  if (pathTo - pathFrom <= MIN_PACKED_CHARS) return false;
  const { automaton, groupsAt } = tables;
  return (findPackedGroups(automaton, bytes, pathFrom + 1, pathTo, steps) & groupsAt[InputLocation.Segment]!) !== 0;
}

/**
 * Whether a path without dots and escapes may be that of a file, a diagnosis page or a console that no client is to see: `FILES-*`.
 * @param isSharp whether any part of it counts, not the last alone
 */
export function mayNameFile({ bytes, pathFrom, pathTo, targetFlags }: RequestHead, isSharp: boolean): boolean {
  const end = bytes[pathTo - 1] === Byte.Slash ? pathTo - 1 : pathTo;
  if ((ENDINGS[bytes[end - 1]!]! & (1 << (bytes[end - 2]! & 31))) !== 0) {
    let from = end;
    while (from > pathFrom && bytes[from - 1] !== Byte.Slash) from--;
    const kind = LAST_NAMES.valueOf(bytes, from, end);
    if (kind === ANYWHERE || (kind === IN_ACTUATOR && bytes[from - 2] === LOWER_R && bytes[from - 3] === LOWER_O))
      return true;
  }
  // All below /actuator/.
  if (bytes[pathFrom + 1] === LOWER_A && bytes[pathFrom + 2] === LOWER_C && bytes[pathFrom + 9] === Byte.Slash)
    return true;
  // Servers with parameters of segments cut them off.
  return (
    isSharp || ((targetFlags & TargetFlag.Mark) !== 0 && bytes.subarray(pathFrom, pathTo).includes(Byte.Semicolon))
  );
}

/**
 * Inspects the path: as one value, for what loggers, templates and pages act on wherever it is; segment by
 * segment, since applications take one for a value of theirs; and from a segment on, since payloads have slashes, too.
 * docs/security.md#bodies-and-the-firewall
 */
export function inspectPath(inspector: ValueInspector, head: RequestHead): void {
  const { bytes, pathFrom, pathTo } = head;
  inspector.nameNothing();
  inspectAs(inspector, InputLocation.Path, bytes, pathFrom, pathTo, false);
  let rests = 0;
  for (let from = pathFrom; from < pathTo; ) {
    const to = indexOfByte(bytes, Byte.Slash, from, pathTo);
    const isMarked = hasMark(bytes, from, to);
    if (isMarked || to - from >= MIN_PACKED_CHARS) inspectValue(inspector, InputLocation.Segment, bytes, from, to);
    // A comment of SQL in place of a blank, or a file's whole name after an empty segment, the last of several.
    const isLastEmpty = from === to && to > pathFrom && bytes[to + 1] !== Byte.Slash;
    const goesOn = bytes[to + 1] === Byte.Star || isLastEmpty;
    if (to < pathTo && (goesOn || isMarked)) {
      if (rests++ === MAX_RESTS) return inspector.giveUp();
      inspectValue(inspector, InputLocation.PathRest, bytes, from, Math.min(pathTo, to + MAX_BEHIND));
    }
    from = to + 1;
  }
}

/** A part of the path as one value, once more with its plus signs as spaces, and its parameters: a;b=1;c=2. */
function inspectValue(
  inspector: ValueInspector,
  location: InputLocation,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  inspectAs(inspector, location, bytes, from, to, false);
  if (indexOfByte(bytes, Byte.Plus, from, to) < to) inspectAs(inspector, location, bytes, from, to, true);
  if (indexOfByte(bytes, Byte.Equals, from, to) === to) return;
  inspectPairs(inspector, location, Byte.Semicolon, bytes, from, to);
  inspector.nameNothing();
}

function inspectAs(
  inspector: ValueInspector,
  location: InputLocation,
  bytes: Uint8Array,
  from: number,
  to: number,
  plusIsSpace: boolean,
): void {
  inspector.value.location = location;
  inspector.value.loadEscaped(bytes, from, to, plusIsSpace);
  inspector.inspect(bytes, from, to);
}

function hasMark(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (IS_MARK[byte] === 1) return true;
    if (byte !== Byte.Percent || at + 2 >= to) continue;
    if (LOWER[bytes[at + 1]!] === LOWER_U) return true;
    const escaped = escapedAt(bytes, at);
    if (IS_ESCAPED_MARK[escaped] === 1) return true;
    if (escaped >= 0xe0 && at + 5 < to && bytes[at + 3] === Byte.Percent && isFolded(escaped, escapedAt(bytes, at + 3)))
      return true;
  }
  return false;
}

/** The byte that the escape at `at` stands for. */
function escapedAt(bytes: Uint8Array, at: number): number {
  return (HEX_VALUE[bytes[at + 1]!]! * 16 + HEX_VALUE[bytes[at + 2]!]!) & 0xff;
}

/** Whether a sequence of UTF-8 that begins so is overlong, or a full-width form: some readers take it for a character of ASCII. */
function isFolded(lead: number, second: number): boolean {
  if (lead === 0xef) return second === 0xbc || second === 0xbd;
  return (second === 0x80 || second === 0x81) && (lead === 0xe0 || lead === 0xf0 || lead === 0xf8 || lead === 0xfc);
}

const ANYWHERE = 1;
/** After a segment that ends like "actuator". */
const IN_ACTUATOR = 2;
const LAST_WORDS = [
  [
    ANYWHERE,
    "server-status server-info heapdump id_rsa id_dsa id_ecdsa id_ed25519 authorized_keys wp-config.php wp-config.txt " +
      "secrets.json credentials.json eval-stdin.php",
  ],
  [IN_ACTUATOR, "env configprops threaddump httptrace httpexchanges sessions logfile jolokia gateway trace dump"],
] as const;
/** Last segments without dots, or with an extension that most files of a site have, of paths that count at level 1. */
const LAST_NAMES: WordSet = new WordSet(LAST_WORDS);
/** By the last byte of these, a bit for each that is before it: few other segments end so. */
const ENDINGS: Int32Array = new Int32Array(256);
for (const name of LAST_WORDS.flatMap(([, words]) => words.split(" ")))
  ENDINGS[name.charCodeAt(name.length - 1)]! |= 1 << (name.charCodeAt(name.length - 2) & 31);
const LOWER_A = 0x61;
const LOWER_C = 0x63;
const LOWER_O = 0x6f;
const LOWER_R = 0x72;
/** The bytes that TargetFlag.Mark tells of, and the backslash. */
const IS_MARK: Uint8Array = classOf("$<{'\"(;|&`*!+\\");
/**
 * What is rarely escaped in an ordinary path, but for blanks: all of ASCII that is no letter, no digit and none of `- . _ ~`,
 * the no-break space of Latin-1, which is a blank to a database, and what leads an overlong sequence.
 */
const IS_ESCAPED_MARK: Uint8Array = byteTable((byte) => {
  if (byte >= 0x80) return byte === 0xa0 || byte === 0xc0 || byte === 0xc1 ? 1 : 0;
  return /[A-Za-z0-9\-._~]/.test(String.fromCharCode(byte)) ? 0 : 1;
});
/** How much of the path the firewall reads after a segment: the rest of a command, of a comment, of a query. */
const MAX_BEHIND = 96;
/** Segments that are examined with the path behind them: each byte is examined with all segments so close before it. */
const MAX_RESTS = 128;
const LOWER_U = 0x75;
