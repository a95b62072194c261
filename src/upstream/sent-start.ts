import type { BodyFlow, Exchange } from "../message/exchange.ts";
import type { RepeatableBody } from "../message/ports.ts";

/** Bytes of a body's beginning that are kept until its origin of HTTP/2 takes the request up, and all those of one worker and origin. */
const MAX_H2_START_BYTES = 65_536;
const MAX_H2_STARTS_BYTES = 8_388_608;

/** What the beginnings of bodies may take together, for the streams of one pool. */
export class StartRoom {
  private bytes = 0;

  take(bytes: number): boolean {
    if (this.bytes + bytes > MAX_H2_STARTS_BYTES) return false;
    this.bytes += bytes;
    return true;
  }

  giveBack(bytes: number): void {
    this.bytes -= bytes;
  }
}

/**
 * A copy of what has been sent of a request's body, until the origin shows that it has taken the request up: an origin that retires
 * its connection leaves out the requests that cross its GOAWAY, and these can be sent once more if what is gone of their bodies
 * is still there. RFC 9113 §6.8, docs/security.md#retries
 */
export class SentStart {
  private readonly room: StartRoom;
  private bytes: Buffer = NO_BYTES;
  private length = 0;
  private isKeeping = false;

  constructor(room: StartRoom) {
    this.room = room;
  }

  /** A body begins. @param isKept whether it is kept elsewhere */
  begin(isKept: boolean): void {
    this.isKeeping = !isKept;
  }

  /** Whether all that has been sent is here. */
  get isWhole(): boolean {
    return this.isKeeping;
  }

  /** Keeps what is about to be sent, as far as there is room. */
  note(bytes: Uint8Array, from: number, to: number): void {
    if (!this.isKeeping || from === to) return;
    const length = this.length + to - from;
    if (length > this.bytes.length && !this.grow(length)) return this.drop();
    this.bytes.set(bytes.subarray(from, to), this.length);
    this.length = length;
  }

  /** All that has been sent, and what waits behind it. */
  join(waiting: Uint8Array): Buffer {
    return Buffer.concat([this.bytes.subarray(0, this.length), waiting]);
  }

  /** It need not be kept any more, or cannot be. */
  drop(): void {
    this.isKeeping = false;
    this.room.giveBack(this.bytes.length);
    this.bytes = NO_BYTES;
    this.length = 0;
  }

  private grow(length: number): boolean {
    const size = Math.min(MAX_H2_START_BYTES, Math.max(length, this.bytes.length * 2, MIN_START_BYTES));
    if (size < length || !this.room.take(size - this.bytes.length)) return false;
    const grown = Buffer.allocUnsafeSlow(size);
    grown.set(this.bytes.subarray(0, this.length));
    this.bytes = grown;
    return true;
  }
}

/** The beginning of a body that is sent once more; behind it, the rest comes from the client as before. */
export class StartedBody implements BodyFlow, RepeatableBody {
  readonly isKept = false;
  private readonly ex: Exchange;
  private readonly rest: BodyFlow;
  private bytes: Buffer;
  private readonly isAll: boolean;
  private isPaused = false;

  /** Takes the place of the exchange's flow. @param isAll whether the body ends behind these bytes */
  constructor(ex: Exchange, bytes: Buffer, isAll: boolean) {
    this.ex = ex;
    this.rest = ex.flow instanceof StartedBody ? ex.flow.rest : ex.flow;
    this.bytes = bytes;
    this.isAll = isAll;
    this.rest.pauseBody(ex);
    ex.flow = this;
    ex.replay = this;
  }

  pauseBody(): void {
    this.isPaused = true;
  }

  resumeBody(): void {
    this.isPaused = false;
    this.deliver();
  }

  /** Nothing has been handed on: that ends its use. */
  restart(): void {
    this.isPaused = false;
  }

  deliver(): void {
    const { ex, bytes } = this;
    if (this.isPaused || ex.replay !== this) return;
    // From here on the attempt keeps the beginning.
    this.release();
    ex.replay = null;
    if (bytes.length > 0) ex.body.onBody(ex, bytes, 0, bytes.length);
    if (ex.flow !== this) return;
    ex.flow = this.rest;
    if (this.isAll) ex.body.onBodyEnd(ex);
    else if (!this.isPaused) this.rest.resumeBody(ex);
  }

  release(): void {
    this.bytes = NO_BYTES;
  }
}

const NO_BYTES: Buffer = Buffer.alloc(0);
const MIN_START_BYTES = 1024;
