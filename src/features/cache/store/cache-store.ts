import { BlockCursor } from "./cache-blocks.ts";
import type { CacheKey, KeyBytes } from "./cache-key.ts";
import { CacheLock } from "./cache-lock.ts";
import { BUSY, type CacheFetch, type CacheLookup, LookupKind } from "./cache-lookup.ts";
import {
  type CacheBuffers,
  CacheMemory,
  FillResult,
  MAX_CACHE_FILLS,
  MemoryHead,
  Slot,
  SlotFlag,
  SlotState,
  SlotTime,
  SlotUse,
} from "./cache-memory.ts";
import { CachePins } from "./cache-pins.ts";
import { makeStale, PURGE_STEP, type PurgeRule, purgeStep } from "./cache-purge.ts";
import { rebuildCache } from "./cache-repair.ts";
import { CacheSlots } from "./cache-slots.ts";
import type { DiskIndex } from "./disk-index.ts";

/** Responses of one resource that differ by Accept-Encoding or method; one more takes the place of the oldest. */
const MAX_CACHE_VARIANTS = 32;

/** Facts about a response when it is stored; times in milliseconds of one clock that is monotonic and shared by all threads. */
export interface EntryFacts {
  readonly status: number;
  /** SlotFlag bits. */
  readonly flags: number;
  readonly fieldCount: number;
  readonly contentLength: number;
  readonly storedAtMs: number;
  readonly freshUntilMs: number;
  readonly staleWhileUntilMs: number;
  readonly staleErrorUntilMs: number;
  /** A signature of its tags: an entry without a tag's bits does not have the tag. 0 without tags. */
  readonly tags: number;
}

/**
 * The stored responses of all workers, as one thread sees them. Entries are found, put in order of use and taken out under
 * one lock; their bytes are written by the one thread that fetches them, and read by all that have pinned them, without
 * it. An entry that is pinned keeps its blocks although it was removed.
 *
 * Whatever a thread holds when it ends (the lock, fetches, pins) carries its number, and the control thread takes it back
 * (CacheOwner).
 */
export class CacheStore {
  readonly memory: CacheMemory;
  readonly slots: CacheSlots;
  /** The entries on disk; null if the disk is off. */
  readonly disk: DiskIndex | null;
  private readonly version: number;
  private readonly id: number;
  private readonly lock: CacheLock;
  private readonly pins: CachePins;
  private readonly writer: BlockCursor;
  /** The fetch for which `writer` wrote last, and its place there. */
  private written = -1;
  private writtenTo = 0;
  /** Slots to be freed, for which the lock could not be had. */
  private unfreed: number[] = [];

  /**
   * @param buffers from `createCacheBuffers`
   * @param thread number of this thread, 0 and up
   * @param disk the entries on disk: a removal here is a removal there
   * @param lockWaits tenths of a millisecond that it waits for the lock, where this thread serves no one
   */
  constructor(buffers: CacheBuffers, thread: number, disk: DiskIndex | null = null, lockWaits?: number) {
    this.disk = disk;
    this.version = buffers.version;
    this.memory = new CacheMemory(buffers);
    this.slots = new CacheSlots(this.memory);
    this.id = thread + 1;
    this.lock = new CacheLock(this.memory.words, this.id, lockWaits);
    this.pins = new CachePins(this.memory, this.id);
    this.writer = new BlockCursor(this.memory);
  }

  /**
   * Looks for a response; it pins its find, which counts as used.
   * @param mayClaim whether a fetch is noted if nothing fresh is found and no fetch is under way
   */
  find(key: CacheKey, nowMs: number, mayClaim: boolean): CacheLookup {
    if (!this.lock.take()) return BUSY;
    try {
      return this.look(key, nowMs, mayClaim);
    } catch (error) {
      this.repair();
      throw error;
    } finally {
      this.lock.give();
    }
  }

  /** Notes a fetch of this key beside any other. @returns its slot, or -1 */
  claim(key: CacheKey): number {
    return this.locked(() => this.takeFill(key), -1);
  }

  /**
   * Makes room for a fetched response, and writes its key.
   * @param fill the slot of the fetch
   * @returns false if there is no room, or an invalidation hit the fetch
   */
  reserve(fill: number, key: KeyBytes, headBytes: number, bodyBytes: number): boolean {
    const { words, blockBytes } = this.memory;
    const at = this.memory.at(fill);
    const keyBytes = key.wordCount * 4;
    const count = Math.ceil((keyBytes + headBytes + bodyBytes) / blockBytes);
    if (count > this.memory.blocks) return false;
    const hasRoom = this.locked(() => {
      if ((words[at + Slot.Flags]! & SlotFlag.Outdated) !== 0 || !this.slots.makeRoom(count)) return false;
      words[at + Slot.FirstBlock] = this.slots.blocks.take(count);
      words[at + Slot.LateBlock] = words[at + Slot.FirstBlock]!;
      words[at + Slot.BlockCount] = count;
      return true;
    }, false);
    if (!hasRoom) return false;
    words[at + Slot.UriBytes] = key.uriBytes;
    words[at + Slot.VariantBytes] = key.variantBytes;
    words[at + Slot.HeadBytes] = headBytes;
    words[at + Slot.BodyBytes] = bodyBytes;
    this.written = -1;
    this.writer.seek(words[at + Slot.FirstBlock]!, 0);
    this.writer.write(key.bytes, 0, keyBytes);
    return true;
  }

  /**
   * Makes room for more of a body whose length was not announced.
   * @param bodyBytes its length so far, with the new bytes
   * @returns false as `reserve`
   */
  extend(fill: number, bodyBytes: number): boolean {
    const { words, blockBytes } = this.memory;
    const at = this.memory.at(fill);
    const count = Math.ceil((this.keyBytesOf(fill) + words[at + Slot.HeadBytes]! + bodyBytes) / blockBytes);
    const more = count - words[at + Slot.BlockCount]!;
    words[at + Slot.BodyBytes] = bodyBytes;
    if (more <= 0) return true;
    if (count > this.memory.blocks) return false;
    return this.locked(() => {
      if ((words[at + Slot.Flags]! & SlotFlag.Outdated) !== 0 || !this.slots.makeRoom(more)) return false;
      words[at + Slot.LateBlock] = this.slots.blocks.append(words[at + Slot.LateBlock]!, more);
      words[at + Slot.BlockCount] = count;
      return true;
    }, false);
  }

  /** Writes bytes of a fetched response: `offset` counts from the beginning of its head. */
  write(fill: number, offset: number, bytes: Uint8Array, from: number, to: number): void {
    if (this.written !== fill || this.writtenTo !== offset) {
      this.writer.seek(this.memory.words[this.memory.at(fill) + Slot.FirstBlock]!, this.keyBytesOf(fill) + offset);
    }
    this.writer.write(bytes, from, to);
    this.written = fill;
    this.writtenTo = offset + to - from;
  }

  /**
   * Makes a fetched response, written to its end, an entry in place of an older one with its key, and pins it: it can be sent
   * from then on, whatever becomes of the entry.
   * @param isFromDisk whether it is a copy of an entry on disk; the disk gets it otherwise
   * @returns false when it was invalidated meanwhile, so that it is no entry
   */
  commit(fill: number, facts: EntryFacts, isFromDisk: boolean = false): boolean {
    const { words, times } = this.memory;
    const at = this.memory.at(fill);
    const time = fill * SlotTime.Count;
    words[at + Slot.Status] = facts.status;
    words[at + Slot.FieldCount] = facts.fieldCount;
    words[at + Slot.Tags] = facts.tags;
    times[time + SlotTime.StoredAt] = facts.storedAtMs;
    times[time + SlotTime.FreshUntil] = facts.freshUntilMs;
    times[time + SlotTime.StaleWhileUntil] = facts.staleWhileUntilMs;
    times[time + SlotTime.StaleErrorUntil] = facts.staleErrorUntilMs;
    times[time + SlotTime.ContentLength] = facts.contentLength;
    this.pins.add(fill);
    const committed = this.locked(() => {
      if ((words[at + Slot.Flags]! & SlotFlag.Outdated) !== 0) return false;
      words[at + Slot.Flags] = facts.flags;
      this.makeWay(fill);
      this.slots.makeReady(fill);
      if (this.disk !== null && !isFromDisk) this.disk.remove(words[at + Slot.UriHash]!, words[at + Slot.VariantHash]!);
      return true;
    }, false);
    if (committed && this.disk !== null && !isFromDisk && (facts.flags & SlotFlag.FromUpstream) !== 0)
      this.disk.enqueue(fill, words[at + Slot.Generation]!, this.version);
    if (!committed) this.abandon(fill, FillResult.NotStorable);
    return committed;
  }

  /** Ends a fetch that stores nothing. */
  abandon(fill: number, result: FillResult): void {
    const done = this.locked(() => {
      this.slots.endFill(fill, result);
      return true;
    }, false);
    if (!done) this.unfreed.push(-1 - fill);
  }

  /** Whether the fetch is still under way. */
  isFilling(fill: number, generation: number): boolean {
    const { words } = this.memory;
    const at = this.memory.at(fill);
    return (
      Atomics.load(words, at + Slot.Generation) === generation &&
      Atomics.load(words, at + Slot.State) === SlotState.Filling
    );
  }

  /** Says of a fetch that its response has begun, and that its length is not known. */
  noteGrowing(fill: number): void {
    this.memory.words[this.memory.at(fill) + Slot.Status] = GROWING;
  }

  /** Whether a fetch under way may be one without end. */
  isGrowing(fill: number): boolean {
    return this.memory.words[this.memory.at(fill) + Slot.Status] === GROWING;
  }

  /** Says of a fetch that it reads the disk. */
  noteReading(fill: number): void {
    this.memory.words[this.memory.at(fill) + Slot.Status] = READING;
  }

  /** Says of a fetch that it asks the origin after all. */
  noteFetching(fill: number): void {
    this.memory.words[this.memory.at(fill) + Slot.Status] = 0;
  }

  /** The generation of a fetch, by which its writer names its end. */
  generationOf(fill: number): number {
    return this.memory.words[this.memory.at(fill) + Slot.Generation]!;
  }

  /** Whether a fetch reads the disk, and not the origin. */
  isReading(fill: number): boolean {
    return this.memory.words[this.memory.at(fill) + Slot.Status] === READING;
  }

  /** Does something while an entry cannot be removed. @returns false if it has been removed */
  whileReady(slot: number, generation: number, work: () => void): boolean {
    const at = this.memory.at(slot);
    return this.locked(() => {
      const { words } = this.memory;
      if (words[at + Slot.State] !== SlotState.Ready || words[at + Slot.Generation] !== generation) return false;
      work();
      return true;
    }, false);
  }

  /** Whether there is an entry with these hashes. */
  hasReady(uriHash: number, variantHash: number): boolean {
    const { words } = this.memory;
    return this.locked(() => {
      for (let next = this.slots.index.firstOf(uriHash); next !== 0; ) {
        const at = this.memory.at(next - 1);
        next = words[at + Slot.Next]!;
        const isIt = words[at + Slot.UriHash] === uriHash && words[at + Slot.VariantHash] === variantHash;
        if (isIt && words[at + Slot.State] === SlotState.Ready) return true;
      }
      return false;
    }, false);
  }

  /** How a fetch ended that is no longer under way. */
  resultOf(fill: number, generation: number): FillResult {
    const { words } = this.memory;
    const at = this.memory.at(fill);
    if (Atomics.load(words, at + Slot.ResultGeneration) !== generation) return FillResult.GivenUp;
    return words[at + Slot.Result]!;
  }

  /** Keeps an entry that is pinned already from being overwritten until `unpin` was called once more. */
  pin(slot: number): void {
    this.pins.add(slot);
  }

  /** Pins an entry, if there is one in a slot. */
  pinReady(slot: number): boolean {
    return this.locked(() => {
      if (this.memory.words[this.memory.at(slot) + Slot.State] !== SlotState.Ready) return false;
      this.pins.add(slot);
      return true;
    }, false);
  }

  /** Lets go of an entry. */
  unpin(slot: number): void {
    if (!this.pins.drop(slot)) return;
    const { words } = this.memory;
    if (Atomics.load(words, this.memory.at(slot) + Slot.State) === SlotState.Doomed) this.free(slot);
  }

  /**
   * Takes out all responses of the key's resource, and keeps those from being stored that are on their way.
   * @param staleSinceMs the time from which on they are stale, if they stay; -1 otherwise
   */
  invalidate(key: CacheKey, staleSinceMs: number = -1): number {
    const { words } = this.memory;
    return this.locked(() => {
      let count = 0;
      const counted = new Set<number>();
      for (let next = this.slots.index.firstOf(key.uriHash); next !== 0; ) {
        const slot = next - 1;
        const at = this.memory.at(slot);
        next = words[at + Slot.Next]!;
        if (words[at + Slot.State] === SlotState.Filling && words[at + Slot.UriHash] === key.uriHash) {
          words[at + Slot.Flags]! |= SlotFlag.Outdated;
        } else if (words[at + Slot.State] === SlotState.Ready && this.slots.index.holdsUri(slot, key)) {
          if (staleSinceMs < 0) this.slots.remove(slot);
          else makeStale(this.memory, slot, staleSinceMs);
          if (this.disk !== null) counted.add(words[at + Slot.VariantHash]!);
          count++;
        }
      }
      if (this.disk !== null) {
        count += this.disk.removeUri(key.uriHash, staleSinceMs, (variantHash) => !counted.has(variantHash));
      }
      if (count > 0) words[MemoryHead.Invalidations]!++;
      return count;
    }, 0);
  }

  /** Takes one entry out. */
  remove(slot: number): void {
    this.locked(() => {
      const { words } = this.memory;
      const at = this.memory.at(slot);
      if (words[at + Slot.State] !== SlotState.Ready) return true;
      this.disk?.remove(words[at + Slot.UriHash]!, words[at + Slot.VariantHash]!);
      this.slots.remove(slot);
      return true;
    }, false);
  }

  /**
   * Takes out all entries that a rule means, or makes them stale, a few at a time so that others get the lock; what is on its way
   * is not stored.
   */
  purge(rule: PurgeRule): number {
    let count = 0;
    Atomics.add(this.memory.words, MemoryHead.Invalidations, 1);
    for (let from = 0; from < this.memory.words[MemoryHead.SlotsUsed]!; from += PURGE_STEP) {
      count += this.locked(() => purgeStep(this.memory, this.slots, from, rule, this.disk), 0);
    }
    return count;
  }

  /** Tries again what could not be done for want of the lock; to be called now and then. */
  tidy(): void {
    if (this.unfreed.length === 0) return;
    const again = this.unfreed;
    this.unfreed = [];
    for (const one of again) {
      if (one < 0) this.abandon(-1 - one, FillResult.GivenUp);
      else this.free(one);
    }
  }

  /** Bytes of an entry's key, after which its head begins. */
  keyBytesOf(slot: number): number {
    const { words } = this.memory;
    const at = this.memory.at(slot);
    return ((words[at + Slot.UriBytes]! + 3) & ~3) + ((words[at + Slot.VariantBytes]! + 3) & ~3);
  }

  /** Looks at the bucket: the entry of this key, a fetch of it. */
  private look(key: CacheKey, nowMs: number, mayClaim: boolean): CacheLookup {
    const { words, times } = this.memory;
    let entry = -1;
    let fill = -1;
    let sameUri = 0;
    for (let next = this.slots.index.firstOf(key.uriHash); next !== 0; ) {
      const slot = next - 1;
      const at = this.memory.at(slot);
      next = words[at + Slot.Next]!;
      if (words[at + Slot.UriHash] !== key.uriHash) continue;
      if (words[at + Slot.State] === SlotState.Ready) {
        if (entry < 0 && this.slots.index.holds(slot, key)) entry = slot;
        continue;
      }
      sameUri++;
      // A fetch has no key yet. Two keys with one hash would merely wait for each other.
      if (words[at + Slot.VariantHash] === key.variantHash) fill = slot;
    }
    if (entry >= 0) {
      this.pins.add(entry);
      this.slots.index.touch(entry);
      if (nowMs < times[entry * SlotTime.Count + SlotTime.FreshUntil]!) return { kind: LookupKind.Fresh, entry };
    }
    const isOwn = fill < 0;
    if (isOwn && mayClaim && sameUri < MAX_CACHE_VARIANTS * 2) fill = this.takeFill(key);
    const fetch: CacheFetch | null = fill < 0 ? null : { slot: fill, generation: this.generationOf(fill), isOwn };
    if (entry >= 0) return { kind: LookupKind.Stale, entry, fetch };
    if (fetch === null || isOwn) return { kind: LookupKind.Nothing, fetch };
    return { kind: LookupKind.Filling, fetch };
  }

  private takeFill(key: CacheKey): number {
    if (this.memory.words[MemoryHead.Fills]! >= MAX_CACHE_FILLS) return -1;
    return this.slots.take(this.id, key.uriHash, key.variantHash);
  }

  /** Makes way for a new entry: takes out the one with its key, one variant too many, the oldest. */
  private makeWay(fill: number): void {
    const { words, times, maxEntries } = this.memory;
    const uriHash = words[this.memory.at(fill) + Slot.UriHash]!;
    let variants = 0;
    let oldest = -1;
    for (let next = this.slots.index.firstOf(uriHash); next !== 0; ) {
      const slot = next - 1;
      const at = this.memory.at(slot);
      next = words[at + Slot.Next]!;
      if (words[at + Slot.UriHash] !== uriHash) continue;
      if (words[at + Slot.State] === SlotState.Filling && slot !== fill && this.isReading(slot)) {
        // The entry being read is older than this.
        if (words[at + Slot.VariantHash] === words[this.memory.at(fill) + Slot.VariantHash])
          words[at + Slot.Flags]! |= SlotFlag.Outdated;
      }
      if (words[at + Slot.State] !== SlotState.Ready) continue;
      if (this.slots.index.haveSameKey(slot, fill)) {
        words[this.memory.at(fill) + Slot.Uses] = words[at + Slot.Uses]! | SlotUse.Inherited;
        this.slots.remove(slot);
      } else {
        variants++;
        if (oldest < 0 || times[slot * SlotTime.Count]! < times[oldest * SlotTime.Count]!) oldest = slot;
      }
    }
    if (variants >= MAX_CACHE_VARIANTS) this.slots.remove(oldest);
    while (words[MemoryHead.Entries]! >= maxEntries && this.slots.evictOldest());
  }

  private free(slot: number): void {
    const done = this.locked(() => {
      this.slots.freeIfUnused(slot);
      return true;
    }, false);
    if (!done) this.unfreed.push(slot);
  }

  /** @param otherwise the result without the lock */
  private locked<T>(work: () => T, otherwise: T): T {
    if (!this.lock.take()) return otherwise;
    try {
      return work();
    } catch (error) {
      this.repair();
      throw error;
    } finally {
      this.lock.give();
    }
  }

  /** An exception in the midst of a change: what can be derived is derived anew. */
  private repair(): void {
    rebuildCache(this.memory, 0);
  }
}

/** Are no status of a response. */
const GROWING = 1;
const READING = 2;
