import type { CacheIndex } from "./cache-index.ts";
import { type CacheMemory, GHOST_WAYS, MemoryHead, Slot, SlotUse } from "./cache-memory.ts";

/**
 * Which entry makes way, by S3-FIFO: new entries wait in a small queue of a tenth of the memory, entries that were asked for twice
 * there go on into the main queue, the others leave and are remembered for a while, so that they come into the main queue when they
 * return. What one client reads through once so passes by without a trace. A use is a count and no change of order. All under the
 * lock.
 *
 *     new ──▶ small ──asked for again──▶ main ──┐ asked for since: once more round
 *               └──▶ ghosts ──returns──▶ main   └──▶ out
 *
 * Yang et al., "FIFO queues are all you need for cache eviction", SOSP 2023.
 */
export class CacheEviction {
  private readonly memory: CacheMemory;
  private readonly index: CacheIndex;

  constructor(memory: CacheMemory, index: CacheIndex) {
    this.memory = memory;
    this.index = index;
  }

  /** An entry is new: it comes into its queue, that of the entry whose place it has taken if there was one. */
  enter(slot: number): void {
    const { words } = this.memory;
    const at = this.memory.at(slot) + Slot.Uses;
    if ((words[at]! & SlotUse.Inherited) !== 0) words[at]! &= ~SlotUse.Inherited;
    else words[at] = this.isGhost(slot) ? 0 : SlotUse.Small;
    this.index.remember(slot);
  }

  /**
   * The entry that makes way next; queues are put in order on the way there.
   * @param isInUse whether an entry is no choice now
   * @returns -1 if there is none
   */
  next(isInUse: (slot: number) => boolean): number {
    const { words } = this.memory;
    // Each turn counts one use down, takes an entry out of the small queue, or passes one over.
    for (let turns = words[MemoryHead.Entries]! * (SlotUse.Count + 2) + 1; turns > 0; turns--) {
      const isSmall = this.isSmallFull() || words[MemoryHead.Oldest] === 0;
      const slot = words[isSmall ? MemoryHead.SmallOldest : MemoryHead.Oldest]! - 1;
      if (slot < 0) return -1;
      const at = this.memory.at(slot) + Slot.Uses;
      const uses = words[at]! & SlotUse.Count;
      const mayGo = !isInUse(slot);
      if (isSmall && mayGo && uses <= 1) {
        this.addGhost(slot);
        return slot;
      }
      if (!isSmall && mayGo && uses === 0) return slot;
      this.index.forget(slot);
      words[at] = isSmall ? 0 : Math.max(0, uses - 1);
      this.index.remember(slot);
    }
    return -1;
  }

  private isSmallFull(): boolean {
    const { words } = this.memory;
    return (
      words[MemoryHead.SmallBlocks]! * SMALL_SHARE >= words[MemoryHead.BlocksUsed]! - words[MemoryHead.FreeBlocks]!
    );
  }

  private isGhost(slot: number): boolean {
    const { words, maxEntries } = this.memory;
    const hash = this.hashOf(slot);
    for (let i = 0, at = this.setOf(hash); i < GHOST_WAYS; i++, at += 2) {
      if (words[at] === hash && words[at + 1] !== 0)
        return words[MemoryHead.Ghosts]! - words[at + 1]! < maxEntries * MAIN_SHARE;
    }
    return false;
  }

  private addGhost(slot: number): void {
    const { words } = this.memory;
    const hash = this.hashOf(slot);
    const set = this.setOf(hash);
    let place = set;
    for (let at = set; at < set + GHOST_WAYS * 2; at += 2) if (words[at + 1]! < words[place + 1]!) place = at;
    words[place] = hash;
    words[place + 1] = ++words[MemoryHead.Ghosts]!;
  }

  private hashOf(slot: number): number {
    const { words } = this.memory;
    const at = this.memory.at(slot);
    const hash = Math.imul(
      words[at + Slot.UriHash]! ^ Math.imul(words[at + Slot.VariantHash]!, 0x9e3779b1),
      0x85ebca6b,
    );
    return (hash ^ (hash >>> 15)) | 0;
  }

  private setOf(hash: number): number {
    const { ghostsAt, ghostMask } = this.memory;
    return ghostsAt + ((hash >>> 3) & ghostMask) * GHOST_WAYS * 2;
  }
}

/** The small queue has a tenth of the memory. */
const SMALL_SHARE = 10;
const MAIN_SHARE = 0.9;
