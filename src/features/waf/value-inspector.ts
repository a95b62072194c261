import { Byte, indexOfByte, LOWER } from "../../core/bytes.ts";
import { MAX_DECODING_ROUNDS } from "../../proto/target/percent-decoding.ts";
import { OVER_ENCODING } from "./detectors/protocol-abuse.ts";
import type { Findings } from "./findings.ts";
import { isPlainName } from "./match/escaped-scan.ts";
import type { KeywordAutomaton } from "./match/keyword-automaton.ts";
import { InputLocation, MAX_FIELD_NAME_BYTES, type ValueReading } from "./match/value-reading.ts";
import type { Detector } from "./rule.ts";
import { DETECTOR_GROUPS, ESCAPE_BIT, NUL_BIT, REFERENCE_BIT, type RuleTables, SCRIPT_BIT } from "./rule-table.ts";

/** Shows one value after the other to the detectors that its keywords call. */
export class ValueInspector {
  /** The caller loads it; see `inspect`. */
  readonly value: ValueReading;
  /** Whether the values that come are of a format that noise has by a guess, as by its first byte: a NUL in them means nothing. */
  isGuess = false;
  /** Of a guess, see `bitsOfRuns`. */
  leastBits = 0;
  private readonly findings: Findings;
  private readonly automaton: KeywordAutomaton;
  private readonly groupsAt: readonly number[];
  /** By group; several of them look at a value in the order of the table. */
  private readonly detectors: readonly (readonly Detector[])[] = DETECTOR_GROUPS.map((group) => group.detectors());

  constructor(value: ValueReading, findings: Findings, tables: RuleTables) {
    this.automaton = tables.automaton;
    this.groupsAt = tables.groupsAt;
    this.value = value;
    this.findings = findings;
  }

  /** Names the values that come: a parameter, a header, a cookie. */
  setName(bytes: Uint8Array, from: number, to: number): void {
    const { value } = this;
    const length = Math.min(to - from, MAX_FIELD_NAME_BYTES);
    for (let i = 0; i < length; i++) value.name[i] = LOWER[bytes[from + i]!]!;
    value.nameLength = length;
    value.lastNameFrom = 0;
  }

  /** The values that come have no name. */
  nameNothing(): void {
    this.value.nameLength = 0;
    this.value.lastNameFrom = 0;
  }

  /**
   * Inspects the value in the reading, and then once more with all escapes undone that are left in it.
   * @param from where the value begins on the wire, its name included
   */
  inspect(bytes: Uint8Array, from: number, to: number): void {
    const { value } = this;
    const groups = this.groupsAt[value.location]!;
    const allowed = this.isGuess ? groups & ~NUL_BIT : groups;
    this.findings.setSource(bytes, from, to);
    const mayBePacked = value.isPackedChars();
    if (value.steps.take(2 * value.length)) this.inspectReading(allowed);
    if (mayBePacked && value.steps.take(2 * value.length) && value.unpack()) this.inspectPacked(allowed);
    if (value.steps.isSpent) this.findings.foundSpent();
  }

  /** The rest of the request is not inspected: that would cost too much. docs/security.md#the-cost-of-inspection */
  giveUp(): void {
    this.findings.foundSpent();
  }

  /** A text that was in base64. One of many lines is a file that goes through, and no value. docs/waf.md#what-is-looked-at */
  private inspectPacked(allowed: number): void {
    const { value } = this;
    const { isQuoted } = value;
    value.isQuoted ||= isFile(value);
    this.inspectReading(allowed);
    value.isQuoted = isQuoted;
  }

  private inspectReading(allowed: number): void {
    const { value } = this;
    const groups = this.automaton.find(value.bytes, 0, value.length) & allowed;
    if (groups === 0) return;
    this.analyse(groups);
    if ((groups & REFERENCE_BIT) !== 0) {
      value.dereference();
      this.analyse(this.automaton.find(value.bytes, 0, value.length) & SCRIPT_BIT);
    }
    if ((groups & ESCAPE_BIT) === 0) return;
    const hasBlank = indexOfByte(value.bytes, Byte.Space, 0, value.length) < value.length;
    const rounds = value.unescape();
    value.steps.take(rounds * value.length);
    if (rounds > MAX_DECODING_ROUNDS) this.findings.found(OVER_ENCODING, 0);
    // In prose "%00" is a thing that is written about.
    const again = hasBlank && value.location === InputLocation.Body ? allowed & ~NUL_BIT : allowed;
    if (rounds > 0) this.analyse(this.automaton.find(value.bytes, 0, value.length) & again);
  }

  /** Shows the value to the detectors of these groups. */
  analyse(groups: number): void {
    const { value, findings } = this;
    if (!value.steps.take(ANALYSIS_STEPS * value.length)) return;
    for (let left = groups; left !== 0; left &= left - 1) {
      for (const detector of this.detectors[31 - Math.clz32(left & -left)]!) detector.analyse(value, findings);
    }
  }
}

function isFile({ bytes, length }: ValueReading): boolean {
  if (length < MIN_FILE_BYTES) return false;
  let lines = 0;
  for (let at = 0; at < length && lines < MIN_FILE_LINES; at++) if (bytes[at] === Byte.Lf) lines++;
  return lines === MIN_FILE_LINES;
}

/**
 * Inspects names and values of `a=1&b=2`, as in queries, forms and cookies.
 * @param separator the byte between two pairs
 */
export function inspectPairs(
  inspector: ValueInspector,
  location: InputLocation,
  separator: number,
  bytes: Uint8Array,
  from: number,
  to: number,
): void {
  inspector.value.location = location;
  for (let at = from; at < to; ) {
    while (at < to && (bytes[at] === separator || bytes[at] === Byte.Space)) at++;
    let equals = -1;
    let end = at;
    for (; end < to && bytes[end] !== separator; end++) if (equals < 0 && bytes[end] === Byte.Equals) equals = end;
    if (end > at) inspectPair(inspector, bytes, at, equals, end);
    at = end + 1;
  }
}

/** Inspects one pair; what has no equals sign is a name. */
function inspectPair(inspector: ValueInspector, bytes: Uint8Array, from: number, equals: number, to: number): void {
  const { value } = inspector;
  const nameTo = equals < 0 ? to : equals;
  load(inspector, bytes, from, nameTo);
  inspector.setName(value.bytes, 0, value.length);
  if (!isPlainName(bytes, from, nameTo)) {
    value.isName = true;
    inspector.inspect(bytes, from, to);
    value.isName = false;
  }
  if (equals < 0 || equals + 1 === to) return;
  load(inspector, bytes, equals + 1, to);
  inspector.inspect(bytes, from, to);
  if (value.location !== InputLocation.Header || indexOfByte(bytes, Byte.Backslash, equals + 1, to) === to) return;
  load(inspector, bytes, equals + 1, to);
  value.unquote();
  inspector.inspect(bytes, from, to);
}

/** In cookies a plus is a plus. */
function load(inspector: ValueInspector, bytes: Uint8Array, from: number, to: number): void {
  inspector.value.loadEscaped(bytes, from, to, inspector.value.location !== InputLocation.Header);
}

/** What is shorter, or has fewer lines, is what attacks are sent as. */
const MIN_FILE_BYTES = 512;
const MIN_FILE_LINES = 4;
/** Looks at each byte of a value by all detectors together, but for what they look at around a find. */
const ANALYSIS_STEPS = 8;
