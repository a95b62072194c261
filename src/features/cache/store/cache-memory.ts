/** Most memory of a cache: what one array can hold. */
const MAX_CACHE_BYTES = 4_294_901_760;
/** Size of the blocks of which stored responses consist; see CacheMemory. */
const CACHE_BLOCK_MIN_BYTES = 256;
const CACHE_BLOCK_MAX_BYTES = 16_384;
/** Fetches for the cache under way at a time, all workers together; beyond it no exchange waits for another's fetch. */
export const MAX_CACHE_FILLS = 1024;

/** How large a cache may become. */
export interface CacheSizes {
  /** Stored responses, 1 and up. */
  readonly maxEntries: number;
  /** Memory of all stored responses together with their index; at most MAX_CACHE_BYTES. */
  readonly maxBytes: number;
  /** Which entries make way: those least recently used without it. */
  readonly eviction?: "lru" | "s3fifo";
}

/** The memory of one cache, made by the control thread and shared by all. */
export interface CacheBuffers {
  /** Another number for each memory. */
  readonly version: number;
  /** What describes the entries. */
  readonly meta: SharedArrayBuffer;
  /** The entries: blocks of one size. */
  readonly data: SharedArrayBuffer;
  /** What finds the entries on disk; null if there are none. */
  readonly disk: SharedArrayBuffer | null;
}

/** The part of each configuration's message that is about the cache; null if that is off. */
export interface SharedCache {
  readonly cache: CacheBuffers | null;
}

/** Numbers of the header, one Int32 each. Lists hold numbers of slots and blocks plus 1, so that 0 is the end. */
export const enum MemoryHead {
  /** The id of the thread that holds the lock; 0 when it is free. */
  Lock = 0,
  Slots,
  Blocks,
  BlockBytes,
  Buckets,
  MaxEntries,
  PinWords,
  Seed,
  /** Stored responses that can be found. */
  Entries,
  /** Fetches under way. */
  Fills,
  /** Slots that were removed while being sent. */
  Doomed,
  Evictions,
  FreeSlot,
  FreeBlock,
  FreeBlocks,
  /** Slots and blocks from here on have never been used, and are in no list. */
  SlotsUsed,
  BlocksUsed,
  /** Most recently used, or the newest of the main queue; the same two of the small queue follow. */
  Newest,
  Oldest,
  SmallNewest,
  SmallOldest,
  /** Blocks of the entries in the small queue. */
  SmallBlocks,
  /** Entries that have left the small queue for the ghosts so far. */
  Ghosts,
  /** Sets of ghosts, 0 where entries make way in the order of use; see CacheEviction. */
  GhostSets,
  /** Grows when responses are removed before their time. */
  Invalidations,
  Count = 32,
}

/** Numbers of a slot. */
export const enum Slot {
  State = 0,
  /** The thread that fetches. */
  Owner,
  /** Grows whenever the slot becomes free. */
  Generation,
  /** How the last fetch of this slot ended: see FillResult; with the generation that it had. */
  Result,
  ResultGeneration,
  /** Hash of authority and target, and of method and variant. */
  UriHash,
  VariantHash,
  Next,
  Newer,
  Older,
  FirstBlock,
  BlockCount,
  UriBytes,
  VariantBytes,
  HeadBytes,
  FieldCount,
  BodyBytes,
  Status,
  Flags,
  /** A late block of the chain of a body that grows, from which its end is not far. */
  LateBlock,
  /** A signature of the response's tags; 0 for none. */
  Tags,
  /** See SlotUse. */
  Uses,
  Words = 22,
}

/** What `Slot.Uses` holds, where eviction counts uses. */
export const enum SlotUse {
  /** How many requests it had, up to three. */
  Count = 3,
  /** It is in the small queue. */
  Small = 4,
  /** It takes the place of an entry with its key, and its queue and uses with it. */
  Inherited = 8,
}

/** Times and lengths of a slot that need more than 32 bits. Times are milliseconds of the one clock of `CacheTimes.ages`. */
export const enum SlotTime {
  StoredAt = 0,
  FreshUntil,
  /** Until when it may be served stale while it is fetched anew. */
  StaleWhileUntil,
  /** Until when it may stand in for a failing origin. */
  StaleErrorUntil,
  /** The Content-Length that the response announces. */
  ContentLength,
  Count = 6,
}

/** A slot's content: the index can be rebuilt from it. */
export const enum SlotState {
  Free = 0,
  /** The response is being fetched. */
  Filling,
  /** The response can be found and sent. */
  Ready,
  /** Removed, and still being sent. */
  Doomed,
}

/** How a fetch ended for the waiting requests. */
export const enum FillResult {
  /** Given up: another exchange should fetch. */
  GivenUp = 0,
  Stored,
  /** The response is not one to be stored. */
  NotStorable,
}

/** Bits of `Slot.Flags`. */
export const enum SlotFlag {
  /** Made by an origin, not by the gateway. */
  FromUpstream = 1,
  /** Cache-Control: public. */
  Public = 2,
  /** An invalidation hit the fetch meanwhile: the cache must not store it. */
  Outdated = 4,
  /** Holds a validator, so that it can be fetched anew with a condition. */
  HasValidator = 8,
  /** Cache-Control: s-maxage. */
  SharedMaxAge = 16,
  /** Is not sent when it is stale, whatever a client says. */
  NeverStale = 32,
}

/**
 * The arrays of a cache, as one thread sees them.
 *
 *     meta:  header | buckets | next block of each block | slots | pins of the slots | ghosts | times of the slots
 *     data:  blocks; an entry is a chain of them: its key in whole words, its head, its body
 *
 * Blocks are as large as the average entry allows (256 bytes to 16 KiB), so that half-filled last blocks waste a thirtieth
 * of the memory at most, and nothing fragments.
 */
export class CacheMemory {
  readonly words: Int32Array;
  readonly times: Float64Array;
  readonly data: Buffer;
  readonly dataWords: Int32Array;
  readonly bucketsAt: number;
  readonly nextAt: number;
  readonly slotsAt: number;
  readonly pinsAt: number;
  readonly bucketMask: number;
  readonly pinWords: number;
  readonly blockBytes: number;
  readonly blocks: number;
  readonly slots: number;
  readonly maxEntries: number;
  readonly seed: number;
  readonly ghostsAt: number;
  readonly ghostMask: number;
  /** Whether entries make way by how often they are used, not by when: see CacheEviction. */
  readonly countsUses: boolean;

  constructor(buffers: CacheBuffers) {
    this.words = new Int32Array(buffers.meta);
    const { words } = this;
    this.slots = words[MemoryHead.Slots]!;
    this.blocks = words[MemoryHead.Blocks]!;
    this.blockBytes = words[MemoryHead.BlockBytes]!;
    this.bucketMask = words[MemoryHead.Buckets]! - 1;
    this.pinWords = words[MemoryHead.PinWords]!;
    this.maxEntries = words[MemoryHead.MaxEntries]!;
    this.seed = words[MemoryHead.Seed]!;
    this.bucketsAt = MemoryHead.Count;
    this.nextAt = this.bucketsAt + words[MemoryHead.Buckets]!;
    this.slotsAt = this.nextAt + this.blocks;
    this.pinsAt = this.slotsAt + this.slots * Slot.Words;
    this.ghostsAt = this.pinsAt + this.slots * this.pinWords;
    this.ghostMask = words[MemoryHead.GhostSets]! - 1;
    this.countsUses = words[MemoryHead.GhostSets] !== 0;
    const timesAt = evenUp(this.ghostsAt + (this.countsUses ? ghostWords(this.maxEntries) : 0)) * 4;
    this.times = new Float64Array(buffers.meta, timesAt, this.slots * SlotTime.Count);
    this.data = Buffer.from(buffers.data);
    this.dataWords = new Int32Array(buffers.data);
  }

  /** Index of the first number of a slot in `words`. */
  at(slot: number): number {
    return this.slotsAt + slot * Slot.Words;
  }
}

/**
 * Makes the memory of a cache; only used pages become resident.
 * @param threads that will use it, the control thread included
 * @param seed an unpredictable number, for the hashes
 * @param version another number for each memory that a process makes, 1 and up
 */
export function createCacheBuffers(sizes: CacheSizes, threads: number, seed: number, version = 1): CacheBuffers {
  const maxBytes = Math.min(sizes.maxBytes, MAX_CACHE_BYTES);
  const maxEntries = Math.max(1, Math.min(sizes.maxEntries, Math.floor(maxBytes / LEAST_ENTRY_BYTES)));
  const slots = maxEntries + MAX_CACHE_FILLS;
  const blockBytes = blockBytesFor(maxBytes / maxEntries);
  const buckets = 2 ** Math.ceil(Math.log2(slots));
  const pinWords = Math.ceil((threads + 1) / 32);
  const countsUses = sizes.eviction === "s3fifo";
  const fixedWords =
    evenUp(MemoryHead.Count + buckets + slots * (Slot.Words + pinWords)) +
    (countsUses ? ghostWords(maxEntries) : 0) +
    slots * SlotTime.Count * 2;
  // Slots for fetches are beside the limit; a block costs one word in `next`.
  const fillWords = MAX_CACHE_FILLS * (Slot.Words + pinWords + SlotTime.Count * 2);
  const room = maxBytes - (fixedWords - fillWords) * 4;
  const blocks = Math.max(0, Math.floor(room / (blockBytes + 4)));
  const meta = new SharedArrayBuffer((evenUp(fixedWords + blocks) + 2) * 4);
  const words = new Int32Array(meta);
  words[MemoryHead.Slots] = slots;
  words[MemoryHead.Blocks] = blocks;
  words[MemoryHead.BlockBytes] = blockBytes;
  words[MemoryHead.Buckets] = buckets;
  words[MemoryHead.MaxEntries] = maxEntries;
  words[MemoryHead.PinWords] = pinWords;
  words[MemoryHead.Seed] = seed;
  words[MemoryHead.GhostSets] = countsUses ? ghostSets(maxEntries) : 0;
  return { version, meta, data: new SharedArrayBuffer(blocks * blockBytes), disk: null };
}

/** Words of the ghosts of so many entries. */
function ghostWords(maxEntries: number): number {
  return ghostSets(maxEntries) * GHOST_WAYS * 2;
}

/** Twice as many places as entries, in sets, so that few ghosts are overwritten before their time; a power of two of sets. */
function ghostSets(maxEntries: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, (maxEntries * 2) / GHOST_WAYS)));
}

/** A sixteenth of the mean room for an entry, as a power of two. */
function blockBytesFor(entryBytes: number): number {
  let bytes = CACHE_BLOCK_MIN_BYTES;
  while (bytes < CACHE_BLOCK_MAX_BYTES && bytes * 2 * 16 <= entryBytes) bytes *= 2;
  return bytes;
}

function evenUp(words: number): number {
  return words + (words & 1);
}

/** No entry is smaller, its slot and bucket included. */
const LEAST_ENTRY_BYTES = 512;
/** Ghosts of a set: see CacheEviction. */
export const GHOST_WAYS = 4;
