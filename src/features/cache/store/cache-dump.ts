import { CacheKey } from "./cache-key.ts";
import { type CacheMemory, FillResult, MemoryHead, Slot, SlotTime } from "./cache-memory.ts";
import type { CacheStore } from "./cache-store.ts";
import {
  ENTRY_FIXED_BYTES,
  ENTRY_PIECE_BYTES,
  EntryMark,
  EntryReader,
  type EntryShape,
  isPieceSound,
  isPrefixSound,
  markOf,
  piecesOf,
  readKey,
  reserveFor,
  shapeOf,
} from "./entry-bytes.ts";

/** Takes bytes one after the other; they may be overwritten once it has returned. */
type DumpWriter = (bytes: Buffer) => void;
/** Gives the next bytes; null if there are not so many. */
type DumpReader = (length: number) => Buffer | null;

/**
 * The entries of a cache in a row, for another process, in the form of `entry-bytes.ts`. Times are written as they are from the moment
 * of the dump.
 * @param nowMs of the clock that the entries' times are of
 * @returns a generator that writes one entry a step, in the order in which they were stored
 */
export function* dumpEntries(store: CacheStore, nowMs: number, write: DumpWriter): Generator<void> {
  const reader = new EntryReader(store);
  const { words } = store.memory;
  for (const slot of slotsByAge(store.memory)) {
    if (!store.pinReady(slot)) continue;
    try {
      write(reader.prefix(slot, nowMs));
      const pieces = piecesOf(words[store.memory.at(slot) + Slot.BodyBytes]!);
      for (let i = 0; i < pieces; i++) write(reader.piece(slot, i));
    } finally {
      store.unpin(slot);
    }
    yield;
  }
}

/**
 * Stores the entries of a dump. What is malformed, cut off or not what its checksums say ends it.
 * @param nowMs the moment of the dump, by the clock of this store
 * @returns how many were stored
 */
export function loadEntries(store: CacheStore, nowMs: number, read: DumpReader): number {
  const key = new CacheKey(store.memory.seed);
  let count = 0;
  for (;;) {
    const fixed = read(ENTRY_FIXED_BYTES);
    const shape = fixed === null ? null : shapeOf(fixed, nowMs);
    if (fixed === null || shape === null || shape.totalBytes > store.memory.data.length + MAX_KEY_BYTES) return count;
    const own = Buffer.from(fixed);
    const rest = read(shape.prefixBytes - ENTRY_FIXED_BYTES);
    if (rest === null) return count;
    const prefix = Buffer.concat([own, rest]);
    if (!isPrefixSound(prefix) || markOf(prefix).mark !== EntryMark.Live) return count;
    const loaded = loadEntry(store, key, shape, prefix, read);
    if (loaded === Loaded.Damaged) return count;
    if (loaded === Loaded.Stored) count++;
  }
}

function slotsByAge({ words, times, slotsAt }: CacheMemory): number[] {
  const slots: number[] = [];
  for (let slot = 0; slot < words[MemoryHead.SlotsUsed]!; slot++) {
    if (words[slotsAt + slot * Slot.Words + Slot.BlockCount]! > 0) slots.push(slot);
  }
  return slots.sort((a, b) => times[a * SlotTime.Count]! - times[b * SlotTime.Count]!);
}

const enum Loaded {
  Stored = 0,
  /** There was no room. */
  PassedOver,
  Damaged,
}

function loadEntry(store: CacheStore, key: CacheKey, shape: EntryShape, prefix: Buffer, read: DumpReader): Loaded {
  readKey(key, shape, prefix, ENTRY_FIXED_BYTES);
  let fill = store.claim(key);
  if (fill >= 0 && !reserveFor(store, fill, key, shape, prefix)) {
    store.abandon(fill, FillResult.GivenUp);
    fill = -1;
  }
  for (let i = 0, done = 0; done < shape.bodyBytes; i++) {
    const piece = read(Math.min(ENTRY_PIECE_BYTES, shape.bodyBytes - done));
    if (piece === null || !isPieceSound(prefix, shape, i, piece)) {
      if (fill >= 0) store.abandon(fill, FillResult.GivenUp);
      return Loaded.Damaged;
    }
    if (fill >= 0) store.write(fill, shape.headBytes + done, piece, 0, piece.length);
    done += piece.length;
  }
  if (fill < 0) return Loaded.PassedOver;
  const isStored = store.commit(fill, shape);
  store.unpin(fill);
  return isStored ? Loaded.Stored : Loaded.PassedOver;
}

const MAX_KEY_BYTES = 1 << 20;
