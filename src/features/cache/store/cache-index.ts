import type { CacheKey } from "./cache-key.ts";
import { type CacheMemory, MemoryHead, Slot, SlotUse } from "./cache-memory.ts";

/** Finding slots: chains of slots in buckets, and the order of last use. All under the lock. */
export class CacheIndex {
  private readonly memory: CacheMemory;

  constructor(memory: CacheMemory) {
    this.memory = memory;
  }

  /** The first slot of the bucket, plus 1; the others follow by Slot.Next. */
  firstOf(uriHash: number): number {
    const { words, bucketsAt, bucketMask } = this.memory;
    return words[bucketsAt + (uriHash & bucketMask)]!;
  }

  /** Puts a slot into its bucket. */
  link(slot: number): void {
    const { words, bucketsAt, bucketMask } = this.memory;
    const at = this.memory.at(slot);
    const bucket = bucketsAt + (words[at + Slot.UriHash]! & bucketMask);
    words[at + Slot.Next] = words[bucket]!;
    words[bucket] = slot + 1;
  }

  /** Takes a slot out of its bucket. */
  unlink(slot: number): void {
    const { words, bucketsAt, bucketMask } = this.memory;
    const at = this.memory.at(slot);
    let place = bucketsAt + (words[at + Slot.UriHash]! & bucketMask);
    while (words[place] !== slot + 1) {
      if (words[place] === 0) return;
      place = this.memory.at(words[place]! - 1) + Slot.Next;
    }
    words[place] = words[at + Slot.Next]!;
  }

  /** Notes the use of an entry: it is the newest now, or has one use more. */
  touch(slot: number): void {
    const { words } = this.memory;
    if (this.memory.countsUses) {
      const at = this.memory.at(slot) + Slot.Uses;
      if ((words[at]! & SlotUse.Count) < SlotUse.Count) words[at]!++;
      return;
    }
    if (words[MemoryHead.Newest] === slot + 1) return;
    this.forget(slot);
    this.remember(slot);
  }

  /** Puts an entry before all others in the order of use, or in its queue. */
  remember(slot: number): void {
    const { words } = this.memory;
    const at = this.memory.at(slot);
    const queue = this.queueOf(at);
    const newest = words[MemoryHead.Newest + queue]!;
    words[at + Slot.Newer] = 0;
    words[at + Slot.Older] = newest;
    if (newest === 0) words[MemoryHead.Oldest + queue] = slot + 1;
    else words[this.memory.at(newest - 1) + Slot.Newer] = slot + 1;
    words[MemoryHead.Newest + queue] = slot + 1;
    if (queue !== 0) words[MemoryHead.SmallBlocks]! += words[at + Slot.BlockCount]!;
  }

  /** Takes an entry out of the order of use. */
  forget(slot: number): void {
    const { words } = this.memory;
    const at = this.memory.at(slot);
    const queue = this.queueOf(at);
    const newer = words[at + Slot.Newer]!;
    const older = words[at + Slot.Older]!;
    if (newer === 0) words[MemoryHead.Newest + queue] = older;
    else words[this.memory.at(newer - 1) + Slot.Older] = older;
    if (older === 0) words[MemoryHead.Oldest + queue] = newer;
    else words[this.memory.at(older - 1) + Slot.Newer] = newer;
    if (queue !== 0) words[MemoryHead.SmallBlocks]! -= words[at + Slot.BlockCount]!;
  }

  /** Words from the ends of the order of use to those of an entry's queue. */
  private queueOf(at: number): number {
    return (this.memory.words[at + Slot.Uses]! & SlotUse.Small) >>> 1;
  }

  /** Whether the key that an entry holds is this one. */
  holds(slot: number, key: CacheKey): boolean {
    const { words } = this.memory;
    const at = this.memory.at(slot);
    if (words[at + Slot.UriHash] !== key.uriHash || words[at + Slot.VariantHash] !== key.variantHash) return false;
    if (words[at + Slot.UriBytes] !== key.uriBytes || words[at + Slot.VariantBytes] !== key.variantBytes) return false;
    return this.startsWith(slot, key, key.wordCount);
  }

  /** Whether it is a response of this resource, whatever the variant. */
  holdsUri(slot: number, key: CacheKey): boolean {
    const { words } = this.memory;
    const at = this.memory.at(slot);
    if (words[at + Slot.UriHash] !== key.uriHash || words[at + Slot.UriBytes] !== key.uriBytes) return false;
    return this.startsWith(slot, key, key.uriWords);
  }

  /** Whether two entries have the same key. */
  haveSameKey(one: number, other: number): boolean {
    const { words, dataWords } = this.memory;
    const a = this.memory.at(one);
    const b = this.memory.at(other);
    for (const part of KEY_PARTS) if (words[a + part] !== words[b + part]) return false;
    const count = ((words[a + Slot.UriBytes]! + 3) >>> 2) + ((words[a + Slot.VariantBytes]! + 3) >>> 2);
    const left = new KeyWords(this.memory, one);
    const right = new KeyWords(this.memory, other);
    for (let i = 0; i < count; i++) if (dataWords[left.next()] !== dataWords[right.next()]) return false;
    return true;
  }

  private startsWith(slot: number, key: CacheKey, count: number): boolean {
    const { words, dataWords, blockBytes, nextAt } = this.memory;
    const blockWords = blockBytes >>> 2;
    const wanted = key.words;
    let block = words[this.memory.at(slot) + Slot.FirstBlock]!;
    for (let i = 0; i < count; ) {
      if (block === 0) return false;
      const from = (block - 1) * blockWords;
      const here = Math.min(blockWords, count - i);
      for (let j = 0; j < here; j++) if (dataWords[from + j] !== wanted[i + j]) return false;
      i += here;
      block = words[nextAt + block - 1]!;
    }
    return true;
  }
}

/** The places of the words of an entry's key, one after the other. */
class KeyWords {
  private readonly memory: CacheMemory;
  private block: number;
  private left: number;
  private place: number;

  constructor(memory: CacheMemory, slot: number) {
    this.memory = memory;
    this.block = memory.words[memory.at(slot) + Slot.FirstBlock]! - 1;
    this.left = memory.blockBytes >>> 2;
    this.place = this.block * this.left;
  }

  next(): number {
    const { words, nextAt, blockBytes } = this.memory;
    if (this.left === 0) {
      this.block = words[nextAt + this.block]! - 1;
      this.left = blockBytes >>> 2;
      this.place = this.block * this.left;
    }
    this.left--;
    return this.place++;
  }
}

const KEY_PARTS = [Slot.UriHash, Slot.VariantHash, Slot.UriBytes, Slot.VariantBytes] as const;
