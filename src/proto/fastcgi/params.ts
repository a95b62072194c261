import { Byte, copyBytes, equalsLower, LOWER, latin1, table, writeDecimal } from "../../core/bytes.ts";
import { HeaderId, headerIdOf } from "../../message/header-block.ts";
import { dropTable } from "../h1/reply-encoder.ts";

/** Bytes of the two lengths before a name and its value at most. */
const LENGTHS = 8;

/** Writes how long a name or a value is: in a byte below 128, else in four. FastCGI Specification 1.0, §3.4 */
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
export function paramBound(name: number, value: number): number {
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
  /** The value of Host; both 0 where there is none. */
  hostFrom = 0;
  hostTo = 0;
  /** The value of Content-Type; both 0 where there is none. */
  typeFrom = 0;
  typeTo = 0;
  /** Four numbers a field: name from, name to, value from, value to. */
  private spans: Int32Array = new Int32Array(4 * FIRST_FIELDS);
  /** Of each field: the next one with the same name, or -1; 0 is never one. */
  private next: Int32Array = new Int32Array(FIRST_FIELDS);
  /** Of each field: the last one with the same name, or -1 where an earlier one has it. */
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
    this.buckets.fill(-1);
    for (let from = head.indexOf(Byte.Lf) + 1; from < end - 2; ) {
      const colon = head.indexOf(Byte.Colon, from);
      const lineTo = head.indexOf(Byte.Cr, colon);
      const valueFrom = Math.min(colon + 2, lineTo);
      const id = headerIdOf(head, from, colon);
      if (id === HeaderId.ContentType) {
        this.typeFrom = valueFrom;
        this.typeTo = lineTo;
      } else if (DROP[id] === 0 && !equalsLower(head, from, colon, PROXY)) {
        if (id === HeaderId.Host) {
          this.hostFrom = valueFrom;
          this.hostTo = lineTo;
        }
        this.add(head, from, colon, valueFrom, lineTo);
      }
      from = lineTo + 2;
    }
  }

  private add(head: Buffer, nameFrom: number, nameTo: number, valueFrom: number, valueTo: number): void {
    let hash = 0;
    for (let at = nameFrom; at < nameTo; at++) {
      const byte = head[at]!;
      if (VARIABLE[byte] === 0) return;
      hash = (Math.imul(hash, 31) + LOWER[byte]!) | 0;
    }
    const i = this.count++;
    if (i === this.hashes.length) this.grow();
    this.spans.set([nameFrom, nameTo, valueFrom, valueTo], i * 4);
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
    const { spans, hashes } = this;
    const hash = hashes[index]!;
    const from = spans[index * 4]!;
    const length = spans[index * 4 + 1]! - from;
    for (let i = this.buckets[hash & (BUCKETS - 1)]!; i >= 0; i = this.chain[i]!) {
      const other = spans[i * 4]!;
      if (hashes[i] !== hash || spans[i * 4 + 1]! - other !== length) continue;
      let at = 0;
      while (at < length && LOWER[head[from + at]!] === LOWER[head[other + at]!]) at++;
      if (at === length) return i;
    }
    return -1;
  }

  private writeField(head: Buffer, index: number, out: Buffer, start: number): number {
    const { spans, next } = this;
    const nameFrom = spans[index * 4]!;
    const nameTo = spans[index * 4 + 1]!;
    const joint = next[index]! < 0 || !equalsLower(head, nameFrom, nameTo, COOKIE) ? COMMA : SEMICOLON;
    let length = -joint.length;
    for (let i = index; i >= 0; i = next[i]!) length += spans[i * 4 + 3]! - spans[i * 4 + 2]! + joint.length;
    let at = writeLength(out, writeLength(out, start, PREFIX.length + nameTo - nameFrom), length);
    at = copyBytes(out, at, PREFIX, 0, PREFIX.length);
    for (let from = nameFrom; from < nameTo; from++) out[at++] = VARIABLE[head[from]!]!;
    at = copyBytes(out, at, head, spans[index * 4 + 2]!, spans[index * 4 + 3]!);
    for (let i = next[index]!; i >= 0; i = next[i]!) {
      at = copyBytes(out, at, joint, 0, joint.length);
      at = copyBytes(out, at, head, spans[i * 4 + 2]!, spans[i * 4 + 3]!);
    }
    return at;
  }

  private grow(): void {
    const fields = this.hashes.length * 2;
    this.spans = larger(this.spans, fields * 4);
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
const PROXY: Uint8Array = latin1("proxy");

/** The byte of a variable's name for one of a field's name; 0 for bytes that no name may have. */
const VARIABLE: Uint8Array = table((byte) => {
  const character = String.fromCharCode(byte);
  if (character === "-") return 0x5f;
  return /[A-Za-z0-9]/.test(character) ? character.toUpperCase().charCodeAt(0) : 0;
});

/** What has a variable of its own, and what is about the connection. RFC 3875 §4.1.18 */
const DROP: Uint8Array = dropTable([
  HeaderId.ContentLength,
  HeaderId.Connection,
  HeaderId.TransferEncoding,
  HeaderId.KeepAlive,
  HeaderId.ProxyConnection,
  HeaderId.Upgrade,
  HeaderId.Te,
  HeaderId.Expect,
  HeaderId.Http2Settings,
]);

/** Names of the parameters that the gateway sets, which no setting may set otherwise. */
export const SCRIPT_PARAMS: readonly string[] = [
  "AUTH_TYPE",
  "CONTENT_LENGTH",
  "CONTENT_TYPE",
  "DOCUMENT_ROOT",
  "DOCUMENT_URI",
  "GATEWAY_INTERFACE",
  "HTTPS",
  "PATH_INFO",
  "PATH_TRANSLATED",
  "QUERY_STRING",
  "REDIRECT_STATUS",
  "REMOTE_ADDR",
  "REMOTE_PORT",
  "REMOTE_USER",
  "REQUEST_METHOD",
  "REQUEST_SCHEME",
  "REQUEST_URI",
  "SCRIPT_FILENAME",
  "SCRIPT_NAME",
  "SERVER_ADDR",
  "SERVER_NAME",
  "SERVER_PORT",
  "SERVER_PROTOCOL",
  "SERVER_SOFTWARE",
];
