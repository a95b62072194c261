import { copyBytes } from "../core/bytes.ts";
import { SLAB_BYTES } from "../core/limits.ts";
import type { ByteSocket } from "./byte-socket.ts";
import type { SlabPool } from "./slab-pool.ts";

/** What the writers of one worker share. */
export class WriterGroup {
  readonly slabs: SlabPool;
  private readonly dirty: SocketWriter[] = [];

  constructor(slabs: SlabPool) {
    this.slabs = slabs;
  }

  /** Remembers a writer that holds bytes for `flushAll`. */
  markDirty(writer: SocketWriter): void {
    this.dirty.push(writer);
  }

  /** Sends what this turn of the event loop has written. Called once at the end of every socket event. */
  flushAll(): void {
    const dirty = this.dirty;
    for (let i = 0; i < dirty.length; i++) dirty[i]!.flushTurn();
    dirty.length = 0;
  }
}

/** Who hears that the kernel takes no more. */
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

/**
 * The way out of one socket. Small writes are gathered in a slab and leave in one system call at the end of the turn;
 * large ones go out without a copy. What the kernel refuses waits, and `blocked` tells the source to hold.
 */
export class SocketWriter {
  private readonly socket: ByteSocket;
  private readonly group: WriterGroup;
  private readonly owner: WriterOwner;
  private slab: Buffer | null = null;
  private slabEnd = 0;
  private waiting: Segment[] | null = null;
  private isDirty = false;
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

  /**
   * Room for encoding in place: write from `offset` on, then call `commit`.
   * @param length at most how many bytes will be written
   */
  reserve(length: number): Buffer {
    if (this.slab !== null && this.slabEnd + length > this.slab.length) this.sealSlab();
    if (this.slab === null) this.slab = length > SLAB_BYTES ? Buffer.allocUnsafeSlow(length) : this.group.slabs.take();
    return this.slab;
  }

  /** Where the next byte goes in the buffer that `reserve` gave. */
  get offset(): number {
    return this.slabEnd;
  }

  /** Takes what has been encoded up to `end`. */
  commit(end: number): void {
    this.slabEnd = end;
    if (!this.isDirty) {
      this.isDirty = true;
      this.group.markDirty(this);
    }
  }

  /** Copies bytes into the slab. */
  copy(bytes: Uint8Array, from: number, to: number): void {
    const out = this.reserve(to - from);
    this.commit(copyBytes(out, this.slabEnd, bytes, from, to));
  }

  /**
   * Sends bytes, by copy when they fit beside what is gathered, else directly. They must stay unchanged.
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
      this.waiting.push({ bytes, from, to, isSlab: false });
      return false;
    }
    const sent = this.send(bytes, from, length);
    if (sent < length && !this.closed) {
      this.waiting = [{ bytes, from: from + sent, to, isSlab: false }];
      this.block();
    }
    return !this.blocked;
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
      if (sent < length) {
        segment.from += sent;
        this.blocked = true;
        return false;
      }
      if (segment.isSlab) this.group.slabs.give(segment.bytes as Buffer);
      this.waiting.shift();
      if (this.waiting.length === 0) this.waiting = null;
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
    for (const segment of this.waiting ?? []) if (segment.isSlab) this.group.slabs.give(segment.bytes as Buffer);
    this.waiting = null;
  }

  /** Sends the slab, or lines it up behind what waits. */
  private sealSlab(): void {
    const slab = this.slab;
    if (slab === null) return;
    const end = this.slabEnd;
    this.slab = null;
    this.slabEnd = 0;
    let sent = 0;
    if (end > 0 && this.waiting === null && !this.closed) sent = this.send(slab, 0, end);
    if (sent === end || this.closed) {
      this.group.slabs.give(slab);
      return;
    }
    this.waiting ??= [];
    this.waiting.push({ bytes: slab, from: sent, to: end, isSlab: true });
    if (!this.blocked) this.block();
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
