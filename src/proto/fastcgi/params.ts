import { Byte, byteTable, copyBytes, equalsLower, latin1, writeDecimal } from "../../core/bytes.ts";

/** Bytes of the two lengths before a name and its value at most. */
const LENGTHS = 8;

/** Writes how long a name or a value is: in a byte below 128, else in four. FastCGI Specification 1.0, section 3.4 */
function writeLength(out: Buffer, at: number, length: number): number {
  if (length < 128) {
    out[at] = length;
    return at + 1;
  }
  out[at] = (length >>> 24) | 0x80;
  out[at + 1] = length >>> 16;
  out[at + 2] = length >>> 8;
  out[at + 3] = length;
  return at + 4;
}

/** Writes a parameter whose value is `bytes[from, to)`. @returns the offset after it */
export function writeParam(
  out: Buffer,
  start: number,
  name: Uint8Array,
  bytes: Uint8Array,
  from: number,
  to: number,
): number {
  const at = writeLength(out, writeLength(out, start, name.length), to - from);
  return copyBytes(out, copyBytes(out, at, name, 0, name.length), bytes, from, to);
}

/** Writes a parameter whose value is a text with one character a byte. @returns the offset after it */
export function writeTextParam(out: Buffer, start: number, name: Uint8Array, value: string): number {
  const at = writeLength(out, writeLength(out, start, name.length), value.length);
  const valueAt = copyBytes(out, at, name, 0, name.length);
  return valueAt + out.latin1Write(value, valueAt);
}

/** Writes a parameter whose value is a number from 0 on. @returns the offset after it */
export function writeNumberParam(out: Buffer, at: number, name: Uint8Array, value: number): number {
  // A number has fewer than 128 digits: its length is one byte, which is known once it is written.
  const valueAt = writeTextParam(out, at, name, "");
  const end = writeDecimal(out, valueAt, value);
  out[valueAt - name.length - 1] = end - valueAt;
  return end;
}

/** Bytes that a parameter takes at most. */
function paramBound(name: number, value: number): number {
  return name + value + LENGTHS;
}

/** Parameters that do not change, made ready to be copied. Values hold one character a byte. */
export function encodedParams(params: Iterable<readonly [name: string, value: string]>): Buffer {
  const all = [...params];
  const bound = all.reduce((sum, [name, value]) => sum + paramBound(name.length, value.length), 0);
  const out = Buffer.allocUnsafeSlow(bound);
  const end = all.reduce((at, [name, value]) => writeTextParam(out, at, latin1(name), value), 0);
  return out.subarray(0, end);
}

/** Bytes that `FieldParams.write` may write at most for a head of so many bytes: each name gets a prefix and lengths. */
export function fieldParamsBound(headBytes: number): number {
  return headBytes + Math.ceil(headBytes / LEAST_LINE) * (LENGTHS + PREFIX.length);
}

/**
 * Makes parameters of the fields of a request's head, as RFC 3875 §4.1.18 names them: `Accept-Language` becomes
 * `HTTP_ACCEPT_LANGUAGE`. Scripts read `-`, `_`, `.` and other characters of a name as the same one, so that a name with any
 * other than letters, digits and `-` is left out: no client can spell a field that the gateway or a rule of it goes by in another
 * way. Left out too are `Proxy`, which some programs take for HTTP_PROXY of their environment, and what belongs to the connection.
 * Fields with the same name are joined. docs/php.md#what-scripts-see
 */
export class FieldParams {
  /** The value of Host; both 0 if there is none. */
  hostFrom = 0;
  hostTo = 0;
  /** The value of Content-Type; both 0 if there is none. */
  typeFrom = 0;
  typeTo = 0;
  /** Four numbers a field: name from, name to, value from, value to. */
  private places: Int32Array = new Int32Array(4 * FIRST_FIELDS);
  /** Of each field: the next one with the same name, or -1; 0 is never one. */
  private next: Int32Array = new Int32Array(FIRST_FIELDS);
  /** Of each field: the last one with the same name, or -1 if an earlier one has it. */
  private last: Int32Array = new Int32Array(FIRST_FIELDS);
  private hashes: Int32Array = new Int32Array(FIRST_FIELDS);
  /** Of each bucket: the first field in it, or -1; of each field: the next one in its bucket. */
  private readonly buckets: Int32Array = new Int32Array(BUCKETS);
  private chain: Int32Array = new Int32Array(FIRST_FIELDS);
  private count = 0;

  /**
   * Writes the fields of the head in `head[0, end)`, which is as the gateway writes one: `name: value`, CRLF, an empty line.
   * @returns the offset after them
   */
  write(head: Buffer, end: number, out: Buffer, start: number): number {
    this.read(head, end);
    let at = start;
    for (let i = 0; i < this.count; i++) if (this.last[i]! >= 0) at = this.writeField(head, i, out, at);
    return at;
  }

  private read(head: Buffer, end: number): void {
    this.count = 0;
    this.hostFrom = this.hostTo = this.typeFrom = this.typeTo = 0;
    const { buckets } = this;
    for (let i = 0; i < BUCKETS; i++) buckets[i] = -1;
    for (let from = head.indexOf(Byte.Lf) + 1; from < end - 2; ) {
      // Names are short: a loop that makes their hash costs less than the calls that would look for their ends.
      let hash = 0;
      let isName = 1;
      let at = from;
      for (let byte = head[at]!; byte !== Byte.Colon && at < end; byte = head[++at]!) {
        const variable = VARIABLE[byte]!;
        if (variable === 0) isName = 0;
        hash = (Math.imul(hash, HASH_FACTOR) + variable) | 0;
      }
      const lineTo = endOfLine(head, at);
      if (isName === 1) this.take(head, from, at, Math.min(at + 2, lineTo), lineTo, hash);
      from = lineTo + 2;
    }
  }

  private take(head: Buffer, from: number, to: number, valueFrom: number, valueTo: number, hash: number): void {
    const special = SPECIALS[hash & (SPECIAL_SLOTS - 1)]!;
    if (special !== null && special.hash === hash && equalsLower(head, from, to, special.name)) {
      if (special.use === Use.Dropped) return;
      if (special.use === Use.Type) {
        this.typeFrom = valueFrom;
        this.typeTo = valueTo;
        return;
      }
      this.hostFrom = valueFrom;
      this.hostTo = valueTo;
    }
    this.add(head, from, to, valueFrom, valueTo, hash);
  }

  private add(head: Buffer, nameFrom: number, nameTo: number, valueFrom: number, valueTo: number, hash: number): void {
    const i = this.count++;
    if (i === this.hashes.length) this.grow();
    const { places } = this;
    places[i * 4] = nameFrom;
    places[i * 4 + 1] = nameTo;
    places[i * 4 + 2] = valueFrom;
    places[i * 4 + 3] = valueTo;
    this.hashes[i] = hash;
    this.next[i] = -1;
    const first = this.find(head, i);
    if (first >= 0) {
      this.next[this.last[first]!] = i;
      this.last[first] = i;
      this.last[i] = -1;
      return;
    }
    this.last[i] = i;
    this.chain[i] = this.buckets[hash & (BUCKETS - 1)]!;
    this.buckets[hash & (BUCKETS - 1)] = i;
  }

  /** The first field with the name of field `index`, or -1. */
  private find(head: Buffer, index: number): number {
    const { places, hashes } = this;
    const hash = hashes[index]!;
    const from = places[index * 4]!;
    const length = places[index * 4 + 1]! - from;
    for (let i = this.buckets[hash & (BUCKETS - 1)]!; i >= 0; i = this.chain[i]!) {
      const other = places[i * 4]!;
      if (hashes[i] !== hash || places[i * 4 + 1]! - other !== length) continue;
      let at = 0;
      while (at < length && VARIABLE[head[from + at]!] === VARIABLE[head[other + at]!]) at++;
      if (at === length) return i;
    }
    return -1;
  }

  private writeField(head: Buffer, index: number, out: Buffer, start: number): number {
    const { places, next } = this;
    const nameFrom = places[index * 4]!;
    const nameTo = places[index * 4 + 1]!;
    const joint = next[index]! < 0 || !equalsLower(head, nameFrom, nameTo, COOKIE) ? COMMA : SEMICOLON;
    let length = -joint.length;
    for (let i = index; i >= 0; i = next[i]!) length += places[i * 4 + 3]! - places[i * 4 + 2]! + joint.length;
    let at = writeLength(out, writeLength(out, start, PREFIX.length + nameTo - nameFrom), length);
    at = copyBytes(out, at, PREFIX, 0, PREFIX.length);
    for (let from = nameFrom; from < nameTo; from++) out[at++] = VARIABLE[head[from]!]!;
    at = copyBytes(out, at, head, places[index * 4 + 2]!, places[index * 4 + 3]!);
    for (let i = next[index]!; i >= 0; i = next[i]!) {
      at = copyBytes(out, at, joint, 0, joint.length);
      at = copyBytes(out, at, head, places[i * 4 + 2]!, places[i * 4 + 3]!);
    }
    return at;
  }

  private grow(): void {
    const fields = this.hashes.length * 2;
    this.places = larger(this.places, fields * 4);
    this.next = larger(this.next, fields);
    this.last = larger(this.last, fields);
    this.hashes = larger(this.hashes, fields);
    this.chain = larger(this.chain, fields);
  }
}

function larger(numbers: Int32Array, length: number): Int32Array {
  const copy = new Int32Array(length);
  copy.set(numbers);
  return copy;
}

const FIRST_FIELDS = 64;
/** A power of two. */
const BUCKETS = 64;
/** `a: ` and the line break. */
const LEAST_LINE = 5;
const PREFIX: Uint8Array = latin1("HTTP_");
const COMMA: Uint8Array = latin1(", ");
/** RFC 9113 §8.2.3. */
const SEMICOLON: Uint8Array = latin1("; ");
const COOKIE: Uint8Array = latin1("cookie");

/** The byte of a variable's name for one of a field's name; 0 for bytes that no name may have. */
const VARIABLE: Uint8Array = byteTable((byte) => {
  const character = String.fromCharCode(byte);
  if (character === "-") return 0x5f;
  return /[A-Za-z0-9]/.test(character) ? character.toUpperCase().charCodeAt(0) : 0;
});

/** Where a line ends, whose value begins after `at`. Most values are short. */
function endOfLine(head: Buffer, at: number): number {
  const near = at + NEAR_BYTES;
  let to = at;
  while (to < near && head[to] !== Byte.Cr) to++;
  return to < near ? to : head.indexOf(Byte.Cr, to);
}

const NEAR_BYTES = 64;
const HASH_FACTOR = 31;

const enum Use {
  /** It has a variable of its own, is about the connection, or must not be told. */
  Dropped = 0,
  /** Content-Type, which has a variable of its own. */
  Type,
  /** Host, of which SERVER_NAME is made beside. */
  Host,
}

interface SpecialName {
  readonly name: Uint8Array;
  readonly hash: number;
  readonly use: Use;
}

const SPECIAL_SLOTS = 1024;

/** Names that are not written as they are, by their hash: each has a slot of its own. RFC 3875 §4.1.18 */
const SPECIALS: readonly (SpecialName | null)[] = slotsOf([
  ["content-length", Use.Dropped],
  ["connection", Use.Dropped],
  ["transfer-encoding", Use.Dropped],
  ["keep-alive", Use.Dropped],
  ["proxy-connection", Use.Dropped],
  ["upgrade", Use.Dropped],
  ["te", Use.Dropped],
  ["expect", Use.Dropped],
  ["http2-settings", Use.Dropped],
  // What some programs take for HTTP_PROXY of their environment (httpoxy).
  ["proxy", Use.Dropped],
  ["content-type", Use.Type],
  ["host", Use.Host],
]);

function slotsOf(names: readonly (readonly [name: string, use: Use])[]): (SpecialName | null)[] {
  const slots: (SpecialName | null)[] = new Array(SPECIAL_SLOTS).fill(null);
  for (const [name, use] of names) {
    const bytes = latin1(name);
    const hash = bytes.reduce((sum, byte) => (Math.imul(sum, HASH_FACTOR) + VARIABLE[byte]!) | 0, 0);
    if (slots[hash & (SPECIAL_SLOTS - 1)] !== null) throw new Error("two names of fields in one slot");
    slots[hash & (SPECIAL_SLOTS - 1)] = { name: bytes, hash, use };
  }
  return slots;
}
