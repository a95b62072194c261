import { read } from "node:fs";
import type { CacheKey, KeyBytes } from "./store/cache-key.ts";
import type { CacheFetch } from "./store/cache-lookup.ts";
import { FillResult, SlotFlag } from "./store/cache-memory.ts";
import type { CacheStore } from "./store/cache-store.ts";
import type { DiskIndex, DiskPlace } from "./store/disk-index.ts";
import {
  ENTRY_FIXED_BYTES,
  ENTRY_PIECE_BYTES,
  EntryMark,
  type EntryShape,
  isPieceSound,
  isPrefixSound,
  markOf,
  reserveFor,
  shapeOf,
} from "./store/entry-bytes.ts";

/** Reads from the disk of the cache that a worker has under way at a time; what comes then waits its turn. */
const MAX_DISK_READS = 16;

/** What reading the disk needs of its worker. */
export interface DiskReadPorts {
  /**
   * Reads what the kernel has in its memory, without waiting for the disk.
   * @returns bytes that hold until the next call; null if they are not at hand
   */
  readNow(fd: number, offset: number, length: number): Buffer | null;
  /** Runs something that is not a socket event as a turn of its own. */
  inTurn(work: () => void): void;
  /** Is notified that a fetch has ended, so that waiting exchanges continue. */
  onEnded(fill: number): void;
  /** What is added to a time of day to get one of the store. */
  originMs(): number;
  /** Counts a read. */
  counted(isSound: boolean): void;
}

/** How a key stands on the disk. */
export const enum OnDisk {
  /** It is not there. */
  Nothing = 0,
  /** It is being read, by this look-up or another. */
  Reading,
  /** It was at hand, and is in memory now; or it was of no use. */
  AtHand,
}

/** The result of looking for a key on the disk. */
export type DiskResponse =
  | { readonly kind: OnDisk.Nothing }
  | { readonly kind: OnDisk.Reading; readonly fetch: CacheFetch }
  /** `entry` is pinned for the caller; -1 if it was of no use. */
  | { readonly kind: OnDisk.AtHand; readonly entry: number };

/**
 * Brings entries from the disk into the memory: by asynchronous reads, once for all who ask, as a fetch for which they wait like for
 * that of an origin; at once if the kernel has it in its memory. What is damaged in any way is removed, and counts as not there. docs/cache.md#on-disk
 */
export class DiskReads {
  private readonly store: CacheStore;
  private readonly disk: DiskIndex;
  private readonly ports: DiskReadPorts;
  private readonly waiting: DiskRead[] = [];
  /** MAX_DISK_READS at most. */
  private readonly buffers: Buffer[] = [];
  private active = 0;

  constructor(store: CacheStore, disk: DiskIndex, ports: DiskReadPorts) {
    this.store = store;
    this.disk = disk;
    this.ports = ports;
  }

  /**
   * Begins to read what a look-up has not found in memory, right after that look-up.
   * @param known the fetch that the look-up has found or claimed: it becomes that of the disk if there is something to read
   * @param isOfUse whether an entry would serve the request
   */
  begin(key: CacheKey, known: CacheFetch | null, isOfUse: (place: DiskPlace) => boolean): DiskResponse {
    const { store, disk } = this;
    const own = known?.isOwn === true ? known : null;
    if (known !== null && own === null && store.isReading(known.slot)) return { kind: OnDisk.Reading, fetch: known };
    if (!disk.has(key)) return NOT_ON_DISK;
    const fill = own === null ? store.claim(key) : own.slot;
    if (fill < 0) return NOT_ON_DISK;
    // In this order: who takes the entry out after it was found, finds this fetch.
    store.noteReading(fill);
    const place = disk.find(key);
    if (place === null || !isOfUse(place)) {
      if (place !== null) disk.release(place);
      if (own === null) store.abandon(fill, FillResult.GivenUp);
      else store.noteFetching(fill);
      return NOT_ON_DISK;
    }
    const generation = store.generationOf(fill);
    const one = new DiskRead(this, place, fill, key);
    const { fd, offset, totalBytes } = place;
    const bytes = totalBytes > ENTRY_PIECE_BYTES ? null : this.ports.readNow(fd, offset, totalBytes);
    if (bytes !== null) {
      this.active++;
      one.onPrefix(bytes);
      return { kind: OnDisk.AtHand, entry: one.entry };
    }
    if (this.active < MAX_DISK_READS) this.start(one);
    else this.waiting.push(one);
    return { kind: OnDisk.Reading, fetch: { slot: fill, generation, isOwn: true } };
  }

  /** Reads bytes of a segment. @param then gets null if they cannot be read */
  readInto(buffer: Buffer, place: DiskPlace, from: number, length: number, then: (bytes: Buffer | null) => void): void {
    read(place.fd, buffer, 0, length, place.offset + from, (error, count) => {
      this.ports.inTurn(() => then(error !== null || count !== length ? null : buffer.subarray(0, length)));
    });
  }

  /** What is added to a time of day to get one of the store. */
  get originMs(): number {
    return this.ports.originMs();
  }

  /** Stores a head, for which room is made. */
  reserve(fill: number, key: KeyBytes, shape: EntryShape, prefix: Buffer): boolean {
    return reserveFor(this.store, fill, key, shape, prefix);
  }

  write(fill: number, offset: number, piece: Buffer): void {
    this.store.write(fill, offset, piece, 0, piece.length);
  }

  /** A read has ended well: the entry can be found. */
  done(one: DiskRead, shape: EntryShape): void {
    const { fill, place } = one;
    // The index knows its times by the one clock of all threads, and whether it was made stale.
    const { storedAtMs, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs } = place;
    const times = one.softened({ storedAtMs, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs });
    const isStored = this.store.commit(fill, { ...shape, ...times }, true);
    const wasAtHand = one.buffer === null;
    this.end(one, true);
    if (wasAtHand) {
      one.entry = fill;
      return;
    }
    this.ports.onEnded(fill);
    if (!isStored) this.store.unpin(fill);
    // Those who wait go on first: what many churn must not be gone by then.
    else setImmediate(() => this.ports.inTurn(() => this.store.unpin(fill)));
  }

  /** There is no room for it: all who wait go to the origin. */
  noRoom(one: DiskRead): void {
    this.giveUp(one, FillResult.NotStorable);
    this.end(one, true);
  }

  /** It is not what was written, or cannot be read. */
  damaged(one: DiskRead, key: Pick<KeyBytes, "uriHash" | "variantHash">): void {
    this.disk.drop(one.place, key);
    this.giveUp(one, FillResult.GivenUp);
    this.end(one, false);
  }

  private giveUp({ fill }: DiskRead, result: FillResult): void {
    this.store.abandon(fill, result);
    this.ports.onEnded(fill);
  }

  private start(one: DiskRead): void {
    this.active++;
    one.start(this.buffers.pop() ?? Buffer.allocUnsafeSlow(ENTRY_PIECE_BYTES));
  }

  private end(one: DiskRead, isSound: boolean): void {
    this.active--;
    this.disk.release(one.place);
    this.ports.counted(isSound);
    if (one.buffer !== null) this.buffers.push(one.buffer);
    one.buffer = null;
    const next = this.waiting.shift();
    if (next !== undefined) this.start(next);
  }
}

type EntryTimes = Pick<EntryShape, "storedAtMs" | "freshUntilMs" | "staleWhileUntilMs" | "staleErrorUntilMs">;

/** One entry that is being read. */
class DiskRead {
  readonly place: DiskPlace;
  readonly fill: number;
  buffer: Buffer | null = null;
  /** What was at hand, pinned for the look-up that asked; -1 for nothing. */
  entry = -1;
  private readonly owner: DiskReads;
  private readonly key: KeyBytes;
  private prefix: Buffer = EMPTY;
  private shape: EntryShape | null = null;
  private done = 0;
  /** Since when it is stale, which may be before the clock began; null if its file says nothing of that. */
  private staleSinceMs: number | null = null;

  /** @param key what was asked for; it holds for this call alone */
  constructor(owner: DiskReads, place: DiskPlace, fill: number, key: CacheKey) {
    this.owner = owner;
    this.place = place;
    this.fill = fill;
    this.key = key.copy();
  }

  start(buffer: Buffer): void {
    this.buffer = buffer;
    const length = Math.min(this.place.totalBytes, ENTRY_PIECE_BYTES);
    this.owner.readInto(buffer, this.place, 0, length, (bytes) => this.onPrefix(bytes));
  }

  /** The beginning of the entry is there, and all of one that is no longer than a piece. @param bytes null if it cannot be read */
  onPrefix(bytes: Buffer | null): void {
    const shape = bytes === null ? null : shapeOf(bytes, 0);
    if (bytes === null || shape === null || !this.isIt(shape, bytes)) {
      this.owner.damaged(this, this.key);
      return;
    }
    const { prefixBytes, totalBytes, bodyBytes } = shape;
    const hasAll = totalBytes <= bytes.length;
    this.shape = shape;
    this.prefix = hasAll ? bytes.subarray(0, prefixBytes) : Buffer.from(bytes.subarray(0, prefixBytes));
    if (!this.owner.reserve(this.fill, this.key, shape, this.prefix)) this.owner.noRoom(this);
    else if (hasAll && bodyBytes <= ENTRY_PIECE_BYTES) this.onPiece(bytes.subarray(prefixBytes, totalBytes));
    else this.readOn();
  }

  /** Its times, where an earlier process has made it stale. */
  softened(times: EntryTimes): EntryTimes {
    const early = this.staleSinceMs === null ? 0 : times.freshUntilMs - this.staleSinceMs;
    if (early <= 0) return times;
    const sooner = (time: number): number => (time > 0 ? time - early : time);
    return {
      storedAtMs: times.storedAtMs,
      freshUntilMs: times.freshUntilMs - early,
      staleWhileUntilMs: sooner(times.staleWhileUntilMs),
      staleErrorUntilMs: sooner(times.staleErrorUntilMs),
    };
  }

  private readOn(): void {
    const shape = this.shape!;
    const length = Math.min(ENTRY_PIECE_BYTES, shape.bodyBytes - this.done);
    this.owner.readInto(this.buffer!, this.place, shape.prefixBytes + this.done, length, (piece) =>
      this.onPiece(piece),
    );
  }

  private onPiece(piece: Buffer | null): void {
    const shape = this.shape!;
    if (piece === null || !this.isSound(piece)) {
      this.owner.damaged(this, this.key);
      return;
    }
    this.owner.write(this.fill, shape.headBytes + this.done, piece);
    this.done += piece.length;
    if (this.done < shape.bodyBytes) this.readOn();
    else this.owner.done(this, shape);
  }

  private isSound(piece: Buffer): boolean {
    if (piece.length === 0) return this.shape!.bodyBytes === 0;
    return isPieceSound(this.prefix, this.shape!, Math.floor(this.done / ENTRY_PIECE_BYTES), piece);
  }

  /** Whether what was read is the entry of the index, whole, and has the key that was asked for. */
  private isIt(shape: EntryShape, bytes: Buffer): boolean {
    const { prefixBytes, totalBytes, keyBytes, uriBytes, variantBytes } = shape;
    if (uriBytes !== this.key.uriBytes || variantBytes !== this.key.variantBytes) return false;
    if (prefixBytes > bytes.length || totalBytes !== this.place.totalBytes) return false;
    const { mark, sinceMs } = markOf(bytes);
    if (!isPrefixSound(bytes.subarray(0, prefixBytes)) || mark === EntryMark.Dead) return false;
    if (mark === EntryMark.Soft) this.staleSinceMs = sinceMs + this.owner.originMs;
    return this.key.bytes.subarray(0, keyBytes).equals(bytes.subarray(ENTRY_FIXED_BYTES, ENTRY_FIXED_BYTES + keyBytes));
  }
}

/** Whether an entry on disk is of any use: what is stale may be sent, or confirmed at the origin. */
export function isOfUse(place: DiskPlace, nowMs: number): boolean {
  const { flags, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs } = place;
  if ((flags & SlotFlag.HasValidator) !== 0) return true;
  return Math.max(freshUntilMs, staleWhileUntilMs, staleErrorUntilMs) > nowMs;
}

const EMPTY: Buffer = Buffer.alloc(0);
const NOT_ON_DISK: DiskResponse = { kind: OnDisk.Nothing };
