import { copyBytes, EMPTY_BYTES } from "../core/bytes.ts";
import { RETURNED_CHUNK_BYTES } from "../core/limits.ts";
import type { ByteSocket } from "./byte-socket.ts";
import { sendFile, sendMore } from "./system-socket.ts";

/** Bytes of one output slab: response heads and small bodies leave in one write from it. */
export const SLAB_BYTES = 16384;
/** Bytes that may wait in one worker for peers that do not read, if no configuration says otherwise. */
const DEFAULT_UNSENT_BYTES = 64 * 1024 * 1024;
/** The rest of a larger chunk up to this is copied if it must wait, so that the chunk can go. */
const KEPT_COPY_BYTES = 32768;
/** Free output slabs a worker keeps. */
export const MAX_FREE_SLABS = 256;
/** Received chunks of so many bytes are not kept for the head at their beginning: it is copied. */
const LEFT_CHUNK_BYTES = 65_536;

/** State that the writers of one worker share. */
export class WriterGroup {
  readonly slabs: SlabPool;
  readonly unsent: UnsentBytes = new UnsentBytes();
  private readonly dirty: SocketWriter[] = [];
  /** Writers that are flushed when all sockets that are ready have been served. */
  private readonly late: SocketWriter[] = [];
  private readonly flushLate = (): void => {
    const { late } = this;
    for (let i = 0; i < late.length; i++) late[i]!.flushTurn();
    late.length = 0;
  };

  constructor(slabs: SlabPool) {
    this.slabs = slabs;
  }

  /** Remembers a writer to which many sockets write: their bytes of one turn of the loop leave together. */
  markLate(writer: SocketWriter): void {
    if (this.late.push(writer) === 1) setImmediate(this.flushLate);
  }

  /** Remembers a writer that holds bytes for `flushAll`. */
  markDirty(writer: SocketWriter): void {
    this.dirty.push(writer);
  }

  /** Sends what this turn of the event loop has written. Called once at the end of every socket event. */
  flushAll(): void {
    const dirty = this.dirty;
    // Setting the length of an array is a call into the engine, and most events of a forwarded connection gather nothing.
    if (dirty.length > 0) {
      for (let i = 0; i < dirty.length; i++) dirty[i]!.flushTurn();
      dirty.length = 0;
    }
    // Deferred, so that no connection is closed re-entrantly while it writes.
    if (this.unsent.total > this.unsent.limit) this.unsent.enforce();
  }
}

/** Who is notified that the kernel takes no more. */
export interface WriterOwner {
  onBlocked(): void;
}

/** Bytes that the kernel did not take yet. */
interface Segment {
  bytes: Uint8Array;
  from: number;
  to: number;
  isSlab: boolean;
}

/** Bytes that must wait; a small rest of a large chunk as a copy, so that the chunk can go. */
function remainder(bytes: Uint8Array, from: number, to: number): Segment {
  const length = to - from;
  const segment = { bytes, from, to, isSlab: false };
  if (length > KEPT_COPY_BYTES || keptBytes(segment) < 2 * length) return segment;
  const copy = Buffer.allocUnsafeSlow(length);
  copyBytes(copy, 0, bytes, from, to);
  return { bytes: copy, from: 0, to: length, isSlab: false };
}

/**
 * The memory that a segment keeps: a view keeps all of the chunk that it shows a part of. What is in shared memory
 * is there anyway.
 */
function keptBytes({ bytes: { buffer } }: Segment): number {
  return buffer instanceof SharedArrayBuffer ? 0 : buffer.byteLength;
}

/**
 * The way out of one socket. Small writes are gathered in a slab and leave in one system call at the end of the turn;
 * large ones go out without a copy. What the kernel refuses waits, and `blocked` tells the source to hold.
 */
export class SocketWriter implements UnsentOwner {
  private readonly socket: ByteSocket;
  private readonly group: WriterGroup;
  private readonly owner: WriterOwner;
  private slab: Buffer | null = null;
  private slabEnd = 0;
  /** Offset in the slab of the bytes that can be withdrawn; -1 if some of them may have left. */
  private revocableFrom = -1;
  private waiting: Segment[] | null = null;
  private isDirty = false;
  /** Bytes of memory that the waiting segments keep. */
  private kept = 0;
  /** Whether many sockets' events write here, so that one write for all of them is worth a wait for the last. */
  isShared = false;
  /** Whether the kernel has refused bytes; sources hold until the drain event. */
  blocked = false;
  closed = false;

  constructor(socket: ByteSocket, group: WriterGroup, owner: WriterOwner) {
    this.socket = socket;
    this.group = group;
    this.owner = owner;
  }

  /** Whether nothing waits to be sent. */
  isEmpty(): boolean {
    return this.slabEnd === 0 && this.waiting === null;
  }

  /** Bytes of memory that wait for the kernel to take them. */
  get keptBytes(): number {
    return this.kept;
  }

  /**
   * Room for encoding in place: write from `offset` on, then call `commit`.
   * @param length at most how many bytes will be written
   */
  reserve(length: number): Buffer {
    if (this.slab !== null && this.slabEnd + length > this.slab.length) this.sealSlab();
    if (this.slab === null) this.slab = length > SLAB_BYTES ? Buffer.allocUnsafeSlow(length) : this.group.slabs.take();
    return this.slab;
  }

  /** Offset of the next byte in the buffer that `reserve` gave. */
  get offset(): number {
    return this.slabEnd;
  }

  /** Marks a point: the caller can withdraw later bytes until the first of them leaves. Call it after `reserve`. */
  markRevocable(): void {
    this.revocableFrom = this.slabEnd;
  }

  /** Withdraws the bytes since the mark. @returns false if some of them may have left */
  revoke(): boolean {
    if (this.revocableFrom < 0) return false;
    this.slabEnd = this.revocableFrom;
    this.revocableFrom = -1;
    return true;
  }

  /** Takes the encoded bytes up to `end`. */
  commit(end: number): void {
    this.slabEnd = end;
    if (!this.isDirty) {
      this.isDirty = true;
      if (this.isShared) this.group.markLate(this);
      else this.group.markDirty(this);
    }
  }

  /** Copies bytes into the slab. */
  copy(bytes: Uint8Array, from: number, to: number): void {
    const out = this.reserve(to - from);
    this.commit(copyBytes(out, this.slabEnd, bytes, from, to));
  }

  /**
   * Sends bytes, by copy when they fit beside the gathered data, else directly. They must stay unchanged.
   * @returns false when the source should hold until the drain event
   */
  write(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.closed) return true;
    const length = to - from;
    const used = this.slab === null ? 0 : this.slabEnd;
    if (used + length <= SLAB_BYTES && (this.slab === null || this.slab.length >= used + length)) {
      this.copy(bytes, from, to);
      return !this.blocked;
    }
    this.sealSlab();
    if (this.waiting !== null) {
      this.keep(remainder(bytes, from, to));
      return false;
    }
    const sent = this.send(bytes, from, length);
    if (sent < length && !this.closed) {
      this.keep(remainder(bytes, from + sent, to));
      this.block();
    }
    return !this.blocked;
  }

  /**
   * Sends bytes of an open file behind the gathered data, which leaves with the first of them. Not for TLS.
   * @returns how many have left. If they are fewer than asked for, bytes that are given to `write` find out why, and have the
   * runtime say when the socket takes more
   */
  sendFile(file: number, at: number, length: number): number {
    if (this.blocked) return 0;
    if (this.slab !== null) this.sealSlab(true);
    if (this.waiting !== null || this.closed) return 0;
    return Math.max(0, sendFile(this.socket.fd, file, at, length));
  }

  /** The end of the turn: sends the slab. */
  flushTurn(): void {
    this.isDirty = false;
    if (!this.blocked) this.sealSlab();
  }

  /**
   * The socket takes bytes again.
   * @returns whether all that waited is sent
   */
  onDrain(): boolean {
    this.blocked = false;
    while (this.waiting !== null) {
      const segment = this.waiting[0]!;
      const length = segment.to - segment.from;
      const sent = this.send(segment.bytes, segment.from, length);
      if (this.closed) return true;
      if (sent > 0) this.group.unsent.progressed(this);
      if (sent < length) {
        segment.from += sent;
        this.blocked = true;
        return false;
      }
      if (segment.isSlab) this.group.slabs.give(segment.bytes as Buffer);
      this.waiting.shift();
      if (this.waiting.length > 0) this.letGo(keptBytes(segment));
      else this.keepNothing();
    }
    this.sealSlab();
    return !this.blocked;
  }

  /** Forgets everything; the socket is gone. */
  close(): void {
    this.closed = true;
    this.blocked = false;
    if (this.slab !== null) this.group.slabs.give(this.slab);
    this.slab = null;
    this.slabEnd = 0;
    this.revocableFrom = -1;
    for (const segment of this.waiting ?? []) if (segment.isSlab) this.group.slabs.give(segment.bytes as Buffer);
    this.keepNothing();
  }

  /** Too much waits for too many peers, and this one has taken nothing for longest. */
  abandon(): void {
    this.close();
    // The socket's owner is notified of its end, as of any other.
    this.socket.terminate();
  }

  /** Sends the slab, or lines it up behind waiting bytes. @param hasMore whether it leaves with the next bytes */
  private sealSlab(hasMore = false): void {
    const slab = this.slab;
    if (slab === null) return;
    const end = this.slabEnd;
    this.slab = null;
    this.slabEnd = 0;
    this.revocableFrom = -1;
    let sent = 0;
    if (end > 0 && this.waiting === null && !this.closed) {
      if (hasMore) sent = Math.max(0, sendMore(this.socket.fd, slab, end));
      if (sent < end) sent += this.send(slab, sent, end - sent);
    }
    if (sent === end || this.closed) {
      this.group.slabs.give(slab);
      return;
    }
    this.keep({ bytes: slab, from: sent, to: end, isSlab: true });
    if (!this.blocked) this.block();
  }

  private keep(segment: Segment): void {
    this.waiting ??= [];
    this.waiting.push(segment);
    const bytes = keptBytes(segment);
    this.kept += bytes;
    this.group.unsent.add(this, bytes);
  }

  private letGo(bytes: number): void {
    this.kept -= bytes;
    this.group.unsent.add(this, -bytes);
  }

  private keepNothing(): void {
    if (this.waiting === null) return;
    this.waiting = null;
    this.group.unsent.remove(this, this.kept);
    this.kept = 0;
  }

  private block(): void {
    this.blocked = true;
    this.owner.onBlocked();
  }

  private send(bytes: Uint8Array, from: number, length: number): number {
    const sent = this.socket.write(bytes, from, length);
    if (sent >= 0) return sent;
    this.close();
    return 0;
  }
}

const MIN_CAPACITY = 1024;
/** How many times larger than the rest of it a chunk must be, so that a copy is worth its while. */
const COMPACT_SHARE = 2;

/**
 * Received bytes that have not been consumed. Usually one chunk as the socket gave it, used in place; only if a
 * message was cut does it become a buffer of its own that grows. Consumed bytes are never written over, so that
 * consumers may keep references to them; only `giveBack` takes them away.
 */
export class InputBuffer {
  bytes: Uint8Array = EMPTY_BYTES;
  from = 0;
  to = 0;
  private owned: Buffer | null = null;
  /** Whether a consumer may keep bytes that were consumed since the last `append`. */
  private isLent = false;

  get length(): number {
    return this.to - this.from;
  }

  /** The memory that unconsumed bytes keep. */
  get keptBytes(): number {
    return this.from === this.to ? 0 : this.bytes.buffer.byteLength;
  }

  /** The bytes will wait: the rest of a much larger chunk moves out of it, so that the chunk can go. */
  compact(): void {
    if (this.from === this.to || this.keptBytes < COMPACT_SHARE * this.length) return;
    const smaller = Buffer.allocUnsafeSlow(this.length);
    this.to = copyBytes(smaller, 0, this.bytes, this.from, this.to);
    this.from = 0;
    this.bytes = smaller;
    this.owned = null;
  }

  /**
   * Appends a chunk, or the part `[from, to)` of it.
   * @returns whether earlier offsets into `bytes` are void (the content moved)
   */
  append(chunk: Uint8Array, from = 0, to: number = chunk.length): boolean {
    this.isLent = false;
    if (this.from === this.to) {
      this.bytes = chunk;
      this.from = from;
      this.to = to;
      this.owned = null;
      return true;
    }
    if (this.owned !== null && this.to + to - from <= this.owned.length) {
      this.to = copyBytes(this.owned, this.to, chunk, from, to);
      return false;
    }
    const moved = this.owned === null || this.from > 0;
    const capacity = Math.max(MIN_CAPACITY, (this.length + to - from) * 2);
    const bigger = Buffer.allocUnsafeSlow(capacity);
    const end = copyBytes(bigger, 0, this.bytes, this.from, this.to);
    this.to = copyBytes(bigger, end, chunk, from, to);
    this.from = 0;
    this.bytes = bigger;
    this.owned = bigger;
    return moved;
  }

  /** Lets the bytes go when all are consumed. */
  release(): void {
    if (this.from < this.to) return;
    this.clear();
  }

  /** Consumers may keep the bytes that they take from now on. */
  lend(): void {
    this.isLent = true;
  }

  /**
   * Gives the memory of a chunk back at once, if it is no longer needed. Left to the garbage collector, a stream of large
   * chunks walks through tens of megabytes that no cache of the processor holds, which costs as much again as sending them.
   * @param chunk the last appended chunk, as a socket gave it
   * @param head what is read where it is, in this chunk or in another; it moves out of a large one, if it can
   */
  giveBack(chunk: Uint8Array, head: { readonly bytes: Uint8Array; moveOut?(): void }): void {
    // Small ones are not worth the call; their `buffer` is not even asked for, which would move them out of the heap.
    if (chunk.length < RETURNED_CHUNK_BYTES) return;
    if (this.isLent || this.bytes === chunk) return;
    if (head.bytes === chunk) {
      if (chunk.length < LEFT_CHUNK_BYTES || head.moveOut === undefined) return;
      head.moveOut();
    }
    const { buffer } = chunk;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.length) buffer.transfer(0);
  }

  /** Drops everything. */
  clear(): void {
    this.bytes = EMPTY_BYTES;
    this.from = 0;
    this.to = 0;
    this.owned = null;
  }
}

/** Output buffers of one size, kept for reuse; one pool a worker. */
export class SlabPool {
  private readonly free: Buffer[] = [];

  /** A buffer of SLAB_BYTES with arbitrary content. */
  take(): Buffer {
    return this.free.pop() ?? Buffer.allocUnsafeSlow(SLAB_BYTES);
  }

  /** Takes a buffer back that nothing refers to any more. */
  give(slab: Buffer): void {
    if (slab.length === SLAB_BYTES && this.free.length < MAX_FREE_SLABS) this.free.push(slab);
  }
}

/** An owner of bytes buffered for a peer that does not read them. */
export interface UnsentOwner {
  /** Gives up on the peer: cuts the connection and drops its buffers. */
  abandon(): void;
}

/**
 * The memory that waits in one worker for peers that do not read, clients and origins. One connection keeps at most one
 * received chunk, but thousands together would exhaust the memory; beyond the limit those are cut that have taken nothing
 * for longest.
 */
class UnsentBytes {
  /** Bytes that all holders together may keep at the end of a turn. */
  limit: number = DEFAULT_UNSENT_BYTES;
  /** Notified of a connection that is cut. */
  onAbandoned: () => void = () => {};
  private sum = 0;
  /** In the order of their last progress. */
  private readonly holders: Set<UnsentOwner> = new Set();

  /** Bytes kept now. */
  get total(): number {
    return this.sum;
  }

  /** A holder keeps more, or less. */
  add(holder: UnsentOwner, bytes: number): void {
    this.sum += bytes;
    this.holders.add(holder);
  }

  /** The peer has taken something. */
  progressed(holder: UnsentOwner): void {
    if (this.holders.delete(holder)) this.holders.add(holder);
  }

  /** The holder keeps nothing any more. @param bytes the bytes that it kept until now */
  remove(holder: UnsentOwner, bytes: number): void {
    this.sum -= bytes;
    this.holders.delete(holder);
  }

  /** Cuts connections until the rest is within the limit. */
  enforce(): void {
    for (const holder of this.holders) {
      if (this.sum <= this.limit) return;
      holder.abandon();
      this.onAbandoned();
    }
  }
}
