import { copyBytes, latin1, writeDecimal } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { HOP_BY_HOP } from "../../message/hop-by-hop.ts";
import { Framing, type ResponseHead } from "../../message/request-head.ts";
import { dropTable } from "../../proto/h1/response-encoder.ts";
import { BlockCursor } from "./store/cache-blocks.ts";
import { Slot } from "./store/cache-memory.ts";
import type { CacheStore } from "./store/cache-store.ts";

/**
 * Heads as they are stored: the fields as lines, just as HTTP/1.1 sends them, and before them a table of their lengths and
 * identities, so that nothing is parsed again when they are sent.
 *
 *     a field in the table:  length of the name (2 bytes), of the value (2), HeaderId (1)
 */
export class StoredHeads {
  /** What `encode` made. */
  bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES);
  length = 0;
  fieldCount = 0;
  private readonly cursor: BlockCursor;
  private readonly store: CacheStore;

  constructor(store: CacheStore) {
    this.store = store;
    this.cursor = new BlockCursor(store.memory);
  }

  /**
   * Makes the stored form of a head: without what belongs to one connection, one exchange or one user
   * (Set-Cookie), with its length and a date. RFC 9110 §6.6.1: a cache dates a response
   * without a date. docs/cache.md#what-is-stored
   * @param date the 29 bytes of the current date
   */
  encode(response: ResponseHead, date: Uint8Array): void {
    const { headers } = response;
    const tableBytes = (headers.count + OWN_FIELDS) * ROW_BYTES;
    const bound = tableBytes + headers.lineBytes + OWN_BYTES;
    if (bound > this.bytes.length) this.bytes = Buffer.allocUnsafeSlow(bound);
    const kept: number[] = [];
    for (let i = 0; i < headers.count; i++) if (DROP[headers.ids[i]!] === 0) kept.push(i);
    const isDated = headers.find(HeaderId.Date) >= 0;
    this.fieldCount = kept.length + (isDated ? 1 : 2);
    let row = 0;
    let at = this.fieldCount * ROW_BYTES;
    for (const i of kept) {
      const nameBytes = headers.nameLength(i);
      const valueBytes = headers.valueLength(i);
      row = this.writeRow(row, nameBytes, valueBytes, headers.ids[i]!);
      at = headers.copyName(i, this.bytes, at);
      at = this.writeText(at, ": ");
      at = headers.copyValue(i, this.bytes, at);
      at = this.writeText(at, "\r\n");
    }
    if (!isDated) {
      row = this.writeRow(row, 4, date.length, HeaderId.Date);
      at = this.writeText(at, "Date: ");
      at = copyBytes(this.bytes, at, date, 0, date.length);
      at = this.writeText(at, "\r\n");
    }
    const length = response.framing === Framing.Chunked ? NO_LENGTH_YET : String(response.contentLength);
    this.writeRow(row, 14, length.length, HeaderId.ContentLength);
    this.length = this.writeText(at, `Content-Length: ${length}\r\n`);
  }

  /**
   * Writes the length of a body into its stored head, if it was not known when that was made.
   * @param head what `length` and `fieldCount` were then
   */
  writeLength(fill: number, head: { length: number; fieldCount: number }, bodyBytes: number): void {
    const digits = Buffer.from(`${bodyBytes}\r\n`, "latin1");
    this.store.write(fill, head.length - NO_LENGTH_YET.length - 2, digits, 0, digits.length);
    const valueBytes = Buffer.of(digits.length - 2, 0);
    this.store.write(fill, head.fieldCount * ROW_BYTES - 3, valueBytes, 0, 2);
  }

  /**
   * Reads the head of a pinned entry into a block of fields.
   * @param room bytes that the caller will write after it; they go at the offset that is returned
   */
  read(slot: number, headers: HeaderBlock, room: number): number {
    const { words } = this.store.memory;
    const at = this.store.memory.at(slot);
    const length = words[at + Slot.HeadBytes]!;
    const count = words[at + Slot.FieldCount]!;
    const own = headers.lend(length + room);
    this.cursor.seek(words[at + Slot.FirstBlock]!, this.store.keyBytesOf(slot));
    this.cursor.read(own, 0, length);
    return pushFields(own, count, headers);
  }

  private writeRow(row: number, nameBytes: number, valueBytes: number, id: HeaderId): number {
    const { bytes } = this;
    bytes[row] = nameBytes & 255;
    bytes[row + 1] = nameBytes >>> 8;
    bytes[row + 2] = valueBytes & 255;
    bytes[row + 3] = valueBytes >>> 8;
    bytes[row + 4] = id;
    return row + ROW_BYTES;
  }

  private writeText(at: number, text: string): number {
    return at + this.bytes.latin1Write(text, at, text.length);
  }
}

/** Reads a stored head into a block of fields. */
export function readHead(bytes: Buffer, fieldCount: number, headers: HeaderBlock): void {
  const own = headers.lend(bytes.length);
  bytes.copy(own, 0);
  pushFields(own, bytes.length === 0 ? 0 : fieldCount, headers);
}

/** @returns the end of the last field */
function pushFields(own: Uint8Array, count: number, headers: HeaderBlock): number {
  let from = count * ROW_BYTES;
  for (let row = 0; row < count * ROW_BYTES; row += ROW_BYTES) {
    const nameTo = from + own[row]! + own[row + 1]! * 256;
    const valueFrom = nameTo + 2;
    const valueTo = valueFrom + own[row + 2]! + own[row + 3]! * 256;
    headers.push(own[row + 4]!, from, nameTo, valueFrom, valueTo);
    from = valueTo + 2;
  }
  return from;
}

/** The fields that a hit has beside the stored ones: what the cache did, for how long it is fresh, and the age. */
export class HitFields {
  private readonly image: Buffer;
  private readonly statusAt: number;

  /** @param status the value of Cache-Status, but for the time that is left */
  constructor(status: string) {
    const first = "X-Cache: HIT\r\n";
    this.image = Buffer.from(`${first}Cache-Status: ${status}; ttl=`, "latin1");
    this.statusAt = first.length;
  }

  /** Bytes that `append` writes at most, but for a key. */
  get bound(): number {
    return this.image.length + AGE.length + MAX_DIGITS * 2 + 4;
  }

  /**
   * Writes the fields after all that the block has.
   * @param at where `StoredHeads.read` ended
   * @param times whole seconds; what is stale has less than none left
   * @param key what the entry is found by, as the parameter says it; "" if it is not to be said
   */
  append(headers: HeaderBlock, at: number, times: { ageS: number; leftS: number }, key: string): void {
    const own = headers.bytes as Buffer;
    let statusEnd = copyBytes(own, at, this.image, 0, this.image.length);
    if (times.leftS < 0) own[statusEnd++] = 0x2d;
    statusEnd = writeDecimal(own, statusEnd, Math.abs(times.leftS));
    if (key !== "") statusEnd += own.latin1Write(key, statusEnd, key.length);
    const ageAt = copyBytes(own, statusEnd, AGE, 0, AGE.length);
    const end = writeDecimal(own, ageAt, times.ageS);
    own[end] = 0x0d;
    own[end + 1] = 0x0a;
    const statusAt = at + this.statusAt;
    headers.push(HeaderId.XCache, at, at + 7, at + 9, statusAt - 2);
    headers.push(HeaderId.CacheStatus, statusAt, statusAt + 12, statusAt + 14, statusEnd);
    headers.push(HeaderId.Age, ageAt - 5, ageAt - 2, ageAt, end);
  }
}

/**
 * Takes the fields of a 304 into a stored head: they replace those of the same name. RFC 9111 §3.2, §4.3.4: not those that
 * describe the stored bytes.
 */
export function mergeHead(stored: HeaderBlock, fresh: HeaderBlock): void {
  stored.removeWhere((_, j) => isReplaced(stored, j, fresh));
  for (let i = 0; i < fresh.count; i++) {
    if (KEPT[fresh.ids[i]!] === 1 || isOldDescription(fresh, i)) continue;
    stored.addField(fresh, i);
  }
}

function isReplaced(stored: HeaderBlock, j: number, fresh: HeaderBlock): boolean {
  for (let i = 0; i < fresh.count; i++) {
    if (KEPT[fresh.ids[i]!] === 1 || isOldDescription(fresh, i)) continue;
    if (hasSameName(stored, j, fresh, i)) return true;
  }
  return false;
}

function hasSameName(one: HeaderBlock, i: number, other: HeaderBlock, j: number): boolean {
  if (one.ids[i] !== other.ids[j]) return false;
  return one.ids[i] !== HeaderId.Other || one.nameText(i).toLowerCase() === other.nameText(j).toLowerCase();
}

/** Content-MD5 has no identity of its own. */
function isOldDescription(headers: HeaderBlock, i: number): boolean {
  if (headers.ids[i] !== HeaderId.Other) return false;
  return headers.isNamed(i, CONTENT_MD5);
}

const CONTENT_MD5: Uint8Array = latin1("content-md5");
const DROP: Uint8Array = dropTable([
  ...HOP_BY_HOP,
  HeaderId.XRequestId,
  HeaderId.SetCookie,
  HeaderId.SetCookie2,
  HeaderId.Age,
  HeaderId.XCache,
]);
const KEPT: Uint8Array = dropTable([...HOP_BY_HOP, HeaderId.ContentEncoding, HeaderId.ContentRange, HeaderId.ETag]);
const ROW_BYTES = 5;
/** Date and Content-Length. */
const OWN_FIELDS = 2;
const OWN_BYTES = 128;
const FIRST_BYTES = 2048;
/** Holds the place of a length that is not known yet: as many digits as any has. */
const NO_LENGTH_YET = "0000000000";
const AGE: Buffer = Buffer.from("\r\nAge: ", "latin1");
const MAX_DIGITS = 16;
