import { Byte, latin1 } from "../../../core/bytes.ts";
import { hasTextAt } from "../match/scan.ts";
import type { ValueReading } from "../match/value-reading.ts";
import { WordSet } from "../match/word-set.ts";
import {
  ANY_TEXT,
  CRITICAL_SCORE,
  type DetectionListener,
  type Detector,
  type DetectorGroup,
  ERROR_SCORE,
  each,
  type WafRule,
} from "../rule.ts";

/** Lookups of that library whose value is no part of the expression, separated by blanks. */
const OTHER_LOOKUPS = "env sys java main ctx bundle map log4j k8s docker base64 spring sd event marker web";

const JNDI_LOOKUP: WafRule = {
  id: "LOG4J-001",
  crs: [944150, 944151, 944152],
  category: "log4j",
  score: CRITICAL_SCORE,
  description: "JNDI lookup of a logging library (CVE-2021-44228)",
  // One that becomes jndi begins with its first letter, or with a lookup.
  keywords: ["${j", "${${", "${::-"],
};
const NESTED_LOOKUP: WafRule = {
  id: "LOG4J-002",
  crs: [944151, 944150, 944152],
  category: "log4j",
  score: ERROR_SCORE,
  description: "nested lookups",
  keywords: each(`lower upper date ${OTHER_LOOKUPS}`, (name) => `\${${name}:`),
};

/** Lookups in what is logged, which is nearly everything. */
export const LOOKUP_GROUP: DetectorGroup = {
  rules: [JNDI_LOOKUP, NESTED_LOOKUP],
  locations: ANY_TEXT,
  keywords: () => [],
  detectors: () => [new LookupExpressions()],
};

/**
 * Finds lookups that a Java logging library carries out: ${jndi:…}, also if its letters are put together by other
 * lookups, as ${${lower:j}ndi:…} or ${${::-j}${env:X:-n}di:…}. The value is resolved inside out as the library does
 * it, with a stack, in one pass: what a lookup gives becomes part of the text around it.
 */
class LookupExpressions implements Detector {
  private readonly text: Uint8Array = new Uint8Array(MAX_RESOLVED_BYTES);
  /** Where in `text` each lookup that is still open begins. */
  private readonly opens: Int32Array = new Int32Array(MAX_DEPTH);
  private depth = 0;
  private length = 0;

  /** Resolves all lookups of the value. */
  analyse(value: ValueReading, listener: DetectionListener): void {
    const { bytes, length } = value;
    this.depth = 0;
    this.length = 0;
    let nested = 0;
    for (let at = 0; at < length; at++) {
      const byte = bytes[at]!;
      if (byte === Byte.Dollar && bytes[at + 1] === Byte.OpenBrace) {
        if (this.depth > 0) nested++;
        if (this.depth === MAX_DEPTH) listener.found(JNDI_LOOKUP, at);
        else this.opens[this.depth++] = this.length;
        at++;
      } else if (byte === Byte.CloseBrace && this.depth > 0) {
        if (!value.steps.take(STEPS + 4 * (this.length - this.opens[this.depth - 1]!))) return;
        this.close(listener, at, nested);
      } else if (this.depth > 0) {
        this.put(byte);
        if (byte === Byte.Colon && this.depth > 0 && this.isJndi()) listener.found(JNDI_LOOKUP, at);
      }
      if (this.depth === 0) nested = 0;
    }
  }

  /** The innermost lookup is complete: what it gives stays in its place. */
  private close(listener: DetectionListener, at: number, nested: number): void {
    const { text } = this;
    const from = this.opens[--this.depth]!;
    const colon = this.indexOfColon(from);
    const kind = LOOKUPS.valueOf(text, from, colon);
    const isPart = this.depth > 0;
    if (isPart && nested > 0 && (kind !== 0 || colon === from)) listener.found(NESTED_LOOKUP, at);
    let result = this.indexOfDefault(from);
    if (result < 0) result = kind === CASE ? colon + 1 : kind === DATE ? colon + 1 : this.length;
    let to = from;
    for (let i = result; i < this.length; i++) if (text[i] !== Byte.Apostrophe) text[to++] = text[i]!;
    this.length = isPart ? to : from;
    if (isPart && this.isJndi()) listener.found(JNDI_LOOKUP, at);
  }

  /** Whether the innermost lookup begins `jndi:`. */
  private isJndi(): boolean {
    const from = this.opens[this.depth - 1]!;
    const colon = from + JNDI_NAME.length;
    return colon < this.length && this.text[colon] === Byte.Colon && hasTextAt(this.text, from, JNDI_NAME);
  }

  private indexOfColon(from: number): number {
    let at = from;
    while (at < this.length && this.text[at] !== Byte.Colon) at++;
    return at;
  }

  /** Offset of what follows `:-`, or -1. */
  private indexOfDefault(from: number): number {
    for (let at = from; at + 1 < this.length; at++) {
      if (this.text[at] === Byte.Colon && this.text[at + 1] === Byte.Dash) return at + 2;
    }
    return -1;
  }

  /** Text within lookups. One that is longer than any name was never closed: what comes then begins anew. */
  private put(byte: number): void {
    if (this.length === MAX_RESOLVED_BYTES) {
      this.depth = 0;
      this.length = 0;
    } else this.text[this.length++] = byte;
  }
}

const JNDI_NAME: Uint8Array = latin1("jndi");
const NAMED = 1;
const CASE = 2;
const DATE = 3;
const OTHER = 4;
const LOOKUPS: WordSet = new WordSet([
  [NAMED, "jndi"],
  [CASE, "lower upper"],
  [DATE, "date"],
  [OTHER, OTHER_LOOKUPS],
]);
/** What the end of a lookup costs beside its text. */
const STEPS = 16;
const MAX_DEPTH = 32;
const MAX_RESOLVED_BYTES = 512;
