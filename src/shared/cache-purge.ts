import { BlockCursor } from "./cache-blocks.ts";
import { type CacheMemory, Head, Slot, SlotFlag, SlotState } from "./cache-memory.ts";
import type { CacheSlots } from "./cache-slots.ts";

/** Slots that are looked at under the lock at a time. */
export const PURGE_STEP = 256;

/**
 * Takes those entries out of a run of slots whose resource matches, and keeps what is being fetched from being stored.
 * Under the lock.
 * @param matches is given the first half of the key: authority, NUL, target
 * @returns how many were taken out
 */
export function purgeStep(
  memory: CacheMemory,
  slots: CacheSlots,
  from: number,
  matches: (uri: Buffer) => boolean,
): number {
  const { words } = memory;
  const to = Math.min(from + PURGE_STEP, words[Head.SlotsUsed]!);
  let removed = 0;
  for (let slot = from; slot < to; slot++) {
    const at = memory.at(slot);
    if (words[at + Slot.State] === SlotState.Filling) words[at + Slot.Flags]! |= SlotFlag.Outdated;
    if (words[at + Slot.State] !== SlotState.Ready || !matches(uriOf(memory, slot))) continue;
    slots.remove(slot);
    removed++;
  }
  return removed;
}

function uriOf(memory: CacheMemory, slot: number): Buffer {
  const { words } = memory;
  const at = memory.at(slot);
  const uri = Buffer.allocUnsafe(words[at + Slot.UriBytes]!);
  const cursor = new BlockCursor(memory);
  cursor.seek(words[at + Slot.FirstBlock]!, 0);
  cursor.read(uri, 0, uri.length);
  return uri;
}
