import type { CacheKey, KeyBytes } from "./cache-key.ts";
import { CacheLock } from "./cache-lock.ts";
import { Cell, DISK_SEGMENTS, Head, layoutOf, QUEUE_PLACES, Segment, State, Time } from "./disk-layout.ts";

/** What a thread has found of an entry on disk; times are those of the store. */
export interface DiskPlace {
  /** The row of its segment, which is held until `release`. */
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
export interface PendingMark {
  readonly fd: number;
  readonly offset: number;
  /** From when on it is stale; -1 where it is dead. */
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
    this.threads = words[Head.Threads]!;
    this.mask = words[Head.Buckets]! - 1;
    const at = layoutOf(words[Head.Cells]!, words[Head.Buckets]!, this.threads);
    this.cellsAt = at.cells;
    this.segmentsAt = at.segments;
    this.readersAt = at.readers;
    this.queueAt = at.queue;
    this.times = new Float64Array(buffer, at.times * 4, words[Head.Cells]! * Time.Count);
  }

  /** Entries that can be found. */
  get entries(): number {
    return this.words[Head.Entries]!;
  }

  /** Bytes that the files take, to a kibibyte. */
  get bytes(): number {
    return this.words[Head.Kib]! * 1024;
  }

  set bytes(bytes: number) {
    this.words[Head.Kib] = Math.ceil(bytes / 1024);
  }

  get evictions(): number {
    return this.words[Head.Evictions]!;
  }

  /** Entries that were not written, since too many waited. */
  get missed(): number {
    return this.words[Head.Missed]!;
  }

  /** Whether the disk is read. */
  get isOpen(): boolean {
    return this.words[Head.IsOpen] === 1;
  }

  /** Whether new entries are written. */
  get isWriting(): boolean {
    return this.words[Head.IsWriting] === 1;
  }

  /** Whether there may be an entry with this key. */
  has(key: CacheKey): boolean {
    return this.isOpen && this.locked(() => this.cellOf(key.uriHash, key.variantHash) >= 0, false);
  }

  /** Looks for an entry, and holds its segment: `release` must follow. @returns null where there is none */
  find(key: CacheKey): DiskPlace | null {
    if (!this.isOpen) return null;
    return this.locked(() => {
      const cell = this.cellOf(key.uriHash, key.variantHash);
      if (cell < 0) return null;
      const { words } = this;
      const at = this.at(cell);
      words[at + Cell.State]! |= State.Used;
      const row = words[at + Cell.Row]!;
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
      if (cell >= 0 && this.words[at + Cell.Row] === row && this.words[at + Cell.Offset] === offset) this.kill(cell);
    }, undefined);
  }

  /** Takes out the entry of a key, if there is one. */
  remove(uriHash: number, variantHash: number): void {
    if (this.words[Head.IsLoading] === 1) this.noteGone(uriHash);
    if (this.entries === 0) return;
    this.locked(() => {
      const cell = this.cellOf(uriHash, variantHash);
      if (cell >= 0) this.kill(cell);
    }, undefined);
  }

  /**
   * Takes out all entries of a resource, or makes them stale.
   * @param staleSinceMs -1 where they are taken out
   * @param counts whether an entry counts, by the second half of its key
   * @returns how many count
   */
  removeUri(uriHash: number, staleSinceMs: number, counts: (variantHash: number) => boolean): number {
    if (this.words[Head.IsLoading] === 1) this.noteGone(uriHash);
    return this.takeOutUri(uriHash, staleSinceMs, counts);
  }

  private takeOutUri(uriHash: number, staleSinceMs: number, counts: (variantHash: number) => boolean): number {
    if (this.entries === 0) return 0;
    return this.locked(() => {
      let count = 0;
      for (let next = this.words[Head.Count + (uriHash & this.mask)]!; next !== 0; ) {
        const cell = next - 1;
        const at = this.at(cell);
        next = this.words[at + Cell.Next]!;
        if (this.words[at + Cell.UriHash] !== uriHash) continue;
        if (counts(this.words[at + Cell.VariantHash]!)) count++;
        this.takeOut(cell, staleSinceMs);
      }
      return count;
    }, 0);
  }

  /** Makes the entry of a key stale. */
  makeStale(uriHash: number, variantHash: number, sinceMs: number): void {
    if (this.words[Head.IsLoading] === 1) this.noteGone(uriHash);
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
    else Atomics.add(this.words, Head.Missed, 1);
  }

  /** Notes that all entries of a resource are to be taken out when the files have been read. */
  private noteGone(uriHash: number): void {
    if (!this.putInQueue(uriHash, 0, 0)) this.words[Head.HasLost] = 1;
  }

  /** @returns false where the queue is full, or the lock cannot be had */
  private putInQueue(first: number, second: number, third: number): boolean {
    const { words } = this;
    return this.locked(() => {
      const place = words[Head.QueueIn]!;
      if (((place - words[Head.QueueOut]!) | 0) >= QUEUE_PLACES) return false;
      const at = this.queueAt + (place & (QUEUE_PLACES - 1)) * 3;
      words[at] = first;
      words[at + 1] = second;
      words[at + 2] = third;
      words[Head.QueueIn] = (place + 1) | 0;
      return true;
    }, false);
  }

  // What follows is for the thread of the disk.

  /** Waits until there is something to do. */
  async waitForWork(seen: number, timeoutMs: number): Promise<void> {
    const waiting = Atomics.waitAsync(this.words, Head.Bell, seen, timeoutMs);
    if (waiting.async) await waiting.value;
  }

  /** What `waitForWork` compares with. */
  get bell(): number {
    return Atomics.load(this.words, Head.Bell);
  }

  /** What the files have is about to be read, or cannot be known. */
  beginLoading(): void {
    this.words[Head.IsLoading] = 1;
  }

  /**
   * What the files have has been read: takes out what was taken out meanwhile.
   * @returns false where that is not known any more, so that nothing there may be used
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
        if (words[Head.QueueIn] !== words[Head.QueueOut]) return false;
        words[Head.IsLoading] = 0;
        return true;
      }, false);
      if (isDone) break;
    }
    const isKnown = words[Head.HasLost] === 0;
    words[Head.HasLost] = 0;
    return isKnown;
  }

  open(isWriting: boolean): void {
    this.words[Head.IsWriting] = isWriting ? 1 : 0;
    Atomics.store(this.words, Head.IsOpen, 1);
  }

  /** Nothing is found and written from now on. */
  close(): void {
    Atomics.store(this.words, Head.IsOpen, 0);
    this.words[Head.IsWriting] = 0;
  }

  /** What waits to be written is not. */
  forgetQueue(): void {
    if (this.words[Head.IsLoading] === 1) return;
    while (this.dequeue() !== null) this.countMissed();
  }

  stopWriting(): void {
    Atomics.store(this.words, Head.IsWriting, 0);
  }

  /** The next entry that is to be written: slot, generation, version of the memory; null where there is none. */
  dequeue(): readonly [slot: number, generation: number, version: number] | null {
    const { words } = this;
    return this.locked(() => {
      const place = words[Head.QueueOut]!;
      if (place === words[Head.QueueIn]) return null;
      const at = this.queueAt + (place & (QUEUE_PLACES - 1)) * 3;
      words[Head.QueueOut] = (place + 1) | 0;
      return [words[at]!, words[at + 1]!, words[at + 2]!] as const;
    }, null);
  }

  /** Gives a file a row. @returns -1 where there is none */
  addSegment(fd: number): number {
    for (let row = 0; row < DISK_SEGMENTS; row++) {
      const at = this.segmentsAt + row * Segment.Words;
      if (this.words[at + Segment.Fd] !== 0) continue;
      this.words[at + Segment.First] = 0;
      this.words[at + Segment.Live] = 0;
      this.words[at + Segment.Fd] = fd + 1;
      return row;
    }
    return -1;
  }

  /** Entries of a segment that can be found. */
  liveIn(row: number): number {
    return this.words[this.segmentsAt + row * Segment.Words + Segment.Live]!;
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
    const first = this.segmentsAt + row * Segment.Words + Segment.First;
    let count = 0;
    for (let left = true; left; ) {
      left = this.locked(() => {
        for (let i = 0; i < STEP && words[first] !== 0; i++) {
          const cell = words[first]! - 1;
          const at = this.at(cell);
          words[first] = words[at + Cell.InSegment]!;
          if ((words[at + Cell.State]! & State.Kind) === State.Live) {
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
    this.words[this.segmentsAt + row * Segment.Words + Segment.Fd] = 0;
  }

  /** An entry was gone before it was written. */
  countMissed(): void {
    Atomics.add(this.words, Head.Missed, 1);
  }

  countEvictions(count: number): void {
    Atomics.add(this.words, Head.Evictions, count);
  }

  /** Whether there is a cell for one more entry. */
  get hasRoom(): boolean {
    return this.words[Head.FreeCell] !== 0 || this.words[Head.CellsUsed]! < this.words[Head.Cells]!;
  }

  /** Puts an entry in, in place of another with its key. There must be room. @returns false where the lock could not be had */
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
      return this.words[at + Cell.Row] === row && this.words[at + Cell.Offset] === offset ? this.placeOf(cell) : null;
    }, null);
  }

  /** Takes an entry out at this place, or makes it stale. @returns whether it was there, and fresh in the latter case */
  takeOutAt(entry: Pick<DiskEntry, "uriHash" | "variantHash" | "row" | "offset">, staleSinceMs: number): boolean {
    return this.locked(() => {
      const cell = this.cellOf(entry.uriHash, entry.variantHash);
      const at = this.at(cell);
      if (cell < 0 || this.words[at + Cell.Row] !== entry.row || this.words[at + Cell.Offset] !== entry.offset)
        return false;
      return this.takeOut(cell, staleSinceMs);
    }, false);
  }

  /** The entries of a segment that can be found and were asked for, or for which `isWanted` holds. */
  wantedIn(row: number, isWanted: (uriHash: number, variantHash: number) => boolean): DiskEntry[] {
    const { words } = this;
    const found: DiskEntry[] = [];
    // No other thread changes this list.
    for (let next = words[this.segmentsAt + row * Segment.Words + Segment.First]!; next !== 0; ) {
      const at = this.at(next - 1);
      const [uriHash, variantHash] = [words[at + Cell.UriHash]!, words[at + Cell.VariantHash]!];
      const isLive = (words[at + Cell.State]! & State.Kind) === State.Live;
      if (isLive && ((words[at + Cell.State]! & State.Used) !== 0 || isWanted(uriHash, variantHash))) {
        found.push({ ...this.placeOf(next - 1), uriHash, variantHash, tags: words[at + Cell.Tags]! });
      }
      next = words[at + Cell.InSegment]!;
    }
    return found;
  }

  /** Takes the marks that are to be written, some at a time. */
  takePending(): PendingMark[] {
    const { words } = this;
    if (words[Head.Pending] === 0) return [];
    return this.locked(() => {
      const marks: PendingMark[] = [];
      while (words[Head.Pending] !== 0 && marks.length < STEP) {
        const cell = words[Head.Pending]! - 1;
        const at = this.at(cell);
        words[Head.Pending] = words[at + Cell.InPending]!;
        const state = words[at + Cell.State]!;
        words[at + Cell.State] = state & ~(State.Listed | State.Soft);
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
    return this.cellsAt + cell * Cell.Words;
  }

  private readersOf(row: number, thread: number = this.thread): number {
    return this.readersAt + row * this.threads + thread;
  }

  private cellOf(uriHash: number, variantHash: number): number {
    const { words } = this;
    for (let next = words[Head.Count + (uriHash & this.mask)]!; next !== 0; ) {
      const at = this.at(next - 1);
      if (words[at + Cell.UriHash] === uriHash && words[at + Cell.VariantHash] === variantHash) return next - 1;
      next = words[at + Cell.Next]!;
    }
    return -1;
  }

  private placeOf(cell: number): DiskPlace {
    const { words, times } = this;
    const at = this.at(cell);
    const time = cell * Time.Count;
    const row = words[at + Cell.Row]!;
    return {
      row,
      fd: words[this.segmentsAt + row * Segment.Words + Segment.Fd]! - 1,
      offset: words[at + Cell.Offset]!,
      totalBytes: words[at + Cell.TotalBytes]!,
      flags: words[at + Cell.Flags]!,
      storedAtMs: times[time + Time.StoredAt]!,
      freshUntilMs: times[time + Time.FreshUntil]!,
      staleWhileUntilMs: times[time + Time.StaleWhileUntil]!,
      staleErrorUntilMs: times[time + Time.StaleErrorUntil]!,
    };
  }

  private put(cell: number, entry: DiskEntry): void {
    const { words, times } = this;
    const at = this.at(cell);
    const segment = this.segmentsAt + entry.row * Segment.Words;
    words[at + Cell.UriHash] = entry.uriHash;
    words[at + Cell.VariantHash] = entry.variantHash;
    words[at + Cell.Row] = entry.row;
    words[at + Cell.Offset] = entry.offset;
    words[at + Cell.TotalBytes] = entry.totalBytes;
    words[at + Cell.Flags] = entry.flags;
    words[at + Cell.Tags] = entry.tags;
    words[at + Cell.InSegment] = words[segment + Segment.First]!;
    words[segment + Segment.First] = cell + 1;
    const time = cell * Time.Count;
    times[time + Time.StoredAt] = entry.storedAtMs;
    times[time + Time.FreshUntil] = entry.freshUntilMs;
    times[time + Time.StaleWhileUntil] = entry.staleWhileUntilMs;
    times[time + Time.StaleErrorUntil] = entry.staleErrorUntilMs;
    words[at + Cell.State] = State.Live;
    this.link(cell);
  }

  private link(cell: number): void {
    const { words } = this;
    const at = this.at(cell);
    const bucket = Head.Count + (words[at + Cell.UriHash]! & this.mask);
    words[at + Cell.Next] = words[bucket]!;
    words[bucket] = cell + 1;
    words[this.segmentsAt + words[at + Cell.Row]! * Segment.Words + Segment.Live]!++;
    words[Head.Entries]!++;
  }

  private unlink(cell: number): void {
    const { words } = this;
    const at = this.at(cell);
    let place = Head.Count + (words[at + Cell.UriHash]! & this.mask);
    while (words[place] !== cell + 1) {
      if (words[place] === 0) return;
      place = this.at(words[place]! - 1) + Cell.Next;
    }
    words[place] = words[at + Cell.Next]!;
    words[this.segmentsAt + words[at + Cell.Row]! * Segment.Words + Segment.Live]!--;
    words[Head.Entries]!--;
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
    this.words[this.at(cell) + Cell.State]! |= State.Soft;
    this.list(cell);
    return true;
  }

  private kill(cell: number): void {
    const { words } = this;
    const at = this.at(cell) + Cell.State;
    this.unlink(cell);
    words[at] = (words[at]! & ~State.Kind) | State.Dead;
    this.list(cell);
  }

  private list(cell: number): void {
    const { words } = this;
    const at = this.at(cell);
    if ((words[at + Cell.State]! & State.Listed) !== 0) return;
    words[at + Cell.State]! |= State.Listed;
    words[at + Cell.InPending] = words[Head.Pending]!;
    words[Head.Pending] = cell + 1;
    this.ring();
  }

  private ring(): void {
    Atomics.add(this.words, Head.Bell, 1);
    Atomics.notify(this.words, Head.Bell);
  }

  private takeCell(): number {
    const { words } = this;
    const free = words[Head.FreeCell]! - 1;
    if (free < 0) return words[Head.CellsUsed]! < words[Head.Cells]! ? words[Head.CellsUsed]!++ : -1;
    words[Head.FreeCell] = words[this.at(free) + Cell.Next]!;
    return free;
  }

  private freeCell(cell: number): void {
    const { words } = this;
    const at = this.at(cell);
    if ((words[at + Cell.State]! & State.Listed) !== 0) this.unlist(cell);
    words[at + Cell.State] = State.Free;
    words[at + Cell.Next] = words[Head.FreeCell]!;
    words[Head.FreeCell] = cell + 1;
  }

  private unlist(cell: number): void {
    const { words } = this;
    let place: number = Head.Pending;
    while (words[place] !== 0 && words[place] !== cell + 1) place = this.at(words[place]! - 1) + Cell.InPending;
    if (words[place] === cell + 1) words[place] = words[this.at(cell) + Cell.InPending]!;
  }

  /** Makes buckets, lists and counts anew from the states of the cells. Under the lock. */
  private repair(): void {
    const { words } = this;
    words.fill(0, Head.Count, Head.Count + this.mask + 1);
    words[Head.Entries] = 0;
    words[Head.FreeCell] = 0;
    words[Head.Pending] = 0;
    for (let row = 0; row < DISK_SEGMENTS; row++) {
      words[this.segmentsAt + row * Segment.Words + Segment.First] = 0;
      words[this.segmentsAt + row * Segment.Words + Segment.Live] = 0;
    }
    for (let cell = 0; cell < words[Head.CellsUsed]!; cell++) {
      const at = this.at(cell);
      const kind = words[at + Cell.State]! & State.Kind;
      words[at + Cell.State]! &= ~State.Listed;
      if (kind === State.Free) {
        this.freeCell(cell);
        continue;
      }
      const segment = this.segmentsAt + words[at + Cell.Row]! * Segment.Words;
      words[at + Cell.InSegment] = words[segment + Segment.First]!;
      words[segment + Segment.First] = cell + 1;
      if (kind === State.Live) this.link(cell);
      if (kind === State.Dead || (words[at + Cell.State]! & State.Soft) !== 0) this.list(cell);
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

/** Cells that are looked at under the lock at a time. */
const STEP = 256;
