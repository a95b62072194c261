import { CacheBlocks } from "./cache-blocks.ts";
import { CacheEviction } from "./cache-eviction.ts";
import { CacheIndex } from "./cache-index.ts";
import { type CacheMemory, FillResult, MemoryHead, Slot, SlotState } from "./cache-memory.ts";

/** The lives of slots: taken for a fetch, made ready, taken out, freed. All under the lock. */
export class CacheSlots {
  readonly index: CacheIndex;
  readonly blocks: CacheBlocks;
  private readonly memory: CacheMemory;
  private readonly eviction: CacheEviction;

  constructor(memory: CacheMemory) {
    this.memory = memory;
    this.index = new CacheIndex(memory);
    this.blocks = new CacheBlocks(memory);
    this.eviction = new CacheEviction(memory, this.index);
  }

  /** Takes a free slot for a fetch. @returns -1 when there is none */
  take(owner: number, uriHash: number, variantHash: number): number {
    const { words, slots } = this.memory;
    let slot = words[MemoryHead.FreeSlot]! - 1;
    if (slot >= 0) words[MemoryHead.FreeSlot] = words[this.memory.at(slot) + Slot.Next]!;
    else if (words[MemoryHead.SlotsUsed]! < slots) slot = words[MemoryHead.SlotsUsed]!++;
    else return -1;
    const at = this.memory.at(slot);
    words[at + Slot.Owner] = owner;
    words[at + Slot.UriHash] = uriHash;
    words[at + Slot.VariantHash] = variantHash;
    words[at + Slot.FirstBlock] = 0;
    words[at + Slot.BlockCount] = 0;
    words[at + Slot.Flags] = 0;
    words[at + Slot.Status] = 0;
    words[at + Slot.Uses] = 0;
    Atomics.store(words, at + Slot.State, SlotState.Filling);
    words[MemoryHead.Fills]!++;
    this.index.link(slot);
    return slot;
  }

  /** Ends a fetch that stores nothing; the fetched data stays for as long as it is being sent. */
  endFill(slot: number, result: FillResult): void {
    const { words } = this.memory;
    this.noteResult(slot, result);
    Atomics.store(words, this.memory.at(slot) + Slot.State, SlotState.Doomed);
    this.index.unlink(slot);
    words[MemoryHead.Fills]!--;
    words[MemoryHead.Doomed]!++;
    this.freeIfUnused(slot);
  }

  /** Ends a fetch: the slot is an entry from now on. */
  makeReady(slot: number): void {
    const { words } = this.memory;
    this.noteResult(slot, FillResult.Stored);
    words[MemoryHead.Fills]!--;
    words[MemoryHead.Entries]!++;
    if (this.memory.countsUses) this.eviction.enter(slot);
    else this.index.remember(slot);
    Atomics.store(words, this.memory.at(slot) + Slot.State, SlotState.Ready);
  }

  /** Takes an entry out; it is freed now, or when the last send ends. */
  remove(slot: number): void {
    const { words } = this.memory;
    // Before the pins are read: the reader that releases the last pin reads the state after that.
    Atomics.store(words, this.memory.at(slot) + Slot.State, SlotState.Doomed);
    this.index.unlink(slot);
    this.index.forget(slot);
    words[MemoryHead.Entries]!--;
    words[MemoryHead.Doomed]!++;
    this.freeIfUnused(slot);
  }

  /** Frees a slot that was removed and is no longer being sent. */
  freeIfUnused(slot: number): void {
    const { words } = this.memory;
    if (words[this.memory.at(slot) + Slot.State] !== SlotState.Doomed || this.isPinned(slot)) return;
    words[MemoryHead.Doomed]!--;
    this.free(slot);
  }

  /** Takes the entry out that is the first to make way. @returns false if there is none */
  evictOldest(): boolean {
    const { words } = this.memory;
    const slot = this.memory.countsUses ? this.eviction.next(() => false) : words[MemoryHead.Oldest]! - 1;
    if (slot < 0) return false;
    words[MemoryHead.Evictions]!++;
    this.remove(slot);
    return true;
  }

  /**
   * Makes room by taking out entries, in the order in which they make way, that are not being sent.
   * @returns false when that is not enough
   */
  makeRoom(blocks: number): boolean {
    const { words } = this.memory;
    let passedOver = 0;
    const isInUse = (slot: number): boolean => this.isPinned(slot) && ++passedOver > 0;
    let place = words[MemoryHead.Oldest]!;
    while (this.blocks.free < blocks) {
      let slot = place - 1;
      if (this.memory.countsUses) slot = this.eviction.next(isInUse);
      else if (slot >= 0) place = words[this.memory.at(slot) + Slot.Newer]!;
      if (slot < 0 || passedOver > MAX_PASSED_OVER) return false;
      if (!this.memory.countsUses && isInUse(slot)) continue;
      words[MemoryHead.Evictions]!++;
      this.remove(slot);
    }
    return true;
  }

  /** Whether any thread sends the entry. */
  isPinned(slot: number): boolean {
    const { words, pinsAt, pinWords } = this.memory;
    const at = pinsAt + slot * pinWords;
    for (let i = 0; i < pinWords; i++) if (Atomics.load(words, at + i) !== 0) return true;
    return false;
  }

  private free(slot: number): void {
    const { words } = this.memory;
    const at = this.memory.at(slot);
    const first = words[at + Slot.FirstBlock]!;
    const count = words[at + Slot.BlockCount]!;
    words[at + Slot.BlockCount] = 0;
    words[at + Slot.FirstBlock] = 0;
    if (count > 0) this.blocks.give(first, count);
    Atomics.add(words, at + Slot.Generation, 1);
    Atomics.store(words, at + Slot.State, SlotState.Free);
    words[at + Slot.Next] = words[MemoryHead.FreeSlot]!;
    words[MemoryHead.FreeSlot] = slot + 1;
  }

  private noteResult(slot: number, result: FillResult): void {
    const { words } = this.memory;
    const at = this.memory.at(slot);
    words[at + Slot.Result] = result;
    Atomics.store(words, at + Slot.ResultGeneration, words[at + Slot.Generation]!);
  }
}

/** Entries that may be in the way of making room, since they are being sent. */
const MAX_PASSED_OVER = 64;
