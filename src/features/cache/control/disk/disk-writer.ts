import { readdirSync, writeSync } from "node:fs";
import { makeFolder } from "../../../../config/made-folder.ts";
import { StoreLock } from "../../../../net/store-lock.ts";
import { type DiskPurge, mayHaveTag, purgeRule } from "../../purge-rule.ts";
import { CacheKey, type KeyBytes } from "../../store/cache-key.ts";
import { Slot, SlotFlag } from "../../store/cache-memory.ts";
import type { CacheStore } from "../../store/cache-store.ts";
import type { DiskEntry, DiskIndex } from "../../store/disk-index.ts";
import { DISK_SEGMENTS } from "../../store/disk-layout.ts";
import {
  ENTRY_FIXED_BYTES,
  ENTRY_MARK_END,
  ENTRY_PIECE_BYTES,
  EntryMark,
  EntryReader,
  type EntryShape,
  markEntry,
  piecesOf,
  readKey,
  shapeOf,
} from "../../store/entry-bytes.ts";
import { readHead } from "../../stored-head.ts";
import { Segment, type SegmentRecord, serialsIn } from "./segment.ts";

/** Bytes of a segment of the disk's cache, least and most: a sixty-fourth of all within these. */
const DISK_SEGMENT_MIN_BYTES = 1_048_576;
const DISK_SEGMENT_MAX_BYTES = 1_073_741_824;
/** Milliseconds until a disk that failed is tried again. */
const DISK_RETRY_MS = 10_000;

/** What the thread of the disk tells. */
interface DiskEvents {
  /** The folder is in use, with so much in it. */
  opened(entries: number, bytes: number): void;
  /** It is not, or nothing is written any more. */
  failed(reason: string): void;
}

/** Where and how much. */
export interface DiskSettings {
  readonly path: string;
  readonly maxBytes: number;
  /** Of what kind the entries are: those of another one are removed. */
  readonly kind: string;
}

/** The clock of the entries' times, in this thread. */
interface StoreClock {
  readonly nowMs: number;
}

/**
 *   Closed ──lock, index──▶ Open ──disk full──▶ Full ──after DISK_RETRY_MS──▶ Open
 *     ▲                      │ └──hand-over──▶ Released
 *     └──any other error─────┘
 */
const enum State {
  Closed = 0,
  Open,
  /** Is read, and not written for a while. */
  Full,
  /** Another process has the folder: it is read, and marks are written. */
  Released,
}

/**
 * The files of `cache.disk`: new entries are appended to the youngest segment; when there is no room the oldest goes, but for
 * what was asked for since, which is appended again. All I/O is in one thread that does nothing else. docs/cache.md#on-disk
 */
export class DiskWriter {
  private settings: DiskSettings;
  private readonly index: DiskIndex;
  private readonly clock: StoreClock;
  private readonly events: DiskEvents;
  private readonly segmentBytes: number;
  private lock: StoreLock | null = null;
  private segments: Segment[] = [];
  /** Removed, and perhaps still read. */
  private leaving: Segment[] = [];
  private active: Segment | null = null;
  private lastSerial = 0;
  private state: State = State.Closed;
  private retryAtMs = 0;
  /** Whether marks may be lacking in the files, so that what was removed would come back. */
  private mustEmpty = false;
  private hasFailed = false;
  private memory: { store: CacheStore; reader: EntryReader; version: number } | null = null;

  constructor(settings: DiskSettings, index: DiskIndex, clock: StoreClock, events: DiskEvents) {
    this.settings = settings;
    this.index = index;
    this.clock = clock;
    this.events = events;
    const share = Math.floor(settings.maxBytes / SEGMENTS_OF_ALL);
    const least = Math.min(DISK_SEGMENT_MIN_BYTES, Math.floor(settings.maxBytes / 8));
    this.segmentBytes = Math.max(least, Math.min(DISK_SEGMENT_MAX_BYTES, share));
  }

  /** The memory whose entries are written from now on. */
  useMemory(store: CacheStore, version: number): void {
    this.memory = { store, reader: new EntryReader(store), version };
  }

  /** Takes the folder. Failing is no error: it is tried again by `work`. */
  open(): void {
    try {
      makeFolder(this.settings.path, 0o700);
      this.lock = new StoreLock(this.settings.path);
      if (!this.lock.take()) {
        this.lock = null;
        throw new Error("another process uses this folder");
      }
      if (this.mustEmpty) this.empty();
      else this.load();
      this.mustEmpty = false;
      if (!this.index.endLoading()) this.removeAll();
      this.index.open(true);
      this.state = State.Open;
      this.onOpened();
    } catch (error) {
      this.fail(error);
    }
  }

  /**
   * Does some of what there is to do.
   * @returns whether there is more
   */
  work(): boolean {
    try {
      this.closeLeft();
      if (this.state === State.Closed) {
        if (performance.now() >= this.retryAtMs) this.open();
        return false;
      }
      this.writeMarks();
      if (this.state === State.Full && performance.now() >= this.retryAtMs) {
        this.state = State.Open;
        this.index.open(true);
      }
      return this.state === State.Open && this.writeQueued();
    } catch (error) {
      this.fail(error);
      return false;
    }
  }

  /** Looks now and then whether the folder is still there, and writes what the indexes lack. */
  look(): void {
    if (this.state !== State.Open) return;
    try {
      this.active?.flush();
      if (this.active?.isRemoved === true) throw new Error("the folder was removed");
    } catch (error) {
      this.fail(error);
    }
  }

  /** Takes entries out, or makes them stale. @returns how many there were on disk alone */
  purge(purge: DiskPurge): number {
    if (this.state === State.Closed) return 0;
    try {
      const isAll = purge.order.kind === "all" && purge.staleSinceMs < 0;
      const count = isAll ? this.removeAll() : this.purgeBy(purge);
      this.writeMarks();
      return count;
    } catch (error) {
      this.fail(error);
      return 0;
    }
  }

  /** Writes all that waits, and lets another process have the folder. */
  release(): void {
    if (this.state === State.Closed) return;
    try {
      while (this.state === State.Open && this.writeQueued());
      this.writeMarks();
      for (const segment of this.segments) segment.seal();
    } catch (error) {
      this.fail(error);
      return;
    }
    this.index.stopWriting();
    this.active = null;
    this.state = State.Released;
    this.lock?.release();
    this.lock = null;
  }

  /** Removes all that is there: what is stored from now on is of another kind. */
  renew(kind: string): void {
    this.settings = { ...this.settings, kind };
    if (this.state === State.Closed) return;
    try {
      this.removeAll();
      if (this.state !== State.Released) this.index.open(this.state === State.Open);
    } catch (error) {
      this.fail(error);
    }
  }

  /** No other process wants it after all. */
  resume(): void {
    if (this.state !== State.Released) return;
    this.closeAll();
    this.retryAtMs = 0;
    this.work();
  }

  private get totalBytes(): number {
    return this.segments.reduce((sum, segment) => sum + segment.totalBytes, 0);
  }

  /** The difference between times of the store and times of the files, which are of the time of day. */
  private get originMs(): number {
    return this.clock.nowMs - Date.now();
  }

  private load(): void {
    const { path, kind } = this.settings;
    const names = readdirSync(path);
    const serials = serialsIn(names);
    this.lastSerial = serials.at(-1) ?? 0;
    for (const serial of serials) {
      const segment = Segment.open(path, serial, kind);
      if (segment !== null) this.loadSegment(segment, serial === this.lastSerial);
    }
    const last = this.segments.at(-1);
    this.active = last !== undefined && last.serial === this.lastSerial && last.size < this.segmentBytes ? last : null;
    if (this.active === null) last?.seal();
    while (this.totalBytes > this.settings.maxBytes) this.dropOldest(false);
    this.index.bytes = this.totalBytes;
  }

  private loadSegment(segment: Segment, isLast: boolean): void {
    const { index } = this;
    if (this.segments.length >= DISK_SEGMENTS - 2) this.dropOldest(false);
    segment.row = index.addSegment(segment.fd);
    this.segments.push(segment);
    const { nowMs } = this.clock;
    const key = new CacheKey(this.seed);
    let end = 0;
    for (const { offset, shape, bytes } of segment.records(this.originMs)) {
      end = offset + shape.totalBytes;
      // Stored in the future: the time of day was set back, and nothing is known of its age.
      if (shape.storedAtMs > nowMs + MAX_AHEAD_MS || !isOfUse(shape, nowMs)) continue;
      if (!index.hasRoom) break;
      readKey(key, shape, bytes, ENTRY_FIXED_BYTES);
      index.insert(entryOf(segment, offset, shape, key));
    }
    segment.mend(end, isLast && end < this.segmentBytes);
    if (index.liveIn(segment.row) === 0 && !isLast) this.drop(segment);
  }

  private get seed(): number {
    return this.memory!.store.memory.seed;
  }

  private writeQueued(): boolean {
    const until = performance.now() + STEP_MS;
    while (performance.now() < until) {
      const queued = this.index.dequeue();
      if (queued === null) return false;
      const [slot, generation, version] = queued;
      const { memory } = this;
      if (memory === null || memory.version !== version || !memory.store.pinReady(slot)) {
        this.index.countMissed();
        continue;
      }
      try {
        if (memory.store.generationOf(slot) === generation) this.write(memory, slot, generation);
        else this.index.countMissed();
      } finally {
        memory.store.unpin(slot);
      }
      if (this.state !== State.Open) return false;
      this.writeMarks();
    }
    return true;
  }

  /** Writes an entry that is pinned. */
  private write({ store, reader }: NonNullable<DiskWriter["memory"]>, slot: number, generation: number): void {
    const { words } = store.memory;
    const at = store.memory.at(slot);
    const { originMs } = this;
    const prefix = reader.prefix(slot, originMs);
    const shape = shapeOf(prefix, originMs)!;
    const pieces = function* (): Generator<Buffer> {
      for (let i = 0; i < piecesOf(shape.bodyBytes); i++) yield reader.piece(slot, i);
    };
    const placed = this.append(shape, prefix, pieces());
    if (placed === null) return;
    const key = { uriHash: words[at + Slot.UriHash]!, variantHash: words[at + Slot.VariantHash]! };
    const entry = entryOf(placed.segment, placed.offset, shape, key);
    let isFound = false;
    let isReady = true;
    // Where another thread has lost its processor within the lock of the index, that of the memory is not kept for so long.
    for (let tries = 0; tries < INSERT_TRIES && isReady && !isFound; tries++) {
      isReady = store.whileReady(slot, generation, () => {
        isFound = this.index.insert(entry);
      });
    }
    if (isFound) return;
    this.index.countMissed();
    this.mark(placed.segment.fd, placed.offset, -1);
  }

  /** @returns null if it is too large, or the disk is full */
  private append(
    shape: EntryShape,
    prefix: Buffer,
    pieces: Iterable<Buffer>,
  ): { segment: Segment; offset: number } | null {
    const bytes = shape.totalBytes + ENTRY_FIXED_BYTES * 2 + shape.keyBytes;
    if (bytes > this.settings.maxBytes / 4) return null;
    try {
      this.makeRoom(bytes);
      const segment = this.segmentFor(bytes);
      const offset = segment.append(shape, prefix, pieces);
      this.index.bytes = this.totalBytes;
      if (this.hasFailed) this.onOpened();
      return { segment, offset };
    } catch (error) {
      if (!isFull(error)) throw error;
      this.pause(error);
      return null;
    }
  }

  private segmentFor(bytes: number): Segment {
    const { active } = this;
    if (active !== null && active.size + bytes <= Math.max(this.segmentBytes, bytes)) return active;
    const segment = Segment.create(this.settings.path, this.lastSerial + 1, this.settings.kind);
    this.lastSerial++;
    active?.seal();
    segment.row = this.index.addSegment(segment.fd);
    this.segments.push(segment);
    this.active = segment;
    return segment;
  }

  /** Makes room for an entry, and keeps some for what is appended again when a segment goes. */
  private makeRoom(bytes: number): void {
    const limit = this.settings.maxBytes - Math.floor(this.segmentBytes / 2);
    const isFull = (): boolean =>
      this.totalBytes + bytes > limit ||
      this.segments.length + this.leaving.length >= DISK_SEGMENTS - 2 ||
      !this.index.hasRoom;
    while (isFull() && this.segments.length > 0) this.dropOldest(this.segments.length > 2);
  }

  /** @param keeps whether what was asked for is appended again */
  private dropOldest(keeps: boolean): void {
    const oldest = this.segments[0]!;
    if (oldest === this.active) this.active = null;
    if (keeps) this.keepWanted(oldest);
    const gone = this.index.liveIn(oldest.row);
    this.drop(oldest);
    this.index.countEvictions(gone);
  }

  /** Appends again what of a segment was asked for, or is in memory, up to half a segment. */
  private keepWanted(oldest: Segment): void {
    const { index, clock } = this;
    const store = this.memory?.store;
    const wanted = index.wantedIn(oldest.row, (uri, variant) => store?.hasReady(uri, variant) === true);
    let left = Math.floor(this.segmentBytes / 2);
    for (const entry of wanted) {
      if (entry.freshUntilMs <= clock.nowMs || entry.totalBytes * 2 > left || !index.hasRoom) continue;
      left -= entry.totalBytes + ENTRY_FIXED_BYTES * 2;
      this.moveEntry(oldest, entry);
    }
  }

  private moveEntry(from: Segment, entry: DiskEntry): void {
    const fixed = from.read(entry.offset, ENTRY_FIXED_BYTES);
    const shape = fixed === null ? null : shapeOf(fixed, this.originMs);
    const prefix = shape === null ? null : from.read(entry.offset, shape.prefixBytes);
    if (shape === null || prefix === null || shape.totalBytes !== entry.totalBytes) return;
    const bodyAt = entry.offset + shape.prefixBytes;
    const pieces = function* (): Generator<Buffer> {
      for (let done = 0; done < shape.bodyBytes; done += ENTRY_PIECE_BYTES) {
        const length = Math.min(ENTRY_PIECE_BYTES, shape.bodyBytes - done);
        yield from.read(bodyAt + done, length) ?? Buffer.alloc(length);
      }
    };
    const target = this.active !== null && this.active !== from ? this.active : this.segmentFor(shape.totalBytes);
    const offset = target.append(shape, prefix, pieces());
    // It may have been removed meanwhile.
    const { uriHash, variantHash } = entry;
    const place = this.index.isLiveAt(uriHash, variantHash, from.row, entry.offset);
    if (place === null) this.mark(target.fd, offset, -1);
    else {
      const { tags } = entry;
      this.index.insert({ ...place, uriHash, variantHash, tags, row: target.row, offset });
    }
  }

  private drop(segment: Segment): void {
    this.segments = this.segments.filter((one) => one !== segment);
    if (this.active === segment) this.active = null;
    this.index.clearSegment(segment.row);
    segment.remove();
    this.leaving.push(segment);
    this.closeLeft();
  }

  /** Closes all that are not read any more. */
  private closeLeft(): void {
    if (this.leaving.length === 0) return;
    this.leaving = this.leaving.filter((segment) => {
      if (this.index.isRead(segment.row)) return true;
      segment.close();
      this.index.freeRow(segment.row);
      return false;
    });
  }

  private removeAll(): number {
    const count = this.index.entries;
    for (const segment of [...this.segments]) this.drop(segment);
    this.index.bytes = 0;
    return count;
  }

  private purgeBy({ order, staleSinceMs }: DiskPurge): number {
    const rule = purgeRule(order);
    const key = new CacheKey(this.seed);
    let count = 0;
    for (const segment of this.segments) {
      for (const record of segment.records(this.originMs)) {
        const { offset, shape, bytes } = record;
        if (!mayHaveTag(shape.tags, rule.tags)) continue;
        const uri = bytes.subarray(ENTRY_FIXED_BYTES, ENTRY_FIXED_BYTES + shape.uriBytes);
        if (!rule.matches(uri, (block) => readHead(headOf(segment, record), shape.fieldCount, block))) continue;
        readKey(key, shape, bytes, ENTRY_FIXED_BYTES);
        const place = { uriHash: key.uriHash, variantHash: key.variantHash, row: segment.row, offset };
        if (this.index.takeOutAt(place, staleSinceMs)) count++;
      }
    }
    return count;
  }

  /** Writes into the files what was removed, so that a restart does not bring it back. */
  private writeMarks(): void {
    for (let marks = this.index.takePending(); marks.length > 0; marks = this.index.takePending()) {
      for (const { fd, offset, staleSinceMs } of marks) this.mark(fd, offset, staleSinceMs);
    }
  }

  private mark(fd: number, offset: number, staleSinceMs: number): void {
    const bytes = Buffer.alloc(ENTRY_MARK_END);
    if (staleSinceMs < 0) markEntry(bytes, EntryMark.Dead, 0);
    else markEntry(bytes, EntryMark.Soft, staleSinceMs - this.originMs);
    // The magic number before it stays.
    if (fd >= 0) writeSync(fd, bytes, 4, ENTRY_MARK_END - 4, offset + 4);
  }

  private onOpened(): void {
    this.hasFailed = false;
    this.events.opened(this.index.entries, this.totalBytes);
  }

  /** The disk is full: what is there can be read. */
  private pause(error: unknown): void {
    this.index.stopWriting();
    this.state = State.Full;
    this.retryAtMs = performance.now() + DISK_RETRY_MS;
    this.tell(error);
  }

  private fail(error: unknown): void {
    this.mustEmpty ||= this.state !== State.Closed;
    this.closeAll();
    this.retryAtMs = performance.now() + DISK_RETRY_MS;
    this.tell(error);
  }

  private tell(error: unknown): void {
    if (this.hasFailed) return;
    this.hasFailed = true;
    const { code, message } = error as { code?: string; message?: string };
    this.events.failed(code ?? message ?? String(error));
  }

  private empty(): void {
    const { path } = this.settings;
    const serials = serialsIn(readdirSync(path));
    this.lastSerial = serials.at(-1) ?? this.lastSerial;
    for (const serial of serials) Segment.remove(path, serial);
  }

  private closeAll(): void {
    this.index.close();
    this.index.forgetQueue();
    this.index.beginLoading();
    for (const segment of this.segments) {
      this.index.clearSegment(segment.row);
      this.leaving.push(segment);
    }
    this.segments = [];
    this.active = null;
    this.index.bytes = 0;
    this.state = State.Closed;
    this.lock?.release();
    this.lock = null;
    this.closeLeft();
  }
}

function headOf(segment: Segment, { offset, shape }: SegmentRecord): Buffer {
  const at = offset + ENTRY_FIXED_BYTES + shape.keyBytes;
  return segment.read(at, shape.headBytes) ?? Buffer.alloc(0);
}

function entryOf(
  { row }: Segment,
  offset: number,
  shape: EntryShape,
  { uriHash, variantHash }: Pick<KeyBytes, "uriHash" | "variantHash">,
): DiskEntry {
  const { totalBytes, flags, tags, storedAtMs, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs } = shape;
  const times = { storedAtMs, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs };
  return { row, offset, totalBytes, flags, tags, uriHash, variantHash, ...times };
}

function isOfUse({ flags, freshUntilMs, staleWhileUntilMs, staleErrorUntilMs }: EntryShape, nowMs: number): boolean {
  if ((flags & SlotFlag.HasValidator) !== 0) return true;
  return Math.max(freshUntilMs, staleWhileUntilMs, staleErrorUntilMs) > nowMs;
}

function isFull(error: unknown): boolean {
  const { code } = error as { code?: string };
  return code === "ENOSPC" || code === "EDQUOT";
}

/** Of a few milliseconds each. */
const INSERT_TRIES = 20;
/** Segments that the whole has, about. */
const SEGMENTS_OF_ALL = 64;
/** How long the thread writes before it looks for messages. */
const STEP_MS = 5;
/** How far two threads' readings of the time of day may be apart. */
const MAX_AHEAD_MS = 1000;
