import type { CacheKey, KeyBytes } from "./cache-key.ts";
import { CacheLock } from "./cache-lock.ts";
import { DISK_SEGMENTS, DiskCell, DiskHead, layoutOf, QUEUE_PLACES, SegmentField, State, Time } from "./disk-layout.ts";

/** What a thread has found of an entry on disk; times are those of the store. */
export interface DiskPlace {
  /** The row of its segment, which stays until `release`. */
  row: number;
  /** The segment's file, open for all threads. */
  fd: number;
  offset: number;
  totalBytes: number;
  /** SlotFlag bits. */
  flags: number;
  storedAtMs: number;
  freshUntilMs: number;
  staleWhileUntilMs: number;
  staleErrorUntilMs: number;
}

/** What is put into the index. */
export interface DiskEntry extends Omit<DiskPlace, "fd"> {
  readonly uriHash: number;
  readonly variantHash: number;
  readonly tags: number;
}

/** Where a mark is to be written over an entry. */
interface PendingMark {
  readonly fd: number;
  readonly offset: number;
  /** From when on it is stale; -1 if it is dead. */
  readonly staleSinceMs: number;
}

/**
 * What `cache.disk` has, as all threads see it: for each entry where it is, and what says whether it is of use. Keys are not here:
 * an entry is found by 64 bits, and its file says whose it is. The files are made, filled and removed by the thread of the disk
 * alone (`DiskWriter`); all others find, hold a segment while they read, and take out.
 *
 *     header | buckets | cells | segments | threads that read them | queue | times of the cells
 */
export class DiskIndex {
  private readonly words: Int32Array;
  private readonly times: Float64Array;
  private readonly thread: number;
  private readonly lock: CacheLock;
  private readonly mask: number;
  private readonly cellsAt: number;
  private readonly segmentsAt: number;
  private readonly readersAt: number;
  private readonly queueAt: number;
  private readonly threads: number;

  /** @param thread number of this thread, 0 and up */
  constructor(buffer: SharedArrayBuffer, thread: number) {
    const words = new Int32Array(buffer);
    this.words = words;
    this.thread = thread;
    this.lock = new CacheLock(words, thread + 1);
    this.threads = words[DiskHead.Threads]!;
    this.mask = words[DiskHead.Buckets]! - 1;
    const at = layoutOf(words[DiskHead.Cells]!, words[DiskHead.Buckets]!, this.threads);
    this.cellsAt = at.cells;
    this.segmentsAt = at.segments;
    this.readersAt = at.readers;
    this.queueAt = at.queue;
    this.times = new Float64Array(buffer, at.times * 4, words[DiskHead.Cells]! * Time.Count);
  }

  /** Entries that can be found. */
  get entries(): number {
    return this.words[DiskHead.Entries]!;
  }

  /** Bytes that the files take, to a kibibyte. */
  get bytes(): number {
    return this.words[DiskHead.Kib]! * 1024;
  }

  set bytes(bytes: number) {
    this.words[DiskHead.Kib] = Math.ceil(bytes / 1024);
  }

  get evictions(): number {
    return this.words[DiskHead.Evictions]!;
  }

  /** Entries that were not written, since too many waited. */
  get missed(): number {
    return this.words[DiskHead.Missed]!;
  }

  /** Whether the disk is read. */
  get isOpen(): boolean {
    return this.words[DiskHead.IsOpen] === 1;
  }

  /** Whether new entries are written. */
  get isWriting(): boolean {
    return this.words[DiskHead.IsWriting] === 1;
  }

  /** Whether there may be an entry with this key. */
  has(key: CacheKey): boolean {
    return this.isOpen && this.locked(() => this.cellOf(key.uriHash, key.variantHash) >= 0, false);
  }

  /** Looks for an entry, and holds its segment: `release` must follow. @returns null if there is none */
  find(key: CacheKey): DiskPlace | null {
    if (!this.isOpen) return null;
    return this.locked(() => {
      const cell = this.cellOf(key.uriHash, key.variantHash);
      if (cell < 0) return null;
      const { words } = this;
      const at = this.at(cell);
      words[at + DiskCell.State]! |= State.Used;
      const row = words[at + DiskCell.Row]!;
      words[this.readersOf(row)]!++;
      return this.placeOf(cell);
    }, null);
  }

  /** Lets go of a segment. */
  release({ row }: DiskPlace): void {
    Atomics.sub(this.words, this.readersOf(row), 1);
  }

  /** Takes out an entry that is not what it should be. */
  drop({ row, offset }: DiskPlace, key: Pick<KeyBytes, "uriHash" | "variantHash">): void {
    this.locked(() => {
      const cell = this.cellOf(key.uriHash, key.variantHash);
      const at = this.at(cell);
      if (cell >= 0 && this.words[at + DiskCell.Row] === row && this.words[at + DiskCell.Offset] === offset)
        this.kill(cell);
    }, undefined);
  }

  /** Takes out the entry of a key, if there is one. */
  remove(uriHash: number, variantHash: number): void {
    if (this.words[DiskHead.IsLoading] === 1) this.noteGone(uriHash);
    if (this.entries === 0) return;
    this.locked(() => {
      const cell = this.cellOf(uriHash, variantHash);
      if (cell >= 0) this.kill(cell);
    }, undefined);
  }

  /**
   * Takes out all entries of a resource, or makes them stale.
   * @param staleSinceMs -1 if they are removed
   * @param counts whether an entry counts, by the second half of its key
   * @returns how many count
   */
  removeUri(uriHash: number, staleSinceMs: number, counts: (variantHash: number) => boolean): number {
    if (this.words[DiskHead.IsLoading] === 1) this.noteGone(uriHash);
    return this.takeOutUri(uriHash, staleSinceMs, counts);
  }

  private takeOutUri(uriHash: number, staleSinceMs: number, counts: (variantHash: number) => boolean): number {
    if (this.entries === 0) return 0;
    return this.locked(() => {
      let count = 0;
      for (let next = this.words[DiskHead.Count + (uriHash & this.mask)]!; next !== 0; ) {
        const cell = next - 1;
        const at = this.at(cell);
        next = this.words[at + DiskCell.Next]!;
        if (this.words[at + DiskCell.UriHash] !== uriHash) continue;
        if (counts(this.words[at + DiskCell.VariantHash]!)) count++;
        this.takeOut(cell, staleSinceMs);
      }
      return count;
    }, 0);
  }

  /** Makes the entry of a key stale. */
  makeStale(uriHash: number, variantHash: number, sinceMs: number): void {
    if (this.words[DiskHead.IsLoading] === 1) this.noteGone(uriHash);
    if (this.entries === 0) return;
    this.locked(() => {
      const cell = this.cellOf(uriHash, variantHash);
      if (cell >= 0) this.takeOut(cell, sinceMs);
    }, undefined);
  }

  /**
   * Asks for an entry of the memory to be written.
   * @param version of the memory
   */
  enqueue(slot: number, generation: number, version: number): void {
    if (!this.isWriting) return;
    if (this.putInQueue(slot, generation, version)) this.ring();
    else Atomics.add(this.words, DiskHead.Missed, 1);
  }

  /** Notes that all entries of a resource are to be removed when the files have been read. */
  private noteGone(uriHash: number): void {
    if (!this.putInQueue(uriHash, 0, 0)) this.words[DiskHead.HasLost] = 1;
  }

  /** @returns false if the queue is full, or the lock cannot be had */
  private putInQueue(first: number, second: number, third: number): boolean {
    const { words } = this;
    return this.locked(() => {
      const place = words[DiskHead.QueueIn]!;
      if (((place - words[DiskHead.QueueOut]!) | 0) >= QUEUE_PLACES) return false;
      const at = this.queueAt + (place & (QUEUE_PLACES - 1)) * 3;
      words[at] = first;
      words[at + 1] = second;
      words[at + 2] = third;
      words[DiskHead.QueueIn] = (place + 1) | 0;
      return true;
    }, false);
  }

  // What follows is for the thread of the disk.

  /** Waits until there is something to do. */
  async waitForWork(seen: number, timeoutMs: number): Promise<void> {
    const waiting = Atomics.waitAsync(this.words, DiskHead.Bell, seen, timeoutMs);
    if (waiting.async) await waiting.value;
  }

  /** What `waitForWork` compares with. */
  get bell(): number {
    return Atomics.load(this.words, DiskHead.Bell);
  }

  /** What the files have is about to be read, or cannot be known. */
  beginLoading(): void {
    this.words[DiskHead.IsLoading] = 1;
  }

  /**
   * What the files have has been read: takes out what was removed meanwhile.
   * @returns false if that is not known any more, so that nothing there may be used
   */
  endLoading(): boolean {
    const { words } = this;
    for (;;) {
      const gone = this.dequeue();
      if (gone !== null) {
        this.takeOutUri(gone[0], -1, () => false);
        continue;
      }
      const isDone = this.locked(() => {
        if (words[DiskHead.QueueIn] !== words[DiskHead.QueueOut]) return false;
        words[DiskHead.IsLoading] = 0;
        return true;
      }, false);
      if (isDone) break;
    }
    const isKnown = words[DiskHead.HasLost] === 0;
    words[DiskHead.HasLost] = 0;
    return isKnown;
  }

  open(isWriting: boolean): void {
    this.words[DiskHead.IsWriting] = isWriting ? 1 : 0;
    Atomics.store(this.words, DiskHead.IsOpen, 1);
  }

  /** Nothing is found and written from now on. */
  close(): void {
    Atomics.store(this.words, DiskHead.IsOpen, 0);
    this.words[DiskHead.IsWriting] = 0;
  }

  /** What waits to be written is not. */
  forgetQueue(): void {
    if (this.words[DiskHead.IsLoading] === 1) return;
    while (this.dequeue() !== null) this.countMissed();
  }

  stopWriting(): void {
    Atomics.store(this.words, DiskHead.IsWriting, 0);
  }

  /** The next entry that is to be written: slot, generation, version of the memory; null if there is none. */
  dequeue(): readonly [slot: number, generation: number, version: number] | null {
    const { words } = this;
    return this.locked(() => {
      const place = words[DiskHead.QueueOut]!;
      if (place === words[DiskHead.QueueIn]) return null;
      const at = this.queueAt + (place & (QUEUE_PLACES - 1)) * 3;
      words[DiskHead.QueueOut] = (place + 1) | 0;
      return [words[at]!, words[at + 1]!, words[at + 2]!] as const;
    }, null);
  }

  /** Gives a file a row. @returns -1 if there is none */
  addSegment(fd: number): number {
    for (let row = 0; row < DISK_SEGMENTS; row++) {
      const at = this.segmentsAt + row * SegmentField.Words;
      if (this.words[at + SegmentField.Fd] !== 0) continue;
      this.words[at + SegmentField.First] = 0;
      this.words[at + SegmentField.Live] = 0;
      this.words[at + SegmentField.Fd] = fd + 1;
      return row;
    }
    return -1;
  }

  /** Entries of a segment that can be found. */
  liveIn(row: number): number {
    return this.words[this.segmentsAt + row * SegmentField.Words + SegmentField.Live]!;
  }

  /** Whether some thread reads a segment. */
  isRead(row: number): boolean {
    const at = this.readersAt + row * this.threads;
    for (let i = 0; i < this.threads; i++) if (Atomics.load(this.words, at + i) > 0) return true;
    return false;
  }

  /** Takes all entries of a segment out; its row stays until `freeRow`. @returns how many could be found */
  clearSegment(row: number): number {
    const { words } = this;
    const first = this.segmentsAt + row * SegmentField.Words + SegmentField.First;
    let count = 0;
    for (let left = true; left; ) {
      left = this.locked(() => {
        for (let i = 0; i < STEP && words[first] !== 0; i++) {
          const cell = words[first]! - 1;
          const at = this.at(cell);
          words[first] = words[at + DiskCell.InSegment]!;
          if ((words[at + DiskCell.State]! & State.Kind) === State.Live) {
            this.unlink(cell);
            count++;
          }
          this.freeCell(cell);
        }
        return words[first] !== 0;
      }, true);
    }
    return count;
  }

  /** Nothing reads the file of a segment any more. */
  freeRow(row: number): void {
    this.words[this.segmentsAt + row * SegmentField.Words + SegmentField.Fd] = 0;
  }

  /** An entry was gone before it was written. */
  countMissed(): void {
    Atomics.add(this.words, DiskHead.Missed, 1);
  }

  countEvictions(count: number): void {
    Atomics.add(this.words, DiskHead.Evictions, count);
  }

  /** Whether there is a cell for one more entry. */
  get hasRoom(): boolean {
    return this.words[DiskHead.FreeCell] !== 0 || this.words[DiskHead.CellsUsed]! < this.words[DiskHead.Cells]!;
  }

  /** Puts an entry in, in place of another with its key. There must be room. @returns false if the lock could not be had */
  insert(entry: DiskEntry): boolean {
    return this.locked(() => {
      const old = this.cellOf(entry.uriHash, entry.variantHash);
      if (old >= 0) this.kill(old);
      const cell = this.takeCell();
      if (cell >= 0) this.put(cell, entry);
      return true;
    }, false);
  }

  /** Whether an entry can be found at this place. */
  isLiveAt(uriHash: number, variantHash: number, row: number, offset: number): DiskPlace | null {
    return this.locked(() => {
      const cell = this.cellOf(uriHash, variantHash);
      if (cell < 0) return null;
      const at = this.at(cell);
      return this.words[at + DiskCell.Row] === row && this.words[at + DiskCell.Offset] === offset
        ? this.placeOf(cell)
        : null;
    }, null);
  }

  /** Takes an entry out at this place, or makes it stale. @returns whether it was there, and fresh in the latter case */
  takeOutAt(entry: Pick<DiskEntry, "uriHash" | "variantHash" | "row" | "offset">, staleSinceMs: number): boolean {
    return this.locked(() => {
      const cell = this.cellOf(entry.uriHash, entry.variantHash);
      const at = this.at(cell);
      if (cell < 0 || this.words[at + DiskCell.Row] !== entry.row || this.words[at + DiskCell.Offset] !== entry.offset)
        return false;
      return this.takeOut(cell, staleSinceMs);
    }, false);
  }

  /** The entries of a segment that can be found and were asked for, or for which `isWanted` holds. */
  wantedIn(row: number, isWanted: (uriHash: number, variantHash: number) => boolean): DiskEntry[] {
    const { words } = this;
    const found: DiskEntry[] = [];
    // No other thread changes this list.
    for (let next = words[this.segmentsAt + row * SegmentField.Words + SegmentField.First]!; next !== 0; ) {
      const at = this.at(next - 1);
      const [uriHash, variantHash] = [words[at + DiskCell.UriHash]!, words[at + DiskCell.VariantHash]!];
      const isLive = (words[at + DiskCell.State]! & State.Kind) === State.Live;
      if (isLive && ((words[at + DiskCell.State]! & State.Used) !== 0 || isWanted(uriHash, variantHash))) {
        found.push({ ...this.placeOf(next - 1), uriHash, variantHash, tags: words[at + DiskCell.Tags]! });
      }
      next = words[at + DiskCell.InSegment]!;
    }
    return found;
  }

  /** Takes the marks that are to be written, some at a time. */
  takePending(): PendingMark[] {
    const { words } = this;
    if (words[DiskHead.Pending] === 0) return [];
    return this.locked(() => {
      const marks: PendingMark[] = [];
      while (words[DiskHead.Pending] !== 0 && marks.length < STEP) {
        const cell = words[DiskHead.Pending]! - 1;
        const at = this.at(cell);
        words[DiskHead.Pending] = words[at + DiskCell.InPending]!;
        const state = words[at + DiskCell.State]!;
        words[at + DiskCell.State] = state & ~(State.Listed | State.Soft);
        const isDead = (state & State.Kind) === State.Dead;
        const staleSinceMs = isDead ? -1 : this.times[cell * Time.Count + Time.FreshUntil]!;
        const { fd, offset } = this.placeOf(cell);
        if ((state & State.Kind) !== State.Free) marks.push({ fd, offset, staleSinceMs });
      }
      return marks;
    }, []);
  }

  /** Takes back what a thread held that has ended. @param thread its number */
  threadDied(thread: number): void {
    for (let row = 0; row < DISK_SEGMENTS; row++) Atomics.store(this.words, this.readersOf(row, thread), 0);
    if (this.lock.takeFrom(thread + 1)) {
      this.repair();
      this.lock.give();
    }
  }

  private at(cell: number): number {
    return this.cellsAt + cell * DiskCell.Words;
  }

  private readersOf(row: number, thread: number = this.thread): number {
    return this.readersAt + row * this.threads + thread;
  }

  private cellOf(uriHash: number, variantHash: number): number {
    const { words } = this;
    for (let next = words[DiskHead.Count + (uriHash & this.mask)]!; next !== 0; ) {
      const at = this.at(next - 1);
      if (words[at + DiskCell.UriHash] === uriHash && words[at + DiskCell.VariantHash] === variantHash) return next - 1;
      next = words[at + DiskCell.Next]!;
    }
    return -1;
  }

  private placeOf(cell: number): DiskPlace {
    const { words, times } = this;
    const at = this.at(cell);
    const time = cell * Time.Count;
    const row = words[at + DiskCell.Row]!;
    return {
      row,
      fd: words[this.segmentsAt + row * SegmentField.Words + SegmentField.Fd]! - 1,
      offset: words[at + DiskCell.Offset]!,
      totalBytes: words[at + DiskCell.TotalBytes]!,
      flags: words[at + DiskCell.Flags]!,
      storedAtMs: times[time + Time.StoredAt]!,
      freshUntilMs: times[time + Time.FreshUntil]!,
      staleWhileUntilMs: times[time + Time.StaleWhileUntil]!,
      staleErrorUntilMs: times[time + Time.StaleErrorUntil]!,
    };
  }

  private put(cell: number, entry: DiskEntry): void {
    const { words, times } = this;
    const at = this.at(cell);
    const segment = this.segmentsAt + entry.row * SegmentField.Words;
    words[at + DiskCell.UriHash] = entry.uriHash;
    words[at + DiskCell.VariantHash] = entry.variantHash;
    words[at + DiskCell.Row] = entry.row;
    words[at + DiskCell.Offset] = entry.offset;
    words[at + DiskCell.TotalBytes] = entry.totalBytes;
    words[at + DiskCell.Flags] = entry.flags;
    words[at + DiskCell.Tags] = entry.tags;
    words[at + DiskCell.InSegment] = words[segment + SegmentField.First]!;
    words[segment + SegmentField.First] = cell + 1;
    const time = cell * Time.Count;
    times[time + Time.StoredAt] = entry.storedAtMs;
    times[time + Time.FreshUntil] = entry.freshUntilMs;
    times[time + Time.StaleWhileUntil] = entry.staleWhileUntilMs;
    times[time + Time.StaleErrorUntil] = entry.staleErrorUntilMs;
    words[at + DiskCell.State] = State.Live;
    this.link(cell);
  }

  private link(cell: number): void {
    const { words } = this;
    const at = this.at(cell);
    const bucket = DiskHead.Count + (words[at + DiskCell.UriHash]! & this.mask);
    words[at + DiskCell.Next] = words[bucket]!;
    words[bucket] = cell + 1;
    words[this.segmentsAt + words[at + DiskCell.Row]! * SegmentField.Words + SegmentField.Live]!++;
    words[DiskHead.Entries]!++;
  }

  private unlink(cell: number): void {
    const { words } = this;
    const at = this.at(cell);
    let place = DiskHead.Count + (words[at + DiskCell.UriHash]! & this.mask);
    while (words[place] !== cell + 1) {
      if (words[place] === 0) return;
      place = this.at(words[place]! - 1) + DiskCell.Next;
    }
    words[place] = words[at + DiskCell.Next]!;
    words[this.segmentsAt + words[at + DiskCell.Row]! * SegmentField.Words + SegmentField.Live]!--;
    words[DiskHead.Entries]!--;
  }

  /** @returns whether that changes it: it may have been stale before */
  private takeOut(cell: number, staleSinceMs: number): boolean {
    if (staleSinceMs < 0) {
      this.kill(cell);
      return true;
    }
    const time = cell * Time.Count;
    const early = this.times[time + Time.FreshUntil]! - staleSinceMs;
    if (early <= 0) return false;
    // Exactly: a second time changes nothing.
    this.times[time + Time.FreshUntil] = staleSinceMs;
    for (const which of [Time.StaleWhileUntil, Time.StaleErrorUntil] as const) {
      if (this.times[time + which]! > 0) this.times[time + which]! -= early;
    }
    this.words[this.at(cell) + DiskCell.State]! |= State.Soft;
    this.list(cell);
    return true;
  }

  private kill(cell: number): void {
    const { words } = this;
    const at = this.at(cell) + DiskCell.State;
    this.unlink(cell);
    words[at] = (words[at]! & ~State.Kind) | State.Dead;
    this.list(cell);
  }

  private list(cell: number): void {
    const { words } = this;
    const at = this.at(cell);
    if ((words[at + DiskCell.State]! & State.Listed) !== 0) return;
    words[at + DiskCell.State]! |= State.Listed;
    words[at + DiskCell.InPending] = words[DiskHead.Pending]!;
    words[DiskHead.Pending] = cell + 1;
    this.ring();
  }

  private ring(): void {
    Atomics.add(this.words, DiskHead.Bell, 1);
    Atomics.notify(this.words, DiskHead.Bell);
  }

  private takeCell(): number {
    const { words } = this;
    const free = words[DiskHead.FreeCell]! - 1;
    if (free < 0) return words[DiskHead.CellsUsed]! < words[DiskHead.Cells]! ? words[DiskHead.CellsUsed]!++ : -1;
    words[DiskHead.FreeCell] = words[this.at(free) + DiskCell.Next]!;
    return free;
  }

  private freeCell(cell: number): void {
    const { words } = this;
    const at = this.at(cell);
    if ((words[at + DiskCell.State]! & State.Listed) !== 0) this.unlist(cell);
    words[at + DiskCell.State] = State.Free;
    words[at + DiskCell.Next] = words[DiskHead.FreeCell]!;
    words[DiskHead.FreeCell] = cell + 1;
  }

  private unlist(cell: number): void {
    const { words } = this;
    let place: number = DiskHead.Pending;
    while (words[place] !== 0 && words[place] !== cell + 1) place = this.at(words[place]! - 1) + DiskCell.InPending;
    if (words[place] === cell + 1) words[place] = words[this.at(cell) + DiskCell.InPending]!;
  }

  /** Makes buckets, lists and counts anew from the states of the cells. Under the lock. */
  private repair(): void {
    const { words } = this;
    words.fill(0, DiskHead.Count, DiskHead.Count + this.mask + 1);
    words[DiskHead.Entries] = 0;
    words[DiskHead.FreeCell] = 0;
    words[DiskHead.Pending] = 0;
    for (let row = 0; row < DISK_SEGMENTS; row++) {
      words[this.segmentsAt + row * SegmentField.Words + SegmentField.First] = 0;
      words[this.segmentsAt + row * SegmentField.Words + SegmentField.Live] = 0;
    }
    for (let cell = 0; cell < words[DiskHead.CellsUsed]!; cell++) {
      const at = this.at(cell);
      const kind = words[at + DiskCell.State]! & State.Kind;
      words[at + DiskCell.State]! &= ~State.Listed;
      if (kind === State.Free) {
        this.freeCell(cell);
        continue;
      }
      const segment = this.segmentsAt + words[at + DiskCell.Row]! * SegmentField.Words;
      words[at + DiskCell.InSegment] = words[segment + SegmentField.First]!;
      words[segment + SegmentField.First] = cell + 1;
      if (kind === State.Live) this.link(cell);
      if (kind === State.Dead || (words[at + DiskCell.State]! & State.Soft) !== 0) this.list(cell);
    }
  }

  private locked<T>(work: () => T, otherwise: T): T {
    if (!this.lock.take()) return otherwise;
    try {
      return work();
    } finally {
      this.lock.give();
    }
  }
}

/** Cells that a walk reads under the lock at a time. */
const STEP = 256;
