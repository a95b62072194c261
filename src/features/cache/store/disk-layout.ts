/** Numbers of the header, one Int32 each. Lists hold cells plus 1. */
export const enum DiskHead {
  Lock = 0,
  Cells,
  Buckets,
  Threads,
  Entries,
  FreeCell,
  CellsUsed,
  /** Entries whose file is to be marked. */
  Pending,
  /** Whether entries may be found, and whether new ones are written. */
  IsOpen,
  IsWriting,
  /** Grows when there is something for the thread of the disk to do. */
  Bell,
  /** Stored entries that are to be written: numbers of places that were put in, and taken out. */
  QueueIn,
  QueueOut,
  /** Those that found the queue full. */
  Missed,
  Evictions,
  /** What the files take, in units of 1024 bytes. */
  Kib,
  /** Whether the files are still to be read: what is removed meanwhile is noted in the queue. */
  IsLoading,
  /** Whether more was removed than could be noted. */
  HasLost,
  Count = 32,
}

export const enum DiskCell {
  State = 0,
  Next,
  /** The next of its segment, and of those whose file is to be marked. */
  InSegment,
  InPending,
  UriHash,
  VariantHash,
  Row,
  Offset,
  TotalBytes,
  Flags,
  Tags,
  Words = 11,
}

export const enum State {
  Free = 0,
  Live,
  /** Taken out; the place goes with its segment. */
  Dead,
  Kind = 3,
  /** Asked for since it was written. */
  Used = 4,
  /** In the list of those whose file is to be marked. */
  Listed = 8,
  /** Its file is to say that it is stale. */
  Soft = 16,
}

export const enum Time {
  StoredAt = 0,
  FreshUntil,
  StaleWhileUntil,
  StaleErrorUntil,
  Count = 4,
}

export const enum SegmentField {
  /** The descriptor plus 1; 0 if the row is free. */
  Fd = 0,
  First,
  Live,
  Words = 3,
}

/** How large an index may become. */
interface DiskSizes {
  readonly maxBytes: number;
}

/**
 * Makes the memory of an index; only what is used becomes resident, some 80 bytes an entry.
 * @param threads that will use it
 */
export function createDiskIndex({ maxBytes }: DiskSizes, threads: number): SharedArrayBuffer {
  const cells = Math.max(MIN_CELLS, Math.min(MAX_CELLS, Math.ceil(maxBytes / LEAST_ENTRY_BYTES)));
  const buckets = 2 ** Math.ceil(Math.log2(cells));
  const at = layoutOf(cells, buckets, threads);
  const buffer = new SharedArrayBuffer(at.times * 4 + cells * Time.Count * 8);
  const words = new Int32Array(buffer);
  words[DiskHead.Cells] = cells;
  words[DiskHead.Buckets] = buckets;
  words[DiskHead.Threads] = threads;
  words[DiskHead.IsLoading] = 1;
  return buffer;
}

/** Where the parts begin, in words. */
export function layoutOf(cellCount: number, buckets: number, threads: number) {
  const cells = DiskHead.Count + buckets;
  const segments = cells + cellCount * DiskCell.Words;
  const readers = segments + DISK_SEGMENTS * SegmentField.Words;
  const queue = readers + DISK_SEGMENTS * threads;
  const end = queue + QUEUE_PLACES * 3;
  return { cells, segments, readers, queue, times: end + (end & 1) };
}

/** Files that there may be at a time. */
export const DISK_SEGMENTS = 256;
export const QUEUE_PLACES = 16_384;
const MIN_CELLS = 1024;
const MAX_CELLS = 16_777_216;
/** Entries are expected to take so many bytes and more, on average. */
const LEAST_ENTRY_BYTES = 2048;
