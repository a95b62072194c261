import { Byte, byteTable, HEX_VALUE, latin1 } from "../../../core/bytes.ts";
import { isPlainName, mayBeginText, packedGroupsAt } from "../match/escaped-scan.ts";
import { CLASS_BITS, CLASS_COUNT, CLASS_OF, type KeywordAutomaton } from "../match/keyword-automaton.ts";
import { MIN_PACKED_CHARS } from "../match/packed-text.ts";
import { BEYOND_ASCII } from "../match/scan.ts";
import { MAX_FIELD_NAME_BYTES, type ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import type { ValueInspector } from "../value-inspector.ts";
import { BEHIND_SIGN, type JsonGuard, MAX_GUARDED_DEPTH, NO_VALUE, SIGN_BITS, Sign } from "./json-guard.ts";

/**
 * The groups of all keywords in the strings of a JSON text, and in texts in base64 with which strings begin; all there are where the
 * text is none of JSON. One pass; the text may be cut off anywhere.
 * @param guard gets each token
 */
export function findJsonGroups(
  automaton: KeywordAutomaton,
  guard: JsonGuard,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  const { next, bits, start } = automaton;
  let found = 0;
  let { expects } = guard;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    const outside = OUTSIDE[byte]!;
    if (outside === BLANK) continue;
    if (outside > QUOTE) {
      const next = BEHIND_SIGN[(expects << SIGN_BITS) | outside]!;
      if (next !== NO_VALUE) expects = next;
      else {
        guard.expects = expects;
        at = guard.pass(byte, at);
        expects = guard.expects;
      }
      continue;
    }
    if (outside === NONE) {
      guard.passLeniently(at, expects);
      return ALL_GROUPS;
    }
    const begin = ++at;
    let roles = 0;
    let state = start;
    for (; at < to; at++) {
      let one = INSIDE[bytes[at]!]!;
      if (one >= CLASS_COUNT) {
        if (one === QUOTE_ROLE) break;
        roles |= one;
        if (one !== ESCAPE_ROLE) one = CLASS_OF[bytes[at]!]!;
        else {
          // JSON5 has strings that go on in the next line.
          if (bytes[at + 1]! < Byte.Space) {
            guard.passLeniently(begin - 1, expects);
            return ALL_GROUPS;
          }
          const letter = escaped(bytes, at + 1, to);
          at += bytes[at + 1] === LOWER_U && letter !== LOWER_U ? 5 : 1;
          one = CLASS_OF[letter]!;
        }
      }
      state = next[(state << CLASS_BITS) | one]!;
      found |= bits[state]!;
    }
    if (at < to) expects = guard.behindString(expects, roles === 0, begin, at);
    if (at - begin >= MIN_PACKED_CHARS && ((roles & IS_ESCAPE) !== 0 || mayBeginText(bytes, begin)))
      found |= packedGroupsAt(automaton, bytes, begin, at);
  }
  guard.expects = expects;
  return found;
}

/**
 * Inspects all names and strings of a JSON text. If it is no JSON, lenient readers find strings in it all the same: those between
 * apostrophes, too, where a string may begin.
 * @param isDeclared whether what is no JSON is also inspected as one value
 * @param isReport whether it is what a browser reports of a page
 */
export function inspectJson(
  inspector: ValueInspector,
  bytes: Uint8Array,
  from: number,
  to: number,
  isDeclared: boolean,
  isReport = false,
): void {
  const { value } = inspector;
  walk.begin(value);
  let isClean = true;
  let previous = Byte.Comma as number;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    const outside = OUTSIDE[byte];
    if (outside === NONE) isClean = false;
    if (outside === QUOTE || (byte === Byte.Apostrophe && mayBeginString(previous))) {
      const end = stringEnd(bytes, at + 1, to, byte);
      if (walk.expectsName()) inspectName(inspector, bytes, at + 1, end);
      else {
        value.isQuoted = isReport && walk.isReported();
        inspectString(inspector, bytes, at + 1, end);
        value.isQuoted = false;
      }
      at = end;
    } else walk.pass(byte);
    if (byte > Byte.Space) previous = byte;
  }
  if (isClean || !isDeclared) return;
  inspector.nameNothing();
  value.load(bytes, from, to);
  inspector.inspect(bytes, from, to);
}

function mayBeginString(previous: number): boolean {
  return (
    previous === Byte.Comma || previous === Byte.Colon || previous === Byte.OpenBrace || previous === Byte.LeftBracket
  );
}

function inspectString(inspector: ValueInspector, bytes: Uint8Array, from: number, to: number): void {
  inspector.value.loadJson(bytes, from, to);
  inspector.inspect(bytes, from, to);
}

function inspectName(inspector: ValueInspector, bytes: Uint8Array, from: number, to: number): void {
  const { value } = inspector;
  value.loadJson(bytes, from, to);
  // Before the inspection may undo more escapes.
  const isOdd = !isPlainName(bytes, from, to) || PROTOTYPE.valueOf(value.bytes, 0, value.length) !== 0;
  if (isOdd) {
    value.isName = true;
    inspector.inspect(bytes, from, to);
    value.isName = false;
    value.loadJson(bytes, from, to);
  }
  walk.name();
}

/** Where in a JSON text a walk is, as far as names go: the path of names leads to the current member. */
class JsonWalk {
  private value: ValueReading | null = null;
  private depth = 0;
  /** By depth: 1 for an object; beyond MAX_DEPTH all count as arrays. */
  private readonly isObject: Uint8Array = new Uint8Array(MAX_DEPTH);
  /** By depth: length of the path outside. */
  private readonly pathLengths: Int32Array = new Int32Array(MAX_DEPTH);
  private isNameDue = false;

  begin(value: ValueReading): void {
    this.value = value;
    this.depth = 0;
    this.isNameDue = false;
    this.cutPath(0);
  }

  expectsName(): boolean {
    return this.isNameDue;
  }

  /**
   * Whether the member is a part of a report of the browser that quotes the page: scripts, addresses, policies. One about the policy of contents
   * is an object, of others there is a list.
   */
  isReported(): boolean {
    const { name, nameLength } = this.value!;
    if (this.isObject[0] === 1) return startsWith(name, nameLength, CSP_REPORT);
    return startsWith(name, nameLength, REPORT_BODY) || REPORT_MEMBERS.valueOf(name, 0, nameLength) !== 0;
  }

  /** A byte outside of strings. */
  pass(byte: number): void {
    switch (byte) {
      case Byte.OpenBrace:
      case Byte.LeftBracket:
        if (this.depth < MAX_DEPTH) {
          this.isObject[this.depth] = byte === Byte.OpenBrace ? 1 : 0;
          this.pathLengths[this.depth] = this.value!.nameLength;
        }
        this.depth++;
        this.isNameDue = byte === Byte.OpenBrace && this.depth <= MAX_DEPTH;
        break;
      case Byte.CloseBrace:
      case Byte.RightBracket:
        if (this.depth > 0) this.depth--;
        if (this.depth < MAX_DEPTH) this.cutPath(this.pathLengths[this.depth]!);
        this.isNameDue = false;
        break;
      case Byte.Comma:
        this.isNameDue = this.depth > 0 && this.depth <= MAX_DEPTH && this.isObject[this.depth - 1] === 1;
        if (this.isNameDue) this.cutPath(this.pathLengths[this.depth - 1]!);
        break;
    }
  }

  /** The member's name is in the reading: it goes after the path. */
  name(): void {
    const value = this.value!;
    this.isNameDue = false;
    let length = value.nameLength;
    if (length > 0 && length < MAX_FIELD_NAME_BYTES) value.name[length++] = Byte.Dot;
    value.lastNameFrom = length;
    for (let i = 0; i < value.length && length < MAX_FIELD_NAME_BYTES; i++) value.name[length++] = value.bytes[i]!;
    value.nameLength = length;
  }

  private cutPath(length: number): void {
    const value = this.value!;
    value.nameLength = length;
    let from = length;
    while (from > 0 && value.name[from - 1] !== Byte.Dot) from--;
    value.lastNameFrom = from;
  }
}

/** The character after a backslash at `at`, as a class sees it. */
function escaped(bytes: Uint8Array, at: number, to: number): number {
  const byte = at < to ? bytes[at]! : Byte.Nul;
  if (byte !== LOWER_U) return byte < ESCAPES.length ? ESCAPES[byte]! : byte;
  if (at + 4 >= to) return byte;
  const a = HEX_VALUE[bytes[at + 1]!]!;
  const b = HEX_VALUE[bytes[at + 2]!]!;
  const c = HEX_VALUE[bytes[at + 3]!]!;
  const d = HEX_VALUE[bytes[at + 4]!]!;
  if ((a | b | c | d) > 15) return byte;
  // Of a full-width form, which some readers take for its character, nothing is left out.
  if ((a & b) === 15) return FULL_WIDTH;
  return (a | b) === 0 && c < 8 ? c * 16 + d : BEYOND_ASCII;
}

/** Offset of the quote that ends a string, or the end of the text. */
export function stringEnd(bytes: Uint8Array, from: number, to: number, quote: number): number {
  let at = from;
  while (at < to && bytes[at] !== quote) at += bytes[at] === Byte.Backslash ? 2 : 1;
  return Math.min(at, to);
}

function startsWith(name: Uint8Array, length: number, start: Uint8Array): boolean {
  return length > start.length && start.every((byte, at) => name[at] === byte);
}

/** csp-report.script-sample, body.sample */
const CSP_REPORT: Uint8Array = latin1("csp-report.");
const REPORT_BODY: Uint8Array = latin1("body.");
const REPORT_MEMBERS: WordSet = new WordSet([[1, "url user_agent"]]);
const ALL_GROUPS = -1;
const MAX_DEPTH = MAX_GUARDED_DEPTH;
const NONE = 0;
const BLANK = 1;
const QUOTE = 2;
const LOWER_U = 0x75;
/** Its class calls for another look. */
const FULL_WIDTH = 0xef;
const QUOTE_ROLE: number = CLASS_COUNT;
const IS_ESCAPE = 1;
const ESCAPE_ROLE: number = CLASS_COUNT + IS_ESCAPE;
/** Of bytes that a string has to escape, or that are beyond ASCII. */
const ODD_ROLE: number = CLASS_COUNT + 2;
/** The class of each byte of a string; above all classes for the quote that ends it, the backslash, and odd ones. */
const INSIDE: Uint8Array = byteTable((byte) => {
  if (byte === Byte.Quote) return QUOTE_ROLE;
  if (byte === Byte.Backslash) return ESCAPE_ROLE;
  return byte < Byte.Space || byte >= 0x80 ? ODD_ROLE : CLASS_OF[byte]!;
});
/** What a byte is outside of strings: nothing that JSON has, white space, the quote that begins a string, or a sign that is looked up in `BEHIND_SIGN`. */
const OUTSIDE: Uint8Array = byteTable((byte) => {
  if (byte === Byte.Quote) return QUOTE;
  if (byte === Byte.Comma) return Sign.Comma;
  if (byte === Byte.Colon) return Sign.Colon;
  const char = String.fromCharCode(byte);
  // A byte order mark may stand in front, and some write NaN and Infinity.
  const isMark = byte === 0xef || byte === 0xbb || byte === 0xbf;
  if (" \t\r\n".includes(char)) return BLANK;
  return isMark || "{}[]+-.0123456789eEtrufalsnNIity".includes(char) ? Sign.Other : NONE;
});
/** What stands for the letter of a short escape. RFC 8259 §7. */
const ESCAPES: Uint8Array = byteTable((byte) => {
  switch (String.fromCharCode(byte)) {
    case "b":
      return 0x08;
    case "f":
      return 0x0c;
    case "n":
      return 0x0a;
    case "r":
      return 0x0d;
    case "t":
      return 0x09;
    default:
      return byte;
  }
});
/** Harmless but in a member called constructor. */
const PROTOTYPE: WordSet = new WordSet([[1, "prototype"]]);
/** One for all, since nothing waits in between. */
const walk: JsonWalk = new JsonWalk();
