/** The subject of a record. */
export const enum SpanKind {
  /** A request, and its request to the origin if there was one. */
  Request = 0,
  /** A call of a function, or of a hook. */
  Fetch,
  OnRequest,
  OnResponse,
  /** A request of `ctx.upstream()`. */
  Upstream,
}

/** How calls of functions and hooks end. */
export const CALL_OUTCOMES = ["ok", "error", "timeout", "gone", "busy", "cancelled"] as const;
export type CallOutcome = (typeof CALL_OUTCOMES)[number];

/** The numbers that are recorded of a request whose trace is sampled. docs/tracing.md#spans */
export const enum SpanNumber {
  /** Milliseconds since the epoch, with fractions. */
  StartMs = 0,
  EndMs,
  /** When it was sent on; -1 if it was not. */
  SentMs,
  /** From the request's head to the origin's response, in milliseconds; -1 if none came. */
  UpstreamMs,
  BytesIn,
  BytesOut,
  Status,
  /** How often it was sent upstream. */
  Attempts,
  /** The port that the client connected to. */
  Port,
  /** 1 if the client's connection is one of TLS, else 0. */
  Tls,
  /** Flags of its `traceparent`. */
  Flags,
  /** Ten times the major version and the minor one, such as 11. */
  Protocol,
  /** As `Method` numbers it; `Method.Other` has its text in the record. */
  Method,
  /** Why it was refused or cut, as `Fault` numbers it. */
  Fault,
  /** The cache's result, as `CacheResult` numbers it. */
  Cache,
  /** As `SpanKind` numbers it. */
  Kind,
  /** Of a call: microseconds until a thread took it. */
  QueueUs,
  /** Of a call: as `CALL_OUTCOMES` numbers it. */
  Outcome,
}

/** Its ids, of 16, 8, 8 and 8 bytes. */
export const enum SpanIdKind {
  Trace = 0,
  Own,
  /** The caller's; zeros if there is none. */
  Parent,
  /** That of the request to the origin. */
  Client,
}

/** Its texts, one byte a character; "" if it has none. */
export const enum SpanText {
  Method = 0,
  Host,
  /** Without the query. */
  Path,
  Route,
  Upstream,
  Client,
  UserAgent,
  RequestId,
  /** Of a call: the path of its module. */
  Module,
}

/**
 * The spans of all workers on their way to the control thread, in shared memory: a ring of bytes for each worker, with one writer and one
 * reader. A record is never divided: where the end of the ring has no room for the longest one, both go on at its beginning.
 *
 *     head, tail, dropped (Int32) … | records: length (Int32), numbers (Float64), ids, places of texts (Uint16), texts
 *
 * @param workers how many there are
 * @param bytes of each ring
 */
export function createSpanRings(workers: number, bytes: number = RING_BYTES): readonly SharedArrayBuffer[] {
  return Array.from({ length: workers }, () => new SharedArrayBuffer(HEADER_BYTES + bytes));
}

/** The worker's end. A record holds the values set between `begin` and `end`, in any order; others are 0 or "". */
export class SpanWriter {
  private readonly ring: RingViews;
  /** Offsets of the record, and of its next text. */
  private from = 0;
  private to = 0;

  constructor(buffer: SharedArrayBuffer) {
    this.ring = new RingViews(buffer);
  }

  /** Begins a record. @returns false if the reader does not keep up: the span is dropped and counted */
  begin(): boolean {
    const { ring } = this;
    const head = Atomics.load(ring.ints, HEAD);
    const tail = Atomics.load(ring.ints, TAIL);
    const at = ring.endsAt(head) ? 0 : head;
    // Head never comes to meet tail from behind: equal means empty.
    const isFree = tail > at ? tail - at > MAX_RECORD_BYTES : at === head;
    if (!isFree) {
      Atomics.add(ring.ints, DROPPED, 1);
      return false;
    }
    this.from = HEADER_BYTES + at;
    this.to = this.from + TEXTS_OFFSET;
    const { floats, bytes } = ring;
    const numbers = (this.from + NUMBERS_OFFSET) >>> 3;
    for (let i = 0; i < NUMBER_COUNT; i++) floats[numbers + i] = 0;
    const idsAt = this.from + IDS_OFFSET;
    for (let at = idsAt; at < this.to; at++) bytes[at] = 0;
    return true;
  }

  number(which: SpanNumber, value: number): void {
    this.ring.floats[((this.from + NUMBERS_OFFSET) >>> 3) + which] = value;
  }

  id(which: SpanIdKind, id: Uint8Array): void {
    const { bytes } = this.ring;
    const at = this.from + IDS_OFFSET + ID_OFFSETS[which]!;
    for (let i = 0; i < id.length; i++) bytes[at + i] = id[i]!;
  }

  /** A text whose characters are below 0x100; a long one is cut. */
  text(which: SpanText, text: string): void {
    const { bytes } = this.ring;
    const length = Math.min(text.length, TEXT_LIMITS[which]!);
    const { to } = this;
    for (let i = 0; i < length; i++) bytes[to + i] = text.charCodeAt(i);
    this.place(which, length);
  }

  /** The same, of `from[first, last)`. */
  slice(which: SpanText, from: Uint8Array, first: number, last: number): void {
    const { bytes } = this.ring;
    const length = Math.min(last - first, TEXT_LIMITS[which]!);
    const { to } = this;
    for (let i = 0; i < length; i++) bytes[to + i] = from[first + i]!;
    this.place(which, length);
  }

  /** The record is complete: the reader may have it. */
  end(): void {
    const { ints } = this.ring;
    const size = aligned(this.to - this.from);
    ints[this.from >>> 2] = size;
    Atomics.store(ints, HEAD, this.from - HEADER_BYTES + size);
  }

  private place(which: SpanText, length: number): void {
    const { shorts } = this.ring;
    const at = ((this.from + PLACES_OFFSET) >>> 1) + which * 2;
    shorts[at] = this.to - this.from;
    shorts[at + 1] = length;
    this.to += length;
  }
}

/** A record as the reader sees it, in the ring. It is another one with the next. */
export class StoredSpan {
  /** Those of the ring; `idAt` and `textAt` are offsets in them. */
  readonly bytes: Buffer;
  private readonly ring: RingViews;
  private from = 0;

  constructor(ring: RingViews) {
    this.ring = ring;
    this.bytes = ring.bytes;
  }

  /** Goes to the record at this offset. */
  goTo(from: number): void {
    this.from = from;
  }

  number(which: SpanNumber): number {
    return this.ring.floats[((this.from + NUMBERS_OFFSET) >>> 3) + which]!;
  }

  idAt(which: SpanIdKind): number {
    return this.from + IDS_OFFSET + ID_OFFSETS[which]!;
  }

  textAt(which: SpanText): number {
    return this.from + this.ring.shorts[((this.from + PLACES_OFFSET) >>> 1) + which * 2]!;
  }

  textLength(which: SpanText): number {
    return this.ring.shorts[((this.from + PLACES_OFFSET) >>> 1) + which * 2 + 1]!;
  }

  text(which: SpanText): string {
    const at = this.textAt(which);
    return this.bytes.latin1Slice(at, at + this.textLength(which));
  }
}

/** The control thread's end. */
export class SpanReader {
  private readonly ring: RingViews;
  private readonly shown: StoredSpan;

  constructor(buffer: SharedArrayBuffer) {
    this.ring = new RingViews(buffer);
    this.shown = new StoredSpan(this.ring);
  }

  /** Shows the recorded data, oldest first, and gives its room back. @param limit the most to show @returns how many there were */
  each(limit: number, show: (span: StoredSpan) => void): number {
    const { ints } = this.ring;
    const head = Atomics.load(ints, HEAD);
    let tail = Atomics.load(ints, TAIL);
    let count = 0;
    while (tail !== head && count < limit) {
      if (this.ring.endsAt(tail)) {
        tail = 0;
        continue;
      }
      const from = HEADER_BYTES + tail;
      this.shown.goTo(from);
      show(this.shown);
      count++;
      tail += ints[from >>> 2]!;
    }
    Atomics.store(ints, TAIL, tail);
    return count;
  }

  /** How many were dropped since this was last asked. */
  takeDropped(): number {
    return Atomics.exchange(this.ring.ints, DROPPED, 0);
  }
}

/** Views of a ring's content. Typed arrays are little-endian wherever this runs. */
class RingViews {
  readonly ints: Int32Array;
  readonly shorts: Uint16Array;
  readonly floats: Float64Array;
  readonly bytes: Buffer;
  private readonly size: number;

  constructor(buffer: SharedArrayBuffer) {
    this.ints = new Int32Array(buffer);
    this.shorts = new Uint16Array(buffer);
    this.floats = new Float64Array(buffer, 0, Math.floor(buffer.byteLength / 8));
    this.bytes = Buffer.from(buffer);
    this.size = buffer.byteLength - HEADER_BYTES;
  }

  /** Whether there is no room for a record from here to the end. */
  endsAt(at: number): boolean {
    return this.size - at < MAX_RECORD_BYTES;
  }
}

function aligned(bytes: number): number {
  return (bytes + 7) & ~7;
}

const HEAD = 0;
const TAIL = 1;
const DROPPED = 2;
const HEADER_BYTES = 64;
/** For three thousand spans and more; the control thread looks five times a second. */
const RING_BYTES = 1 << 20;

const NUMBER_COUNT = SpanNumber.Outcome + 1;
const ID_OFFSETS: readonly number[] = [0, 16, 24, 32];
const IDS_BYTES = 40;
/** The longest that is kept of each text, in the order of `SpanText`. */
export const TEXT_LIMITS: readonly number[] = [32, 255, 1024, 256, 256, 64, 256, 128, 256];
/** After the record's length, which is padded. */
const NUMBERS_OFFSET = 8;
const IDS_OFFSET = NUMBERS_OFFSET + NUMBER_COUNT * 8;
const PLACES_OFFSET = IDS_OFFSET + IDS_BYTES;
const TEXTS_OFFSET = PLACES_OFFSET + TEXT_LIMITS.length * 4;
const MAX_RECORD_BYTES = aligned(TEXTS_OFFSET + TEXT_LIMITS.reduce((sum, limit) => sum + limit, 0)) + 8;
