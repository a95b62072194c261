import type { ByteSocket } from "../../../src/net/byte-socket.ts";

/** A socket without a kernel: it takes as much as it is told to and remembers what was done to it. */
export class FakeSocket implements ByteSocket {
  readonly remoteAddress = "192.0.2.7";
  readonly localPort = 8080;
  readonly fd = -1;
  /** Bytes that `write` still takes before it says 0. */
  room: number = Number.POSITIVE_INFINITY;
  /** Whether the peer is gone: `write` says -1. */
  isGone = false;
  /** What was called beside `write`, in order. */
  readonly calls: ("end" | "shutdown" | "terminate" | "pause" | "resume")[] = [];
  /** System calls that `write` stood for. */
  writes = 0;
  private readonly chunks: Buffer[] = [];

  write(data: Uint8Array, byteOffset = 0, byteLength = data.length - byteOffset): number {
    this.writes++;
    if (this.isGone || this.isEnded) return -1;
    const taken = Math.min(this.room, byteLength);
    this.room -= taken;
    if (taken > 0) this.chunks.push(Buffer.from(data.subarray(byteOffset, byteOffset + taken)));
    return taken;
  }

  end(): void {
    this.calls.push("end");
  }

  /** To the peer the same as `end`. */
  close(): void {
    this.calls.push("end");
  }

  shutdown(): void {
    this.calls.push("shutdown");
  }

  terminate(): void {
    this.calls.push("terminate");
  }

  pause(): void {
    this.calls.push("pause");
  }

  resume(): void {
    this.calls.push("resume");
  }

  /** Whether reading is stopped. */
  get isPaused(): boolean {
    const last = this.calls.findLast((call) => call === "pause" || call === "resume");
    return last === "pause";
  }

  /** Whether nothing can be sent any more: ended in order or cut. */
  get isEnded(): boolean {
    return this.calls.includes("end") || this.calls.includes("terminate") || this.calls.includes("shutdown");
  }

  /** All that has been written so far. */
  get sent(): Buffer {
    return Buffer.concat(this.chunks);
  }

  /** All that has been written so far, one character a byte. */
  get text(): string {
    return this.sent.toString("latin1");
  }

  /** What has been written since the last call, one character a byte. */
  takeText(): string {
    const text = this.text;
    this.chunks.length = 0;
    return text;
  }
}
