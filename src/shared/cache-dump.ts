import { BlockCursor } from "./cache-blocks.ts";
import { CacheKey } from "./cache-key.ts";
import { type CacheMemory, FillResult, Head, Slot, SlotTime } from "./cache-memory.ts";
import type { CacheStore } from "./cache-store.ts";

/** Takes bytes one after the other; they may be overwritten once it has returned. */
export type DumpWriter = (bytes: Buffer) => void;
/** Gives the next bytes; null where there are not so many. */
export type DumpReader = (length: number) => Buffer | null;

/**
 * The entries of a cache in a row, for another process: each with what is known of it, its key, head and body, and a checksum over
 * all of that. Times are written as they are from the moment of the dump.
 *
 *     an entry:  magic (4 bytes) | checksum (4) | lengths and facts (8 of 4) | times (5 of 8) | key | head | body
 *
 * @param nowMs of the clock that the entries' times are of
 * @returns a generator that writes one entry a step, those that were stored first before the others
 */
export function* dumpEntries(store: CacheStore, nowMs: number, write: DumpWriter): Generator<void> {
  const cursor = new BlockCursor(store.memory);
  for (const slot of slotsByAge(store.memory)) {
    if (!store.pinReady(slot)) continue;
    try {
      write(entryBytes(store, cursor, slot, nowMs));
    } finally {
      store.unpin(slot);
    }
    yield;
  }
}

/**
 * Stores the entries of a dump. What is malformed, cut off or not what its checksum says ends it.
 * @param nowMs the moment of the dump, by the clock of this store
 * @returns how many were stored
 */
export function loadEntries(store: CacheStore, nowMs: number, read: DumpReader): number {
  const key = new CacheKey(store.memory.seed);
  let count = 0;
  for (;;) {
    const fixed = read(FIXED_BYTES);
    if (fixed === null || fixed.readUInt32LE(0) !== MAGIC) return count;
    const own = Buffer.from(fixed);
    const lengths = LENGTHS.map((at) => own.readUInt32LE(at));
    const total = lengths.reduce((sum, length) => sum + length, 0);
    if (total > store.memory.data.length) return count;
    const rest = read(total);
    if (rest === null || checksum(own, rest) !== own.readUInt32LE(4)) return count;
    if (loadEntry(store, key, own, rest, nowMs)) count++;
  }
}

function slotsByAge({ words, times, slotsAt }: CacheMemory): number[] {
  const slots: number[] = [];
  for (let slot = 0; slot < words[Head.SlotsUsed]!; slot++) {
    if (words[slotsAt + slot * Slot.Words + Slot.BlockCount]! > 0) slots.push(slot);
  }
  return slots.sort((a, b) => times[a * SlotTime.Count]! - times[b * SlotTime.Count]!);
}

function entryBytes(store: CacheStore, cursor: BlockCursor, slot: number, nowMs: number): Buffer {
  const { words, times } = store.memory;
  const at = store.memory.at(slot);
  const [uriBytes, variantBytes] = [words[at + Slot.UriBytes]!, words[at + Slot.VariantBytes]!];
  const parts = [padded(uriBytes), padded(variantBytes), words[at + Slot.HeadBytes]!, words[at + Slot.BodyBytes]!];
  const total = parts.reduce((sum, length) => sum + length, 0);
  const out = Buffer.allocUnsafe(FIXED_BYTES + total);
  out.writeUInt32LE(MAGIC, 0);
  const facts = [...parts, words[at + Slot.Status]!, words[at + Slot.Flags]!, words[at + Slot.FieldCount]!];
  // How many of the padding bytes of both halves of the key are none of it.
  const padding = (parts[0]! - uriBytes) * 4 + parts[1]! - variantBytes;
  for (const [i, fact] of [...facts, padding, words[at + Slot.Tags]!].entries())
    out.writeUInt32LE(fact >>> 0, 8 + i * 4);
  for (const [i, which] of TIMES.entries()) {
    const time = times[slot * SlotTime.Count + which]!;
    const isNever = time === 0 && (which === SlotTime.StaleWhileUntil || which === SlotTime.StaleErrorUntil);
    const written = which === SlotTime.ContentLength ? time : time - nowMs;
    out.writeDoubleLE(isNever ? NEVER : written, TIMES_AT + i * 8);
  }
  cursor.seek(words[at + Slot.FirstBlock]!, 0);
  cursor.read(out, FIXED_BYTES, total);
  out.writeUInt32LE(checksum(out.subarray(0, FIXED_BYTES), out.subarray(FIXED_BYTES)), 4);
  return out;
}

function loadEntry(store: CacheStore, key: CacheKey, fixed: Buffer, rest: Buffer, nowMs: number): boolean {
  const [uriWords, variantWords, headBytes, bodyBytes] = LENGTHS.map((at) => fixed.readUInt32LE(at)) as Lengths;
  const [status, flags, fieldCount, padding, tags] = FACTS.map((at) => fixed.readUInt32LE(at)) as Facts;
  const [storedAtMs, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs] = [0, 1, 2, 3].map((i) => {
    const time = fixed.readDoubleLE(TIMES_AT + i * 8);
    return time === NEVER ? 0 : nowMs + time;
  }) as [number, number, number, number];
  key.begin(uriWords + variantWords);
  key.add(rest, 0, uriWords - (padding >>> 2));
  key.endUri();
  key.add(rest, uriWords, uriWords + variantWords - (padding & 3));
  key.endVariant();
  const fill = store.claim(key);
  if (fill < 0) return false;
  if (!store.reserve(fill, key, headBytes, bodyBytes)) {
    store.abandon(fill, FillResult.GivenUp);
    return false;
  }
  store.write(fill, 0, rest, uriWords + variantWords, rest.length);
  const contentLength = fixed.readDoubleLE(TIMES_AT + 4 * 8);
  const ages = { storedAtMs, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs };
  const isStored = store.commit(fill, { status, flags, fieldCount, tags: tags | 0, contentLength, ...ages });
  store.unpin(fill);
  return isStored;
}

function padded(bytes: number): number {
  return (bytes + 3) & ~3;
}

function checksum(fixed: Buffer, rest: Buffer): number {
  return Bun.hash.crc32(rest, Bun.hash.crc32(fixed.subarray(8)));
}

type Lengths = [uriWords: number, variantWords: number, headBytes: number, bodyBytes: number];
type Facts = [status: number, flags: number, fieldCount: number, padding: number, tags: number];
const MAGIC = 0x31656765;
const LENGTHS = [8, 12, 16, 20] as const;
const FACTS = [24, 28, 32, 36, 40] as const;
const TIMES = [
  SlotTime.StoredAt,
  SlotTime.FreshUntil,
  SlotTime.StaleWhileUntil,
  SlotTime.StaleErrorUntil,
  SlotTime.ContentLength,
] as const;
const TIMES_AT = 44;
const FIXED_BYTES = TIMES_AT + TIMES.length * 8;
const NEVER = Number.MIN_SAFE_INTEGER;
