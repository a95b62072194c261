import { BlockCursor } from "./cache-blocks.ts";
import type { CacheKey, KeyBytes } from "./cache-key.ts";
import { Slot, SlotTime } from "./cache-memory.ts";
import type { CacheStore, EntryFacts } from "./cache-store.ts";

/**
 * An entry of the cache outside its memory: in a file that a successor gets, and in the segments of `cache.disk`.
 *
 *     fixed (112 bytes) | key: both halves | head | checksums of the pieces of the body | body
 *
 *     fixed:  magic (4) | mark (4) | its time (8) | check of the mark (4) | check of the prefix (4) | lengths and facts (9 of 4)
 *             | times (5 of 8) | 4 | check of lengths, facts and times (4)
 *
 * The prefix is all before the body. Everything is under a checksum: the mark, which may be overwritten, has its own; lengths and
 * facts have one, so that entries can be walked without reading the rest; the body has one for each piece, so that it can be
 * verified as it is read.
 */
export interface EntryShape extends Omit<EntryFacts, "storedAtMs"> {
  /** Bytes of the halves of the key, without and with what fills them up to whole words. */
  readonly uriBytes: number;
  readonly variantBytes: number;
  readonly keyBytes: number;
  readonly headBytes: number;
  readonly bodyBytes: number;
  readonly storedAtMs: number;
  /** Bytes before the body. */
  readonly prefixBytes: number;
  readonly totalBytes: number;
}

/** What has become of an entry in a file. */
export const enum EntryMark {
  Dead = 0,
  Live = 0x6576696c,
  /** Stale since the mark's time. */
  Soft = 0x74666f73,
}

/** Reads entries out of a cache's memory in the form that files have. The entry must be pinned. */
export class EntryReader {
  private readonly store: CacheStore;
  private readonly cursor: BlockCursor;
  private readonly scratch: Buffer = Buffer.allocUnsafeSlow(ENTRY_PIECE_BYTES);

  constructor(store: CacheStore) {
    this.store = store;
    this.cursor = new BlockCursor(store.memory);
  }

  /**
   * All before the body.
   * @param originMs is subtracted from the entry's times before they are written
   */
  prefix(slot: number, originMs: number): Buffer {
    const { words, times } = this.store.memory;
    const at = this.store.memory.at(slot);
    const [uriBytes, variantBytes] = [words[at + Slot.UriBytes]!, words[at + Slot.VariantBytes]!];
    const [headBytes, bodyBytes] = [words[at + Slot.HeadBytes]!, words[at + Slot.BodyBytes]!];
    const own = padded(uriBytes) + padded(variantBytes) + headBytes;
    const pieces = piecesOf(bodyBytes);
    const out = Buffer.allocUnsafe(ENTRY_FIXED_BYTES + own + pieces * 4);
    out.writeUInt32LE(MAGIC, 0);
    markEntry(out, EntryMark.Live, 0);
    const lengths = [uriBytes, variantBytes, headBytes, bodyBytes];
    const facts = [Slot.Status, Slot.Flags, Slot.FieldCount, Slot.Tags].map((which) => words[at + which]!);
    for (const [i, fact] of [...lengths, ...facts, 0].entries()) out.writeUInt32LE(fact >>> 0, FACTS_AT + i * 4);
    for (const [i, which] of TIMES.entries()) {
      const time = times[slot * SlotTime.Count + which]!;
      const isNever = time === 0 && (which === SlotTime.StaleWhileUntil || which === SlotTime.StaleErrorUntil);
      const written = which === SlotTime.ContentLength ? time : time - originMs;
      out.writeDoubleLE(isNever ? NEVER : written, TIMES_AT + i * 8);
    }
    out.writeUInt32LE(0, FIXED_CHECK_AT - 4);
    this.cursor.seek(words[at + Slot.FirstBlock]!, 0);
    this.cursor.read(out, ENTRY_FIXED_BYTES, own);
    for (let i = 0; i < pieces; i++) {
      out.writeUInt32LE(Bun.hash.crc32(this.piece(slot, i)), ENTRY_FIXED_BYTES + own + i * 4);
    }
    out.writeUInt32LE(Bun.hash.crc32(out.subarray(FACTS_AT, FIXED_CHECK_AT)), FIXED_CHECK_AT);
    out.writeUInt32LE(Bun.hash.crc32(out.subarray(FACTS_AT)), PREFIX_CHECK_AT);
    return out;
  }

  /** A piece of the body; it holds until the next is asked for. */
  piece(slot: number, index: number): Buffer {
    const { words } = this.store.memory;
    const at = this.store.memory.at(slot);
    const from = index * ENTRY_PIECE_BYTES;
    const length = Math.min(ENTRY_PIECE_BYTES, words[at + Slot.BodyBytes]! - from);
    const bodyAt = this.store.keyBytesOf(slot) + words[at + Slot.HeadBytes]!;
    this.cursor.seek(words[at + Slot.FirstBlock]!, bodyAt + from);
    this.cursor.read(this.scratch, 0, length);
    return this.scratch.subarray(0, length);
  }
}

/** Writes a mark over that of an entry. @param sinceMs the time of a Soft one */
export function markEntry(fixed: Buffer, mark: EntryMark, sinceMs: number): void {
  fixed.writeUInt32LE(mark, MARK_AT);
  fixed.writeDoubleLE(sinceMs, MARK_AT + 4);
  fixed.writeUInt32LE(Bun.hash.crc32(fixed.subarray(MARK_AT, MARK_AT + 12)), MARK_AT + 12);
}

/** The mark of an entry; Dead where its checksum does not fit. */
export function markOf(fixed: Buffer): { readonly mark: EntryMark; readonly sinceMs: number } {
  const isSound = Bun.hash.crc32(fixed.subarray(MARK_AT, MARK_AT + 12)) === fixed.readUInt32LE(MARK_AT + 12);
  if (!isSound) return { mark: EntryMark.Dead, sinceMs: 0 };
  return { mark: fixed.readUInt32LE(MARK_AT), sinceMs: fixed.readDoubleLE(MARK_AT + 4) };
}

/**
 * What the fixed part of an entry says; null if it is none, or damaged.
 * @param originMs what is added to the times
 */
export function shapeOf(fixed: Buffer, originMs: number): EntryShape | null {
  if (fixed.length < ENTRY_FIXED_BYTES || fixed.readUInt32LE(0) !== MAGIC) return null;
  const check = Bun.hash.crc32(fixed.subarray(FACTS_AT, FIXED_CHECK_AT));
  if (check !== fixed.readUInt32LE(FIXED_CHECK_AT)) return null;
  const [uriBytes, variantBytes, headBytes, bodyBytes, status, flags, fieldCount, tags] = FACTS.map((at) =>
    fixed.readUInt32LE(at),
  ) as Facts;
  const [storedAtMs, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs] = [0, 1, 2, 3].map((i) => {
    const time = fixed.readDoubleLE(TIMES_AT + i * 8);
    return time === NEVER ? 0 : time + originMs;
  }) as [number, number, number, number];
  const contentLength = fixed.readDoubleLE(TIMES_AT + 4 * 8);
  const keyBytes = padded(uriBytes) + padded(variantBytes);
  const prefixBytes = ENTRY_FIXED_BYTES + keyBytes + headBytes + piecesOf(bodyBytes) * 4;
  const lengths = { uriBytes, variantBytes, keyBytes, headBytes, bodyBytes, prefixBytes };
  const times = { storedAtMs, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs };
  const totalBytes = prefixBytes + bodyBytes;
  return { ...lengths, ...times, totalBytes, status, flags, fieldCount, tags: tags | 0, contentLength };
}

/** Whether the prefix of an entry is what was written. */
export function isPrefixSound(prefix: Buffer): boolean {
  return Bun.hash.crc32(prefix.subarray(FACTS_AT)) === prefix.readUInt32LE(PREFIX_CHECK_AT);
}

/** Whether a piece of the body is what was written. */
export function isPieceSound(prefix: Buffer, shape: EntryShape, index: number, piece: Buffer): boolean {
  const at = ENTRY_FIXED_BYTES + shape.keyBytes + shape.headBytes + index * 4;
  return Bun.hash.crc32(piece) === prefix.readUInt32LE(at);
}

/** Pieces that a body has. */
export function piecesOf(bodyBytes: number): number {
  return Math.ceil(bodyBytes / ENTRY_PIECE_BYTES);
}

/** Makes a key of the one that an entry has. @param bytes where both halves begin at `from` */
export function readKey(key: CacheKey, shape: EntryShape, bytes: Buffer, from: number): void {
  const { uriBytes, variantBytes } = shape;
  key.begin(shape.keyBytes);
  key.add(bytes, from, from + uriBytes);
  key.endUri();
  const variantAt = from + padded(uriBytes);
  key.add(bytes, variantAt, variantAt + variantBytes);
  key.endVariant();
}

/** Stores the head of an entry in a fetch, for which room is made. @returns false if there is none */
export function reserveFor(store: CacheStore, fill: number, key: KeyBytes, shape: EntryShape, prefix: Buffer): boolean {
  if (!store.reserve(fill, key, shape.headBytes, shape.bodyBytes)) return false;
  const headAt = ENTRY_FIXED_BYTES + shape.keyBytes;
  store.write(fill, 0, prefix, headAt, headAt + shape.headBytes);
  return true;
}

function padded(bytes: number): number {
  return (bytes + 3) & ~3;
}

type Facts = [
  uriBytes: number,
  variantBytes: number,
  headBytes: number,
  bodyBytes: number,
  status: number,
  flags: number,
  fieldCount: number,
  tags: number,
];
/** Bodies are written, verified and read by so many bytes. */
export const ENTRY_PIECE_BYTES = 262_144;
/** Bytes of the fixed part. */
export const ENTRY_FIXED_BYTES = 112;
/** Bytes from the beginning that `markEntry` changes. */
export const ENTRY_MARK_END = 20;
const MAGIC = 0x32656765;
const MARK_AT = 4;
const PREFIX_CHECK_AT = 20;
const FACTS_AT = 24;
const FACTS = [24, 28, 32, 36, 40, 44, 48, 52] as const;
const TIMES_AT = 60;
const TIMES = [
  SlotTime.StoredAt,
  SlotTime.FreshUntil,
  SlotTime.StaleWhileUntil,
  SlotTime.StaleErrorUntil,
  SlotTime.ContentLength,
] as const;
const FIXED_CHECK_AT = 108;
const NEVER = Number.MIN_SAFE_INTEGER;
