/** What is recorded of a request whose trace is sampled. docs/tracing.md#spans */
export interface SpanRecord {
  /** Milliseconds since the epoch, with fractions. */
  readonly startMs: number;
  readonly endMs: number;
  /** When it was sent on; -1 where it was not. */
  readonly sentMs: number;
  /** From the request's head to the origin's response, in milliseconds; -1 where none came. */
  readonly upstreamMs: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly status: number;
  /** How often it was sent upstream. */
  readonly attempts: number;
  /** The port that the client connected to. */
  readonly port: number;
  readonly tls: boolean;
  /** Flags of its `traceparent`. */
  readonly flags: number;
  /** 16, 8, 8 and 8 bytes. `parentId` is of zeros where there is no caller. */
  readonly traceId: Uint8Array;
  readonly spanId: Uint8Array;
  readonly parentId: Uint8Array;
  readonly clientSpanId: Uint8Array;
  /** Such as 1.1. */
  readonly protocol: string;
  readonly method: string;
  readonly host: string;
  /** Without the query. */
  readonly path: string;
  readonly route: string;
  /** "" where it was sent to none. */
  readonly upstream: string;
  readonly client: string;
  readonly userAgent: string;
  readonly requestId: string;
  /** Why it was refused or cut; "" where it was not. */
  readonly fault: string;
  /** What the cache did; "" where it was not asked. */
  readonly cache: string;
}

/**
 * The spans of all workers on their way to the control thread, in shared memory: a ring of bytes for each worker, with one writer and one
 * reader. A record is never divided: where the end of the ring has no room for the longest one, both go on at its beginning.
 *
 *     head, tail, dropped (Int32) … | records: length (Int32), numbers (Float64), ids, lengths of texts (Uint16), texts
 *
 * @param workers how many there are
 * @param bytes of each ring
 */
export function createSpanRings(workers: number, bytes: number = RING_BYTES): readonly SharedArrayBuffer[] {
  return Array.from({ length: workers }, () => new SharedArrayBuffer(HEADER_BYTES + bytes));
}

/** The worker's end. */
export class SpanWriter {
  private readonly ring: RingViews;

  constructor(buffer: SharedArrayBuffer) {
    this.ring = new RingViews(buffer);
  }

  /** Records a span; where the reader does not keep up it is dropped and counted. Texts are cut. */
  record(span: SpanRecord): void {
    const { ring } = this;
    const { ints, bytes, floats } = ring;
    const head = Atomics.load(ints, HEAD);
    const tail = Atomics.load(ints, TAIL);
    const at = ring.endsAt(head) ? 0 : head;
    // Head never comes to meet tail from behind: equal means empty.
    const isFree = tail > at ? tail - at > MAX_RECORD_BYTES : at === head;
    if (!isFree) {
      Atomics.add(ints, DROPPED, 1);
      return;
    }
    const from = HEADER_BYTES + at;
    let number = (from + NUMBERS_OFFSET) / 8;
    for (let i = 0; i < NUMBERS.length; i++) floats[number++] = Number(span[NUMBERS[i]!]);
    let to = from + IDS_OFFSET;
    for (let i = 0; i < IDS.length; i++) {
      bytes.set(span[IDS[i]!], to);
      to += span[IDS[i]!].length;
    }
    to = from + TEXTS_OFFSET;
    for (let i = 0; i < TEXTS.length; i++) {
      const { name, limit } = TEXTS[i]!;
      const text = span[name];
      const length = bytes.latin1Write(text.length > limit ? text.slice(0, limit) : text, to, limit);
      bytes.writeUInt16LE(length, from + LENGTHS_OFFSET + i * 2);
      to += length;
    }
    const size = aligned(to - from);
    ints[from / 4] = size;
    Atomics.store(ints, HEAD, at + size);
  }
}

/** The control thread's end. */
export class SpanReader {
  private readonly ring: RingViews;

  constructor(buffer: SharedArrayBuffer) {
    this.ring = new RingViews(buffer);
  }

  /** Takes what has been recorded, oldest first. @param limit the most to take */
  take(limit: number): SpanRecord[] {
    const { ints } = this.ring;
    const taken: SpanRecord[] = [];
    const head = Atomics.load(ints, HEAD);
    let tail = Atomics.load(ints, TAIL);
    while (tail !== head && taken.length < limit) {
      if (this.ring.endsAt(tail)) {
        tail = 0;
        continue;
      }
      const from = HEADER_BYTES + tail;
      taken.push(this.read(from));
      tail += ints[from / 4]!;
    }
    Atomics.store(ints, TAIL, tail);
    return taken;
  }

  /** How many were dropped since this was last asked. */
  takeDropped(): number {
    return Atomics.exchange(this.ring.ints, DROPPED, 0);
  }

  private read(from: number): SpanRecord {
    const { bytes, floats } = this.ring;
    const span: Record<string, unknown> = {};
    NUMBERS.forEach((name, i) => {
      span[name] = floats[(from + NUMBERS_OFFSET) / 8 + i];
    });
    span.tls = span.tls === 1;
    let at = from + IDS_OFFSET;
    for (const name of IDS) {
      const length = name === "traceId" ? 16 : 8;
      span[name] = new Uint8Array(bytes.subarray(at, at + length));
      at += length;
    }
    at = from + TEXTS_OFFSET;
    TEXTS.forEach(({ name }, i) => {
      const length = bytes.readUInt16LE(from + LENGTHS_OFFSET + i * 2);
      span[name] = bytes.latin1Slice(at, at + length);
      at += length;
    });
    return span as unknown as SpanRecord;
  }
}

/** A ring seen as what it holds. Typed arrays are little-endian wherever this runs. */
class RingViews {
  readonly ints: Int32Array;
  readonly floats: Float64Array;
  readonly bytes: Buffer;
  private readonly size: number;

  constructor(buffer: SharedArrayBuffer) {
    this.ints = new Int32Array(buffer);
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
/** For four thousand spans and more; the control thread looks five times a second. */
const RING_BYTES = 1 << 20;

const NUMBERS = [
  "startMs",
  "endMs",
  "sentMs",
  "upstreamMs",
  "bytesIn",
  "bytesOut",
  "status",
  "attempts",
  "port",
  "tls",
  "flags",
] as const;
const IDS = ["traceId", "spanId", "parentId", "clientSpanId"] as const;
const IDS_BYTES = 40;
/** The texts with the most characters that are kept, one a byte. */
const TEXTS = [
  { name: "protocol", limit: 8 },
  { name: "method", limit: 32 },
  { name: "host", limit: 255 },
  { name: "path", limit: 1024 },
  { name: "route", limit: 256 },
  { name: "upstream", limit: 256 },
  { name: "client", limit: 64 },
  { name: "userAgent", limit: 256 },
  { name: "requestId", limit: 128 },
  { name: "fault", limit: 64 },
  { name: "cache", limit: 32 },
] as const;
/** Behind the record's length, which is padded. */
const NUMBERS_OFFSET = 8;
const IDS_OFFSET = NUMBERS_OFFSET + NUMBERS.length * 8;
const LENGTHS_OFFSET = IDS_OFFSET + IDS_BYTES;
const TEXTS_OFFSET = LENGTHS_OFFSET + TEXTS.length * 2;
const MAX_RECORD_BYTES = aligned(TEXTS_OFFSET + TEXTS.reduce((sum, { limit }) => sum + limit, 0)) + 8;
