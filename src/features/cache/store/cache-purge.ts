import { mayHaveTag } from "../purge-rule.ts";
import { BlockCursor } from "./cache-blocks.ts";
import { type CacheMemory, MemoryHead, Slot, SlotFlag, SlotState, SlotTime } from "./cache-memory.ts";
import type { CacheSlots } from "./cache-slots.ts";
import type { DiskIndex } from "./disk-index.ts";

/** What a purge takes out, or makes stale. */
export interface PurgeRule {
  /**
   * Whether an entry goes.
   * @param uri the first half of its key: authority, NUL, target
   */
  matches(uri: Buffer, slot: number): boolean;
  /** Signatures of tags, one of which an entry must have; null where tags do not matter. */
  readonly tags: readonly number[] | null;
  /** The time from which on entries are stale; -1 if they are removed. */
  readonly staleSinceMs: number;
}

/** Slots that a purge reads under the lock at a time. */
export const PURGE_STEP = 256;

/**
 * Takes those entries out of a run of slots that a rule means, or makes them stale, and keeps what is being fetched from being
 * stored. Under the lock.
 * @param disk where copies of them may be; null if there are none
 * @returns how many they were
 */
export function purgeStep(
  memory: CacheMemory,
  slots: CacheSlots,
  from: number,
  rule: PurgeRule,
  disk: DiskIndex | null,
): number {
  const { words } = memory;
  const to = Math.min(from + PURGE_STEP, words[MemoryHead.SlotsUsed]!);
  let count = 0;
  for (let slot = from; slot < to; slot++) {
    const at = memory.at(slot);
    if (words[at + Slot.State] === SlotState.Filling) words[at + Slot.Flags]! |= SlotFlag.Outdated;
    if (words[at + Slot.State] !== SlotState.Ready || !mayHaveTag(words[at + Slot.Tags]!, rule.tags)) continue;
    if (!rule.matches(uriOf(memory, slot), slot)) continue;
    const [uriHash, variantHash] = [words[at + Slot.UriHash]!, words[at + Slot.VariantHash]!];
    if (rule.staleSinceMs < 0) {
      slots.remove(slot);
      disk?.remove(uriHash, variantHash);
    } else {
      makeStale(memory, slot, rule.staleSinceMs);
      disk?.makeStale(uriHash, variantHash, rule.staleSinceMs);
    }
    count++;
  }
  return count;
}

/** Ends the freshness of an entry now; for how long it may be sent after that stays as it was. Under the lock. */
export function makeStale({ times }: CacheMemory, slot: number, nowMs: number): void {
  const at = slot * SlotTime.Count;
  const early = times[at + SlotTime.FreshUntil]! - nowMs;
  if (early <= 0) return;
  for (const time of [SlotTime.FreshUntil, SlotTime.StaleWhileUntil, SlotTime.StaleErrorUntil] as const) {
    if (times[at + time]! > 0) times[at + time]! -= early;
  }
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
