import {
  closeSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
  writevSync,
} from "node:fs";
import { join } from "node:path";
import { ENTRY_FIXED_BYTES, type EntryShape, shapeOf } from "../../store/entry-bytes.ts";

/** An entry of a segment as its index has it. */
export interface SegmentRecord {
  readonly offset: number;
  readonly shape: EntryShape;
  /** The fixed part of the entry and its key. */
  readonly bytes: Buffer;
}

/**
 * One file of entries in a row (`NUMBER.seg`), and beside it one with what finds them (`NUMBER.idx`), so that a start need not walk the
 * entries. Both only grow, but for the marks of entries; what the second lacks, or has damaged, is read from the first.
 *
 *     both:  a line of 64 bytes that says of what kind they are | entries, or records
 *     a record:  checksum (4) | place of the entry (4) | its fixed part | its key
 *
 * docs/cache.md#on-disk
 */
export class Segment {
  readonly serial: number;
  readonly fd: number;
  /** Its row in the index. */
  row = -1;
  /** Where the next entry goes. */
  size: number;
  indexBytes: number;
  private readonly dir: string;
  private indexFd: number;
  private pending: Buffer[] = [];
  private pendingBytes = 0;
  /** Up to where its index has its entries. */
  private indexedEnd = HEAD_BYTES;

  private constructor(
    dir: string,
    serial: number,
    files: { fd: number; indexFd: number; size: number; indexBytes: number },
  ) {
    this.dir = dir;
    this.serial = serial;
    this.fd = files.fd;
    this.indexFd = files.indexFd;
    this.size = files.size;
    this.indexBytes = files.indexBytes;
  }

  /** Makes an empty one. @throws where there can be none */
  static create(dir: string, serial: number, kind: string): Segment {
    const head = headOf(kind);
    const fd = openSync(join(dir, nameOf(serial, "seg")), "wx+", FILE_MODE);
    try {
      writeAll(fd, head, 0);
      const indexFd = openSync(join(dir, nameOf(serial, "idx")), "w+", FILE_MODE);
      writeAll(indexFd, head, 0);
      return new Segment(dir, serial, { fd, indexFd, size: HEAD_BYTES, indexBytes: HEAD_BYTES });
    } catch (error) {
      closeSync(fd);
      rmSync(join(dir, nameOf(serial, "seg")), { force: true });
      throw error;
    }
  }

  /** Opens one that was left there. @returns null if it is of another kind, or none: its files are removed then */
  static open(dir: string, serial: number, kind: string): Segment | null {
    let fd = -1;
    try {
      fd = openSync(join(dir, nameOf(serial, "seg")), "r+");
      const { size } = fstatSync(fd);
      if (readAt(fd, 0, HEAD_BYTES)?.equals(headOf(kind)) === true) {
        return new Segment(dir, serial, { fd, indexFd: -1, size, indexBytes: 0 });
      }
    } catch {
      // Cannot be read: it goes.
    }
    if (fd >= 0) closeSync(fd);
    removeFiles(dir, serial);
    return null;
  }

  /** Removes the rest of one. */
  static remove(dir: string, serial: number): void {
    removeFiles(dir, serial);
  }

  /** Whether its file has been removed by someone else. */
  get isRemoved(): boolean {
    return fstatSync(this.fd).nlink === 0;
  }

  /** Bytes that both files take. */
  get totalBytes(): number {
    return this.size + this.indexBytes + this.pendingBytes;
  }

  /**
   * Appends an entry: its body first, so that one without an end has no beginning.
   * @param pieces the parts of the body, each of which holds until the next is asked for
   * @returns its place
   * @throws if it cannot be written; nothing of it is there then
   */
  append(shape: EntryShape, prefix: Buffer, pieces: Iterable<Buffer>): number {
    const offset = this.size;
    if (shape.totalBytes <= ONE_WRITE_BYTES) {
      const parts = [prefix, ...pieces];
      const written = writevSync(this.fd, parts, offset);
      if (written !== shape.totalBytes) throw new ShortWrite();
    } else {
      let at = offset + shape.prefixBytes;
      for (const piece of pieces) {
        writeAll(this.fd, piece, at);
        at += piece.length;
      }
      writeAll(this.fd, prefix, offset);
    }
    this.size += shape.totalBytes;
    this.note(offset, prefix.subarray(0, ENTRY_FIXED_BYTES + shape.keyBytes));
    return offset;
  }

  /** Writes what the index has not got yet. */
  flush(): void {
    if (this.pendingBytes === 0 || this.indexFd < 0) return;
    writeAll(this.indexFd, Buffer.concat(this.pending), this.indexBytes);
    this.indexBytes += this.pendingBytes;
    this.pending = [];
    this.pendingBytes = 0;
  }

  /** Nothing is appended any more. */
  seal(): void {
    this.flush();
    if (this.indexFd >= 0) closeSync(this.indexFd);
    this.indexFd = -1;
  }

  /**
   * Its entries in the order in which they were written, by its index, and without it by walking them; a walk ends at what is damaged.
   * @param originMs what is added to the times
   */
  *records(originMs: number): Generator<SegmentRecord> {
    this.flush();
    this.indexedEnd = HEAD_BYTES;
    for (const record of this.indexed(originMs)) {
      const end = record.offset + record.shape.totalBytes;
      if (record.offset !== this.indexedEnd || end > this.size) break;
      this.indexedEnd = end;
      yield record;
    }
    yield* this.walked(this.indexedEnd, originMs);
  }

  /**
   * After all records were read: cuts off anything after the last entry, and makes the index anew where that lacks entries.
   * @param end where the last entry ends
   * @param goesOn whether more is to be appended
   */
  mend(end: number, goesOn: boolean): void {
    const file = join(this.dir, nameOf(this.serial, "idx"));
    const isWhole = this.indexedEnd === end || end === HEAD_BYTES;
    if (!isWhole) this.writeIndex(file);
    this.size = Math.max(HEAD_BYTES, end);
    if (!goesOn) {
      this.seal();
      return;
    }
    if (this.indexFd < 0) this.indexFd = openSync(file, "a+", FILE_MODE);
    closeSync(this.indexFd);
    this.indexFd = openSync(file, "r+");
    if (this.indexBytes === 0) writeAll(this.indexFd, headOfFile(this.fd), 0);
    this.indexBytes = Math.max(HEAD_BYTES, this.indexBytes);
    ftruncateSync(this.indexFd, this.indexBytes);
    ftruncateSync(this.fd, this.size);
  }

  /** Reads bytes of an entry. @returns null if there are not so many */
  read(offset: number, length: number): Buffer | null {
    return readAt(this.fd, offset, length);
  }

  /** Removes the files; the first stays open for those who read it. */
  remove(): void {
    if (this.indexFd >= 0) closeSync(this.indexFd);
    this.indexFd = -1;
    removeFiles(this.dir, this.serial);
  }

  /** No thread reads it. */
  close(): void {
    if (this.indexFd >= 0) closeSync(this.indexFd);
    closeSync(this.fd);
  }

  private writeIndex(file: string): void {
    const records = [...this.records(0)];
    this.indexFd = openSync(`${file}.new`, "w+", FILE_MODE);
    writeAll(this.indexFd, headOfFile(this.fd), 0);
    this.indexBytes = HEAD_BYTES;
    for (const { offset, bytes } of records) this.note(offset, bytes);
    this.flush();
    renameSync(`${file}.new`, file);
  }

  private note(offset: number, bytes: Buffer): void {
    const record = Buffer.allocUnsafe(RECORD_BYTES + bytes.length);
    record.writeUInt32LE(offset, 4);
    bytes.copy(record, RECORD_BYTES);
    record.writeUInt32LE(Bun.hash.crc32(record.subarray(4)), 0);
    this.pending.push(record);
    this.pendingBytes += record.length;
    if (this.pendingBytes > MAX_PENDING_BYTES) this.flush();
  }

  private *indexed(originMs: number): Generator<SegmentRecord> {
    const file = join(this.dir, nameOf(this.serial, "idx"));
    let fd = -1;
    try {
      fd = openSync(file, "r");
    } catch {
      return;
    }
    try {
      const input = new Input(fd);
      if (input.take(HEAD_BYTES)?.equals(headOfFile(this.fd)) !== true) return;
      let read = HEAD_BYTES;
      for (;;) {
        const record = input.peek(RECORD_BYTES + ENTRY_FIXED_BYTES);
        const shape = record === null ? null : shapeOf(record.subarray(RECORD_BYTES), originMs);
        if (shape === null || shape.keyBytes > MAX_KEY_BYTES) return;
        const whole = input.take(RECORD_BYTES + ENTRY_FIXED_BYTES + shape.keyBytes);
        if (whole === null || Bun.hash.crc32(whole.subarray(4)) !== whole.readUInt32LE(0)) return;
        read += whole.length;
        this.indexBytes = Math.max(this.indexBytes, read);
        yield { offset: whole.readUInt32LE(4), shape, bytes: whole.subarray(RECORD_BYTES) };
      }
    } finally {
      closeSync(fd);
    }
  }

  private *walked(from: number, originMs: number): Generator<SegmentRecord> {
    for (let offset = from; offset + ENTRY_FIXED_BYTES <= this.size; ) {
      const fixed = readAt(this.fd, offset, ENTRY_FIXED_BYTES);
      const shape = fixed === null ? null : shapeOf(fixed, originMs);
      if (shape === null || shape.keyBytes > MAX_KEY_BYTES || offset + shape.totalBytes > this.size) return;
      const bytes = readAt(this.fd, offset, ENTRY_FIXED_BYTES + shape.keyBytes);
      if (bytes === null) return;
      yield { offset, shape, bytes };
      offset += shape.totalBytes;
    }
  }
}

/** Reads a file from its beginning, in pieces. */
class Input {
  private readonly fd: number;
  private buffer: Buffer = Buffer.alloc(0);
  private at = 0;
  private readonly piece: Buffer = Buffer.allocUnsafeSlow(INPUT_BYTES);

  constructor(fd: number) {
    this.fd = fd;
  }

  peek(length: number): Buffer | null {
    while (this.buffer.length < length) {
      const count = readSync(this.fd, this.piece, 0, INPUT_BYTES, this.at);
      if (count === 0) return null;
      this.at += count;
      this.buffer = Buffer.concat([this.buffer, this.piece.subarray(0, count)]);
    }
    return this.buffer.subarray(0, length);
  }

  take(length: number): Buffer | null {
    const bytes = this.peek(length);
    if (bytes !== null) this.buffer = this.buffer.subarray(length);
    return bytes;
  }
}

/** The numbers of the segments in a folder, the oldest first; what a start has left unfinished is removed. */
export function serialsIn(names: readonly string[]): number[] {
  const serials = names.flatMap((name) => {
    const match = SEGMENT_NAME.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
  return serials.sort((a, b) => a - b);
}

/** Bytes were written, but not all: the disk is full. */
class ShortWrite extends Error {
  readonly code = "ENOSPC";
}

function nameOf(serial: number, ending: "seg" | "idx"): string {
  return `${String(serial).padStart(10, "0")}.${ending}`;
}

function removeFiles(dir: string, serial: number): void {
  for (const ending of ["seg", "idx"] as const) rmSync(join(dir, nameOf(serial, ending)), { force: true });
}

function headOf(kind: string): Buffer {
  return Buffer.from(`${`edge-cache 1 ${kind}`.slice(0, HEAD_BYTES - 1).padEnd(HEAD_BYTES - 1)}\n`, "latin1");
}

function writeAll(fd: number, bytes: Buffer, at: number): void {
  for (let done = 0; done < bytes.length; ) {
    const count = writeSync(fd, bytes, done, bytes.length - done, at + done);
    if (count <= 0) throw new ShortWrite();
    done += count;
  }
}

function readAt(fd: number, at: number, length: number): Buffer | null {
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length; ) {
    const count = readSync(fd, bytes, done, length - done, at + done);
    if (count <= 0) return null;
    done += count;
  }
  return bytes;
}

function headOfFile(fd: number): Buffer {
  return readAt(fd, 0, HEAD_BYTES) ?? Buffer.alloc(HEAD_BYTES);
}

const SEGMENT_NAME = /^(\d{10})\.seg$/;
const FILE_MODE = 0o600;
const HEAD_BYTES = 64;
/** Checksum and place. */
const RECORD_BYTES = 8;
const ONE_WRITE_BYTES = 262_144;
const MAX_PENDING_BYTES = 65_536;
const INPUT_BYTES = 1_048_576;
const MAX_KEY_BYTES = 1_048_576;
