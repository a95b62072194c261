import type { BrotliCompress, Gzip, ZstdCompress } from "node:zlib";
import type { NowMs } from "../../message/ports.ts";
import { Coding } from "../../proto/semantics/accept-encoding.ts";
import { lateZlib } from "../../proto/semantics/late-zlib.ts";
import { CodecTurns } from "./codec-turns.ts";
import { type CompressionPolicy, FASTEST_LEVEL } from "./compression-policy.ts";

/** Memory for responses that are being compressed, a worker; beyond it they go out plain. docs/compression.md#cost */
export const MAX_COMPRESSION_BYTES = 128 * 1024 * 1024;
/** Longest body that is compressed at once: a millisecond or so. Longer ones go by slices to other threads. */
export const SYNC_COMPRESSION_BYTES = 262_144;
/** The same where the level is above CHEAP_LEVEL. */
export const SYNC_COSTLY_BYTES = 32_768;
/** Levels up to this one cost less than 5 ns a byte. */
const CHEAP_LEVEL = 5;

/** Compresses a stream on the threads of the runtime. */
export type StreamCodec = BrotliCompress | Gzip | ZstdCompress;

/** Counts what was compressed. */
interface CompressionCounter {
  compressed(coding: Coding, bytesIn: number, bytesOut: number): void;
  /** A response went out plain because too much was being compressed already. */
  compressionSkipped(): void;
}

/**
 * The codecs of one worker, all of the runtime, with the bounds on their time and memory. docs/compression.md#cost
 *
 * For 64 KiB of JSON a body given at once costs 95 µs in gzip at level 1 and 190 µs at 5 (libdeflate), 70 µs in zstd at 1 and
 * 80 µs at 3, 290 µs in brotli at 4; through a stream gzip takes twice as long.
 */
export class Codecs {
  readonly counter: CompressionCounter;
  readonly turns: CodecTurns = new CodecTurns();
  private readonly turn: NowMs;
  private usedBytes = 0;
  private windowFromMs = 0;
  private spentMs = 0;
  private isBusy = false;

  constructor(turn: NowMs, counter: CompressionCounter) {
    this.turn = turn;
    this.counter = counter;
  }

  /** Takes room for a response that is to be compressed. @returns false if there is none: it goes out plain */
  reserve(bytes: number): boolean {
    if (this.usedBytes + bytes > MAX_COMPRESSION_BYTES) return false;
    this.usedBytes += bytes;
    return true;
  }

  /** Gives room back. */
  release(bytes: number): void {
    this.usedBytes -= bytes;
  }

  /** The level to compress with now: the fastest one where compressing takes half of the worker's time, or of the room. */
  levelOf(coding: Coding, { levels }: CompressionPolicy): number {
    this.turnWindow();
    return this.isBusy || this.usedBytes > MAX_COMPRESSION_BYTES / 2 ? FASTEST_LEVEL : levels[coding]!;
  }

  /** Compresses a whole body, at once. */
  whole(coding: Coding, level: number, bytes: Uint8Array): Uint8Array {
    const startedMs = performance.now();
    const packed = packWhole(coding, level, bytes);
    this.spentMs += performance.now() - startedMs;
    return packed;
  }

  private turnWindow(): void {
    const { nowMs } = this.turn;
    const elapsedMs = nowMs - this.windowFromMs;
    if (elapsedMs < WINDOW_MS) return;
    this.isBusy = this.spentMs > elapsedMs * BUSY_SHARE;
    this.spentMs = 0;
    this.windowFromMs = nowMs;
  }
}

/** Largest body that is compressed at once, and not by slices on other threads. */
export function wholeBytes(coding: Coding, { levels }: CompressionPolicy): number {
  return levels[coding]! <= CHEAP_LEVEL ? SYNC_COMPRESSION_BYTES : SYNC_COSTLY_BYTES;
}

/** Memory that a stream takes, about. */
export function streamBytes(coding: Coding): number {
  return STREAM_BYTES[coding]!;
}

/**
 * Begins a stream.
 * @param flushes whether all that was written comes out at once, or when there is enough of it
 */
export function openStream(coding: Coding, level: number, flushes: boolean): StreamCodec {
  const zlib = lateZlib();
  if (coding === Coding.Gzip)
    return zlib.createGzip({ level, flush: flushes ? zlib.constants.Z_SYNC_FLUSH : zlib.constants.Z_NO_FLUSH });
  if (coding === Coding.Brotli) {
    const flush = flushes ? zlib.constants.BROTLI_OPERATION_FLUSH : zlib.constants.BROTLI_OPERATION_PROCESS;
    return zlib.createBrotliCompress({ flush, params: brotliParams(level) });
  }
  const params = {
    [zlib.constants.ZSTD_c_compressionLevel]: level,
    [zlib.constants.ZSTD_c_windowLog]: ZSTD_WINDOW_BITS,
  };
  return zlib.createZstdCompress({
    flush: flushes ? zlib.constants.ZSTD_e_flush : zlib.constants.ZSTD_e_continue,
    params,
  });
}

function packWhole(coding: Coding, level: number, bytes: Uint8Array): Uint8Array {
  if (coding === Coding.Gzip)
    return Bun.gzipSync(bytes as Uint8Array<ArrayBuffer>, { library: "libdeflate", level: level as 1 });
  if (coding === Coding.Zstd) return Bun.zstdCompressSync(bytes, { level });
  const zlib = lateZlib();
  const params = { ...brotliParams(level), [zlib.constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return zlib.brotliCompressSync(bytes, { params });
}

function brotliParams(level: number): Record<number, number> {
  const zlib = lateZlib();
  return { [zlib.constants.BROTLI_PARAM_QUALITY]: level, [zlib.constants.BROTLI_PARAM_LGWIN]: BROTLI_WINDOW_BITS };
}

const WINDOW_MS = 100;
/** Share of a worker's time. */
const BUSY_SHARE = 0.5;
/** Windows of 256 KiB and 128 KiB: larger ones would give a stream little and take megabytes. */
const BROTLI_WINDOW_BITS = 18;
const ZSTD_WINDOW_BITS = 17;
/** By Coding, measured. */
const STREAM_BYTES: readonly number[] = [0, 640 * 1024, 832 * 1024, 288 * 1024];
