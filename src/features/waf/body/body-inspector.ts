import { Byte, HEX_VALUE, indexOfByte, isWhitespace } from "../../../core/bytes.ts";
import { DUPLICATE_KEYS, JSON_RULES } from "../detectors/json-readings.ts";
import { HIDDEN_CHARSET, UNREADABLE_BODY } from "../detectors/protocol-abuse.ts";
import type { Findings } from "../findings.ts";
import { findGroups, findPackedGroups, PAIR_BYTES } from "../match/escaped-scan.ts";
import type { KeywordAutomaton } from "../match/keyword-automaton.ts";
import { SeenTexts } from "../match/seen-values.ts";
import { InputLocation } from "../match/value-reading.ts";
import type { RuleTables } from "../rule-table.ts";
import { inspectPairs, type ValueInspector } from "../value-inspector.ts";
import type { BodyReading } from "./body-reading.ts";
import { areTooMany } from "./content-codings.ts";
import { BodyKind, type DeclaredTypes } from "./declared-types.ts";
import { base64Content, messagesOf } from "./grpc-messages.ts";
import { JsonGuard } from "./json-guard.ts";
import { findJsonGroups, inspectJson, stringEnd } from "./json-strings.ts";
import { MultipartParts, Shape } from "./multipart-parts.ts";
import { bitsOfRuns, eachRun, isBinary, isMostlyText, isNoise, narrowed, type RunTaker } from "./text-runs.ts";
import { inspectUpload, inspectXml, isEbcdic } from "./xml-body.ts";

/** How the firewall reads a body. */
export interface BodyQuestion {
  /** Whether the route takes every body for JSON. */
  readonly isJson: boolean;
  /** Of a body that is inspected piece by piece, what has been done of it, to be kept for the next piece; else null. */
  readonly progress: BodyProgress | null;
}

/** How much of a body has been inspected, and what that has cost: both are bounded for the body, not for its pieces. */
export interface BodyProgress {
  bytes: number;
  steps: number;
}

/**
 * Inspects the beginning of a body. What a request says of it only adds to what it is tried as, so that whatever an application
 * makes of it has been examined. `docs/security.md#bodies-and-the-firewall`
 */
export class BodyInspector {
  private readonly inspector: ValueInspector;
  private readonly findings: Findings;
  private readonly automaton: KeywordAutomaton;
  /** The groups that look at bodies. */
  private readonly groups: number;
  private readonly parts: MultipartParts;
  private readonly guard: JsonGuard;
  /** Whether JSON comes a line at a time. */
  private hasLines = false;
  /** Whether the body may go on behind its inspected part. */
  private isCut = false;
  private readonly seen: SeenTexts = new SeenTexts();
  private readonly takeRun: RunTaker = (bytes, from, to) => {
    if (this.mayTextMatch(bytes, from, to)) this.inspectPlain(bytes, from, to);
  };

  /** A value under the name in the reading. */
  private readonly takeValue: RunTaker = (bytes, from, to) => {
    this.inspector.value.load(bytes, from, to);
    this.inspector.inspect(bytes, from, to);
  };

  constructor(inspector: ValueInspector, findings: Findings, tables: RuleTables) {
    this.inspector = inspector;
    this.findings = findings;
    this.automaton = tables.automaton;
    this.guard = new JsonGuard(inspector.value.steps);
    this.groups = tables.groupsAt[InputLocation.Body]!;
    this.parts = new MultipartParts(inspector, findings, (bytes, from, to, isFileByName) =>
      this.inspectField(bytes, from, to, isFileByName),
    );
  }

  /**
   * Inspects a body, as it is and with its content codings undone.
   * @returns whether that was all: false if there is more content in the bytes than is examined
   */
  inspect(reading: BodyReading, question: BodyQuestion): boolean {
    const { findings, inspector } = this;
    const { types, codings, bytes, from, to, maxBytes } = reading;
    inspector.value.location = InputLocation.Body;
    inspector.nameNothing();
    // Of a body that comes in pieces, each is a line or more.
    this.hasLines = types.hasLines || question.progress !== null;
    if (types.hidesText) findings.found(HIDDEN_CHARSET, 0);
    if (codings.length === 0) {
      const { progress } = question;
      // A small number, for the compiler as well: sums with a large one make the loops over bytes half as fast.
      const end = from + (Math.min(to - from, maxBytes - (progress?.bytes ?? 0)) | 0);
      this.isCut = end - from + (progress?.bytes ?? 0) >= maxBytes;
      this.beginSteps(end - from, progress);
      if (this.inspectContent(types, question, bytes, from, end) === Shape.Unknown) this.foundUnreadable();
      if (progress !== null) {
        progress.bytes += end - from;
        progress.steps = inspector.value.steps.taken;
      }
      return end === to;
    }
    if (areTooMany(codings)) this.foundUnreadable();
    const content = reading.unpack();
    this.isCut = content.isCut || to - from >= maxBytes;
    this.beginSteps(Math.min(to - from, maxBytes) + content.bytes.length, null);
    const inside = this.inspectContent(types, question, content.bytes, 0, content.bytes.length);
    // Applications that do not look at the coding read what is there.
    const outside = this.inspectPacked(
      types,
      question,
      bytes,
      from,
      Math.min(to, from + maxBytes),
      content.bytes.length > 0,
    );
    const isUnknown = inside === Shape.Unknown && outside === Shape.Unknown;
    // A text with a wrong label has been inspected; of anything else, some reader may make more.
    if (isUnknown || (content.isBroken && isBinary(bytes, from, to))) this.foundUnreadable();
    return !content.isCut && to - from <= maxBytes;
  }

  /** The firewall reads each byte in several ways, and looks for keywords in each. */
  private beginSteps(bytes: number, progress: BodyProgress | null): void {
    const { steps } = this.inspector.value;
    steps.begin(READINGS * (bytes + (progress?.bytes ?? 0)));
    steps.take(2 * READINGS * bytes + (progress?.steps ?? 0));
  }

  /** @param isPacked whether the codings could be undone: then text in it is by chance, or put there */
  private inspectPacked(
    types: DeclaredTypes,
    question: BodyQuestion,
    bytes: Uint8Array,
    from: number,
    to: number,
    isPacked: boolean,
  ): Shape {
    if (!isPacked || !isBinary(bytes, from, to)) return this.inspectContent(types, question, bytes, from, to);
    this.inspectRuns(bytes, from, to);
    this.inspectWide(types.kinds, bytes, from, to);
    return (types.kinds & BodyKind.Multipart) === 0 ? Shape.Parted : this.inspectParts(types, bytes, from, to);
  }

  /** Tries all that the content may be. @returns Unknown for a multipart body without parts */
  private inspectContent(
    types: DeclaredTypes,
    question: BodyQuestion,
    bytes: Uint8Array,
    from: number,
    to: number,
  ): Shape {
    if (from === to) return Shape.Parted;
    const kinds = types.kinds | (question.isJson ? BodyKind.Json : 0);
    this.inspectWide(kinds, bytes, from, to);
    if ((kinds & BodyKind.Multipart) !== 0) {
      const shape = this.inspectParts(types, bytes, from, to);
      if (kinds !== BodyKind.Multipart || shape === Shape.Unknown) this.inspectText(kinds, bytes, from, to);
      return shape;
    }
    if (types.isBase64) {
      const messages = base64Content(bytes, from, to);
      this.inspectMessages(kinds, messages, 0, messages.length);
    }
    if ((kinds & BodyKind.Grpc) === 0 || !this.inspectMessages(kinds, bytes, from, to)) {
      this.inspectText(kinds & ~BodyKind.Grpc, bytes, from, to);
    }
    return Shape.Parted;
  }

  private inspectWide(kinds: number, bytes: Uint8Array, from: number, to: number): void {
    const wide = narrowed(bytes, from, to);
    if (wide.length > 0) this.inspectText(kinds, wide, 0, wide.length);
  }

  private inspectText(kinds: number, bytes: Uint8Array, from: number, to: number): void {
    const { inspector, findings } = this;
    const first = firstByte(bytes, from, to);
    const isXml = (kinds & BodyKind.Xml) !== 0;
    const mayBeJson = first === Byte.OpenBrace || first === Byte.LeftBracket || first === Byte.Quote;
    if ((kinds & BodyKind.Form) !== 0) this.inspectForm(bytes, from, to);
    const isJson = (kinds & BodyKind.Json) !== 0;
    if (isXml || first === Byte.Less || isEbcdic(bytes, from, to)) {
      inspector.isGuess = !isXml && isNoise(bytes, from, to);
      if (inspector.isGuess) inspector.leastBits = bitsOfRuns(bytes, from, to);
      inspectXml(inspector, findings, isXml, bytes, from, to);
      inspector.isGuess = false;
    }
    inspector.nameNothing();
    if (mayBeJson || isJson) {
      const groups = this.readJson(isJson, bytes, from, to);
      // In a clean text of JSON, all that can mean something is in its strings.
      if ((groups & this.groups) === 0) return;
      // One in a hundred of compressed bodies begins as JSON does.
      const isGuessWrong = !isJson && isNoise(bytes, from, to);
      if (!isGuessWrong || groups !== NOT_JSON) {
        inspector.isGuess = isGuessWrong;
        inspectJson(inspector, bytes, from, to, isJson, (kinds & BodyKind.Report) !== 0);
        inspector.isGuess = false;
        inspector.nameNothing();
      }
      if (groups !== NOT_JSON) return;
    }
    const isNamed = (kinds & (BodyKind.Form | BodyKind.Xml)) !== 0;
    if (isNamed && (first === Byte.Less || !isXml)) return;
    if (isJson) this.inspectForm(bytes, from, to);
    else if (!this.seen.has(bytes, from, to)) this.inspectUnnamed(bytes, from, to);
  }

  /**
   * Reads a text of JSON: the one pass over it, in which its keywords are found, and what readers do not take alike.
   * @param isDeclared whether it is JSON to its reader; else it counts if all of it is JSON, or its first value if that is an object or array
   * @returns see `findJsonGroups`
   */
  private readJson(isDeclared: boolean, bytes: Uint8Array, from: number, to: number): number {
    const { guard, findings } = this;
    guard.begin(bytes, from, to, this.hasLines);
    const groups = findJsonGroups(this.automaton, guard, bytes, from, to);
    guard.end();
    const found = isDeclared || guard.isWhole ? guard.found : guard.foundInFirst;
    if (found !== 0) this.foundOddities(found, bytes, to);
    if (this.inspector.value.steps.isSpent) findings.foundSpent();
    return groups;
  }

  private foundOddities(found: number, bytes: Uint8Array, to: number): void {
    const { guard, inspector, findings } = this;
    for (const [i, rule] of JSON_RULES.entries()) {
      if ((found & (1 << i)) === 0) continue;
      const at = guard.placeOf(i);
      findings.setSource(bytes, at, Math.min(at + MAX_SHOWN, to));
      if (rule !== DUPLICATE_KEYS) findings.found(rule, 0);
      else {
        const { value } = inspector;
        value.loadJson(bytes, at, stringEnd(bytes, at, to, bytes[at - 1]!));
        inspector.setName(value.bytes, 0, value.length);
        findings.found(rule, 0);
        inspector.nameNothing();
      }
    }
  }

  private inspectUnnamed(bytes: Uint8Array, from: number, to: number): void {
    if (isBinary(bytes, from, to)) this.inspectRuns(bytes, from, to);
    else if (this.mayTextMatch(bytes, from, to)) this.inspectPlain(bytes, from, to);
    else this.seen.note(bytes, from, to);
  }

  /** Whether there is a keyword in the text as it is, or in the pairs that it may consist of. */
  private mayTextMatch(bytes: Uint8Array, from: number, to: number): boolean {
    const { automaton } = this;
    if ((automaton.find(bytes, from, to) & this.groups) !== 0) return true;
    const hasPairs = hasByte(bytes, Byte.Equals, from, to);
    return hasPairs && (findGroups(automaton, PAIR_BYTES, bytes, from, to) & this.groups) !== 0;
  }

  /** Text of no known kind: as one value, and as the form that it may be. */
  private inspectPlain(bytes: Uint8Array, from: number, to: number): void {
    const { inspector } = this;
    inspector.nameNothing();
    inspector.value.load(bytes, from, to);
    inspector.inspect(bytes, from, to);
    this.inspectLikelyPairs(bytes, from, to);
    inspector.nameNothing();
  }

  /** The pairs of what may be a form: in texts and programs, what is between two ampersands is no pair. */
  private inspectLikelyPairs(bytes: Uint8Array, from: number, to: number): void {
    // Bounded, since a body may consist of thousands of runs.
    if (!hasByte(bytes, Byte.Equals, from, to)) return;
    for (let at = from; at < to; ) {
      const end = indexOfByte(bytes, Byte.Ampersand, at, to);
      if (isLikelyPair(bytes, at, end)) this.inspectForm(bytes, at, end);
      at = end + 1;
    }
  }

  private inspectForm(bytes: Uint8Array, from: number, to: number): void {
    const { inspector, automaton } = this;
    const groups = findGroups(automaton, PAIR_BYTES, bytes, from, to);
    if ((groups & this.groups) === 0 && !this.hasPacked(bytes, from, to)) return;
    inspectPairs(inspector, InputLocation.Body, Byte.Ampersand, bytes, from, to);
    // Some split pairs there, too.
    if (indexOfByte(bytes, Byte.Semicolon, from, to) < to)
      inspectPairs(inspector, InputLocation.Body, Byte.Semicolon, bytes, from, to);
  }

  /** Whether there is a keyword in a text in base64. */
  private hasPacked(bytes: Uint8Array, from: number, to: number): boolean {
    const { steps } = this.inspector.value;
    return (findPackedGroups(this.automaton, bytes, from, to, steps) & this.groups) !== 0;
  }

  private inspectRuns(bytes: Uint8Array, from: number, to: number): void {
    this.inspector.nameNothing();
    eachRun(bytes, from, to, this.takeRun);
  }

  /** @returns whether the body consists of messages */
  private inspectMessages(kinds: number, bytes: Uint8Array, from: number, to: number): boolean {
    const { steps } = this.inspector.value;
    const { contents, isFramed, isLastWhole } = messagesOf(bytes, from, to, (isMarked) =>
      steps.take(isMarked ? UNPACKING_STEPS : 8 * UNPACKING_STEPS),
    );
    if (steps.isSpent) this.findings.foundSpent();
    const isJson = (kinds & BodyKind.Json) !== 0;
    for (const content of contents) {
      if (isJson) this.inspectText(BodyKind.Json, content, 0, content.length);
      else this.inspectRuns(content, 0, content.length);
    }
    // A message that is longer than its body is none: its length may be the beginning of a text.
    return isFramed && (isLastWhole || this.isCut) && (kinds & ~(BodyKind.Grpc | BodyKind.Json)) === 0;
  }

  /** A field of a multipart body, or text between its parts; the reading has its name. For the parameters see FieldTaker. */
  private inspectField(bytes: Uint8Array, from: number, to: number, isFileByName: boolean): void {
    const { inspector, findings } = this;
    const { value } = inspector;
    if (value.nameLength === 0 && isBinary(bytes, from, to)) return this.inspectRuns(bytes, from, to);
    const isFile = isFileByName && isNoise(bytes, from, to) && !isMostlyText(bytes, from, to);
    if (isFile) eachRun(bytes, from, to, this.takeValue);
    else this.takeValue(bytes, from, to);
    const first = firstByte(bytes, from, to);
    if (first === Byte.Less) inspectUpload(inspector, findings, bytes, from, to);
    else if (!isFile && (first === Byte.OpenBrace || first === Byte.LeftBracket)) {
      const groups = this.readJson(false, bytes, from, to);
      if ((groups & this.groups) !== 0) inspectJson(inspector, bytes, from, to, false);
    }
  }

  private inspectParts(types: DeclaredTypes, bytes: Uint8Array, from: number, to: number): Shape {
    const shape = this.parts.inspect(types.boundary, bytes, from, to);
    this.inspector.nameNothing();
    if (shape === Shape.Ambiguous) this.foundUnreadable();
    return shape;
  }

  private foundUnreadable(): void {
    this.findings.found(UNREADABLE_BODY, 0);
  }
}

/** The first byte that is no white space, after a byte order mark; 0 if there is none. */
function firstByte(bytes: Uint8Array, from: number, to: number): number {
  let at = bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf ? from + 3 : from;
  while (at < to && isWhitespace(bytes[at]!)) at++;
  return at < to ? bytes[at]! : 0;
}

/** Whether a client may have written a pair so: without blanks, or with escapes beside them. */
function isLikelyPair(bytes: Uint8Array, from: number, to: number): boolean {
  let hasBlank = false;
  let hasEscape = false;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    if (isWhitespace(byte)) hasBlank = true;
    else if (byte === Byte.Percent && (HEX_VALUE[bytes[at + 1]!]! | HEX_VALUE[bytes[at + 2]!]!) <= 15) hasEscape = true;
    else if (byte === Byte.Plus && at > from && !isWhitespace(bytes[at - 1]!) && !isWhitespace(bytes[at + 1]!))
      hasEscape = true;
  }
  return !hasBlank || hasEscape;
}

/** One native search of a part: a byte in 4 KiB is found in 0.1 µs. */
function hasByte(bytes: Uint8Array, byte: number, from: number, to: number): boolean {
  return bytes.subarray(from, to).includes(byte);
}

/** As a text, as a form with two separators, and as JSON or XML. */
const READINGS = 2;
/** To set up a decompressor costs as much as so many bytes, however short a message is; if none is marked, several are tried. */
const UNPACKING_STEPS = 16_384;
/** Bytes of a text from an oddity on that an incident shows. */
const MAX_SHOWN = 64;
/** See `findJsonGroups`. */
const NOT_JSON = -1;
