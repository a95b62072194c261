import { EMPTY_BYTES } from "../../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../../message/header-block.ts";
import { lateZlib } from "../../../proto/semantics/late-zlib.ts";

/** Content codings of one body that the firewall undoes; more are an attack. */
const MAX_CONTENT_CODINGS = 3;
/** Bytes that one byte of a compressed body may stand for; the rest counts as beyond `max_inspect_body_size`. */
const MAX_INFLATION = 100;
/** Bytes of content that are inspected of any compressed body, however small, within `max_inspect_body_size`. */
const MIN_INFLATED_BYTES = 65_536;
/** Window of a zstd body, as a power of two: 8 MiB, the most that RFC 9659 §3 allows for HTTP. */
const MAX_CODING_WINDOW_BITS = 23;

/** What is in a body with a Content-Encoding. */
export interface Content {
  /** Its first bytes; none if the codings could not be undone, or none is known. */
  readonly bytes: Uint8Array;
  /** Whether there is more, or it grew by more than MAX_INFLATION. */
  readonly isCut: boolean;
  /** Whether one of the codings could not be undone, or not by every reader alike. */
  readonly isBroken: boolean;
}

/**
 * The codings of a body that are known, in the order in which they were applied; others are passed over. RFC 9110 §8.4. Some
 * applications look for a word in the field.
 */
export function codingsOf(headers: HeaderBlock): readonly Packing[] {
  let i = headers.find(HeaderId.ContentEncoding);
  if (i < 0) return NO_CODINGS;
  const found: Packing[] = [];
  for (; i >= 0; i = headers.find(HeaderId.ContentEncoding, i + 1)) {
    for (const [word] of headers.valueText(i).toLowerCase().matchAll(WORDS)) found.push(PACKINGS.get(word)!);
  }
  return found;
}

/** Whether there are more of them than are undone. */
export function areTooMany(codings: readonly Packing[]): boolean {
  return codings.length > MAX_CONTENT_CODINGS;
}

/**
 * Undoes the codings of the first bytes of a body.
 * @param maxBytes most bytes of content
 */
export function contentOf(codings: readonly Packing[], packed: Uint8Array, maxBytes: number): Content {
  const allowed = packed.length * MAX_INFLATION;
  const limit = Math.min(maxBytes, Math.max(allowed, MIN_INFLATED_BYTES));
  let bytes = packed;
  let isCut = false;
  let isBroken = false;
  for (let i = codings.length - 1; i >= Math.max(0, codings.length - MAX_CONTENT_CODINGS); i--) {
    const content = inflate(codings[i]!, bytes, limit);
    isCut ||= content.isCut || content.bytes.length > allowed;
    isBroken ||= content.isBroken;
    // What is there of a wrong label is inspected as it is.
    if (content.bytes.length > 0) bytes = content.bytes;
  }
  return { bytes: bytes === packed ? EMPTY_BYTES : bytes, isCut, isBroken };
}

/**
 * Bytes to hold of a body beyond those inspected: a block of zstd gives nothing until it is complete. RFC 8878 §3.1.1.2.4
 */
export function extraBytes(headers: HeaderBlock): number {
  return headers.find(HeaderId.ContentEncoding) >= 0 && codingsOf(headers).includes(Packing.Zstd)
    ? ZSTD_BLOCK_BYTES
    : 0;
}

/** Formats of compressed bodies. RFC 9110 §8.4.1, RFC 7932, RFC 8878. */
export const enum Packing {
  Gzip = 0,
  /** zlib's format, or, as many senders have it, without zlib's head. RFC 9110 §8.4.1.2. */
  Deflate,
  Brotli,
  Zstd,
}

/** What came out of a compressed body. */
interface Inflated {
  /** The first bytes of the content; none if nothing could be made of it. */
  readonly bytes: Uint8Array;
  /** Whether there is more than was asked for. */
  readonly isCut: boolean;
  /**
   * Whether another reader may find more: the stream has a fault, or goes on after its end, or is of two formats. Some readers
   * pass over checks in the head of a gzip member, or over zeros between two members, and take larger windows.
   */
  readonly isBroken: boolean;
}

/**
 * Inflates the beginning of a compressed body, which may be cut off or damaged further on: what came out before counts.
 * @param maxBytes of content; memory is this and one window of the format
 */
export function inflate(packing: Packing, packed: Uint8Array, maxBytes: number): Inflated {
  if (packing === Packing.Brotli) return run(ENGINES[packing](), smallWindow(packed, maxBytes), maxBytes);
  if (packing !== Packing.Deflate) return run(ENGINES[packing](), packed, maxBytes);
  const wrapped = run(lateZlib().createInflate() as unknown as Engine, packed, maxBytes);
  const raw = run(lateZlib().createInflateRaw() as unknown as Engine, packed, maxBytes);
  const content = raw.bytes.length > wrapped.bytes.length ? raw : wrapped;
  // A stream without zlib's head may begin with bytes that look like one, and then readers see one text or the other.
  return raw.bytes.length > 0 && wrapped.bytes.length > 0 ? { ...content, isBroken: true } : content;
}

/**
 * What a stream of node:zlib consists of, as the runtime itself and the packages that inflate without waiting use it. The
 * functions that are documented for that (`gunzipSync`) give an error and nothing else for what is longer than asked for.
 */
interface Engine {
  readonly _handle: {
    onerror: () => void;
    writeSync(
      flush: number,
      input: Uint8Array,
      inputAt: number,
      inputLength: number,
      out: Uint8Array,
      outAt: number,
      outLength: number,
    ): void;
  };
  /** Room left in the output, bytes left of the input. */
  readonly _writeState: Uint32Array;
  close(): void;
}

/** Unlike the others, `Deflate` is two formats. */
const ENGINES: Readonly<Record<Exclude<Packing, Packing.Deflate>, () => Engine>> = {
  [Packing.Gzip]: () => lateZlib().createGunzip() as unknown as Engine,
  [Packing.Brotli]: () => lateZlib().createBrotliDecompress() as unknown as Engine,
  [Packing.Zstd]: () =>
    lateZlib().createZstdDecompress({
      params: { [lateZlib().constants.ZSTD_d_windowLogMax]: MAX_CODING_WINDOW_BITS },
    }) as unknown as Engine,
};

/**
 * The stream with a window that is no larger than what is asked for, since a decoder fills it before it gives anything: 51 bytes
 * cost 50 ms with a window of 16 MiB. What comes out up to there is the same. RFC 7932 §9.1.
 */
function smallWindow(packed: Uint8Array, maxBytes: number): Uint8Array {
  const first = packed[0] ?? 0;
  const wanted = Math.max(1, Math.ceil(Math.log2(maxBytes + WINDOW_GAP)) - LEAST_WINDOW_BITS);
  const declared = (first >> 1) & 7;
  // Windows of 18 to 24 bits are written in the three bits after a 1; smaller ones otherwise.
  if ((first & 1) === 0 || declared <= wanted) return packed;
  const out = Buffer.from(packed);
  out[0] = (first & ~0x0e) | (wanted << 1);
  return out;
}

function run(engine: Engine, packed: Uint8Array, maxBytes: number): Inflated {
  let hasFailed = false;
  engine._handle.onerror = () => {
    hasFailed = true;
  };
  // Zeros, so that one can see how far a write came that failed.
  let out = Buffer.alloc(Math.min(maxBytes, Math.max(MIN_OUTPUT, packed.length * USUAL_RATIO)));
  let outAt = 0;
  let inputAt = 0;
  for (;;) {
    const room = out.length - outAt;
    const left = packed.length - inputAt;
    engine._handle.writeSync(PROCESS, packed, inputAt, left, out, outAt, room);
    if (hasFailed) {
      outAt = endOf(out, outAt);
      break;
    }
    const made = room - engine._writeState[0]!;
    const taken = left - engine._writeState[1]!;
    outAt += made;
    inputAt += taken;
    if (outAt === out.length && outAt < maxBytes) out = grown(out, maxBytes);
    else if (outAt === out.length || (made === 0 && taken === 0)) break;
  }
  const isCut = !hasFailed && outAt === maxBytes && givesMore(engine, packed, inputAt);
  const isBroken = hasFailed || (outAt < maxBytes && endOf(packed, inputAt) > inputAt);
  engine.close();
  return { bytes: outAt === 0 ? EMPTY_BYTES : out.subarray(0, outAt), isCut, isBroken };
}

/** Whether another byte comes out. */
function givesMore(engine: Engine, packed: Uint8Array, inputAt: number): boolean {
  engine._handle.writeSync(PROCESS, packed, inputAt, packed.length - inputAt, new Uint8Array(1), 0, 1);
  return engine._writeState[0] === 0;
}

function grown(out: Buffer, maxBytes: number): Buffer<ArrayBuffer> {
  const larger = Buffer.alloc(Math.min(maxBytes, out.length * 4));
  out.copy(larger);
  return larger as Buffer<ArrayBuffer>;
}

/** After the last byte that is no zero. */
function endOf(out: Uint8Array, from: number): number {
  let end = out.length;
  while (end > from && out[end - 1] === 0) end--;
  return end;
}

const PACKINGS: ReadonlyMap<string, Packing> = new Map([
  ["gzip", Packing.Gzip],
  ["deflate", Packing.Deflate],
  ["br", Packing.Brotli],
  ["zstd", Packing.Zstd],
]);
const WORDS = /gzip|deflate|zstd|\bbr\b/g;
const NO_CODINGS: readonly Packing[] = [];
/** The largest block, with the heads of frame and block. */
const ZSTD_BLOCK_BYTES = 131_072 + 64;
/** Z_NO_FLUSH, BROTLI_OPERATION_PROCESS, ZSTD_e_continue: the input may be cut off. */
const PROCESS = 0;
/** Bytes of a window of brotli that are not used, and the bits of one that 0 would stand for. */
const WINDOW_GAP = 64;
const LEAST_WINDOW_BITS = 17;
const MIN_OUTPUT = 4096;
/** What text shrinks to is mostly more than a sixth. */
const USUAL_RATIO = 6;
