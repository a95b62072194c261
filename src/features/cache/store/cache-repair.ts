import { type CacheMemory, FillResult, MemoryHead, Slot, SlotState, SlotTime } from "./cache-memory.ts";
import { CacheSlots } from "./cache-slots.ts";

/**
 * Makes buckets, order of use, free lists and counts anew from the slots, whose states are the truth: whatever a thread
 * was doing when it ended, a slot is free, being filled, ready or taken out. Under the lock. The order of use becomes the
 * order of storing.
 * @param dead the id of a thread that has ended, whose fetches and pins are forgotten; 0 for none
 */
export function rebuildCache(memory: CacheMemory, dead: number): void {
  const { words, bucketsAt, bucketMask } = memory;
  words.fill(0, bucketsAt, bucketsAt + bucketMask + 1);
  for (const at of DERIVED) words[at] = 0;
  if (dead !== 0) clearPinsOf(memory, dead);
  const used = new Uint8Array(memory.blocks);
  const slots = new CacheSlots(memory);
  const ready: number[] = [];
  for (let slot = 0; slot < words[MemoryHead.SlotsUsed]!; slot++) {
    const at = memory.at(slot);
    const state = keptState(memory, slots, slot, dead);
    if (state === SlotState.Free || !keepBlocks(memory, slot, used)) {
      freeSlot(memory, slot);
      continue;
    }
    words[at + Slot.State] = state;
    words[COUNT_OF[state]!]!++;
    if (state !== SlotState.Doomed) slots.index.link(slot);
    if (state === SlotState.Ready) ready.push(slot);
  }
  freeBlocks(memory, used);
  ready.sort((a, b) => memory.times[a * SlotTime.Count]! - memory.times[b * SlotTime.Count]!);
  for (const slot of ready) slots.index.remember(slot);
}

/** Takes back what a thread held that has ended: fetches, pins. Under the lock. */
export function reclaimFrom(memory: CacheMemory, dead: number): void {
  const { words } = memory;
  const slots = new CacheSlots(memory);
  clearPinsOf(memory, dead);
  for (let slot = 0; slot < words[MemoryHead.SlotsUsed]!; slot++) {
    const at = memory.at(slot);
    const state = words[at + Slot.State]!;
    if (state === SlotState.Filling && words[at + Slot.Owner] === dead) slots.endFill(slot, FillResult.GivenUp);
    else if (state === SlotState.Doomed) slots.freeIfUnused(slot);
  }
}

function clearPinsOf({ words, pinsAt, pinWords }: CacheMemory, id: number): void {
  for (let slot = 0; slot < words[MemoryHead.SlotsUsed]!; slot++) {
    Atomics.and(words, pinsAt + slot * pinWords + (id >>> 5), ~(1 << (id & 31)));
  }
}

/** What a slot is from now on. */
function keptState(memory: CacheMemory, slots: CacheSlots, slot: number, dead: number): SlotState {
  const at = memory.at(slot);
  const state: SlotState = memory.words[at + Slot.State]!;
  if (state === SlotState.Ready) return state;
  if (state === SlotState.Filling && memory.words[at + Slot.Owner] !== dead) return state;
  return state !== SlotState.Free && slots.isPinned(slot) ? SlotState.Doomed : SlotState.Free;
}

/** Marks a slot's blocks as used. @returns false if the chain is not one that belongs to it alone */
function keepBlocks({ words, nextAt, blocks, slotsAt }: CacheMemory, slot: number, used: Uint8Array): boolean {
  const at = slotsAt + slot * Slot.Words;
  const chain: number[] = [];
  let block = words[at + Slot.FirstBlock]!;
  for (let left = words[at + Slot.BlockCount]!; left > 0; left--) {
    if (block < 1 || block > blocks || used[block - 1] === 1) return false;
    chain.push(block - 1);
    block = words[nextAt + block - 1]!;
  }
  for (const one of chain) used[one] = 1;
  return true;
}

function freeSlot({ words, slotsAt }: CacheMemory, slot: number): void {
  const at = slotsAt + slot * Slot.Words;
  if (words[at + Slot.State] !== SlotState.Free) Atomics.add(words, at + Slot.Generation, 1);
  words[at + Slot.FirstBlock] = 0;
  words[at + Slot.BlockCount] = 0;
  Atomics.store(words, at + Slot.State, SlotState.Free);
  words[at + Slot.Next] = words[MemoryHead.FreeSlot]!;
  words[MemoryHead.FreeSlot] = slot + 1;
}

function freeBlocks({ words, nextAt }: CacheMemory, used: Uint8Array): void {
  for (let block = words[MemoryHead.BlocksUsed]! - 1; block >= 0; block--) {
    if (used[block] === 1) continue;
    words[nextAt + block] = words[MemoryHead.FreeBlock]!;
    words[MemoryHead.FreeBlock] = block + 1;
    words[MemoryHead.FreeBlocks]!++;
  }
}

const DERIVED = [
  ...[
    MemoryHead.Entries,
    MemoryHead.Fills,
    MemoryHead.Doomed,
    MemoryHead.FreeSlot,
    MemoryHead.FreeBlock,
    MemoryHead.FreeBlocks,
  ],
  ...[MemoryHead.Newest, MemoryHead.Oldest, MemoryHead.SmallNewest, MemoryHead.SmallOldest, MemoryHead.SmallBlocks],
] as const;

const COUNT_OF: Readonly<Record<number, MemoryHead>> = {
  [SlotState.Ready]: MemoryHead.Entries,
  [SlotState.Filling]: MemoryHead.Fills,
  [SlotState.Doomed]: MemoryHead.Doomed,
};
