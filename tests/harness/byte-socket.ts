import type { Socket, SocketHandler } from "bun";
import { setReceiveBuffer } from "./receive-buffer.ts";
import { Waiters } from "./waiters.ts";

/** How the peer has ended its direction: not yet, in order, or by a reset. */
export type Ending = "open" | "fin" | "reset";

/** Longest wait of a test for something that must happen; it only decides when a hang is called a failure. */
export const PATIENCE_MS = 30_000;

const NARROW_BYTES = 32 * 1024;

/** One TCP connection seen as bytes, from either side: a send queue, what came in, and how it ended. */
export class ByteSocket {
  /** All bytes that came in so far, read or not. */
  receivedBytes = 0;
  /** Bytes that the kernel has taken from the send queue. */
  sentBytes = 0;
  ending: Ending = "open";
  /** True when this side has closed or reset the connection, or nothing can be sent any more. */
  isClosed = false;
  private socket: Socket<ByteSocket> | null = null;
  private incoming: Uint8Array[] = [];
  private buffered = 0;
  private outgoing: Uint8Array[] = [];
  private finishWhenSent = false;
  private readonly waiters = new Waiters();

  /** Bytes that came in and were not taken yet. */
  get unread(): number {
    return this.buffered;
  }

  /** Queues bytes (text as latin1) and sends what the kernel takes. */
  send(data: string | Uint8Array): void {
    if (data.length === 0) return;
    this.outgoing.push(typeof data === "string" ? Buffer.from(data, "latin1") : data);
    this.flush();
  }

  /** Sends each piece by itself, letting the event loop turn in between. */
  async sendPieces(pieces: Iterable<string | Uint8Array>, pauseMs = 0): Promise<void> {
    for (const piece of pieces) {
      if (this.isClosed) return;
      this.send(piece);
      await Bun.sleep(pauseMs);
    }
  }

  /** Resolves when the kernel has taken everything, or the connection is gone. */
  async flushed(patienceMs = PATIENCE_MS): Promise<void> {
    await this.until(
      "the send queue to empty",
      () => this.outgoing.length === 0 || this.isClosed || undefined,
      patienceMs,
    );
  }

  /** Ends the sending direction after what is queued; reading goes on. */
  finish(): void {
    this.finishWhenSent = true;
    this.flush();
  }

  /** Closes both directions in order. */
  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.socket?.end();
    this.waiters.wake();
  }

  /** Cuts the connection with a reset. */
  reset(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.socket?.terminate();
    this.waiters.wake();
  }

  /** Gives the kernel little room for what comes in, so that it takes no more than is read. */
  narrow(): void {
    setReceiveBuffer((this.socket as unknown as { readonly fd: number }).fd, NARROW_BYTES);
  }

  /** Stops reading, so that the peer meets back-pressure. */
  hold(): void {
    this.socket?.pause();
  }

  /** Reads again after `hold`. */
  release(): void {
    this.socket?.resume();
  }

  /** Waits until `probe` gives something other than undefined; throws when it takes too long. */
  async until<T>(what: string, probe: () => T | undefined, patienceMs = PATIENCE_MS): Promise<T> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const found = probe();
      if (found !== undefined) return found;
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`waited in vain for ${what}; ${this.describe()}`);
      await this.waiters.wait(left);
    }
  }

  /** Takes exactly `count` bytes; throws when the peer ends before. */
  async take(count: number, patienceMs = PATIENCE_MS): Promise<Buffer> {
    await this.until(
      `${count} bytes`,
      () => {
        if (this.buffered >= count) return true;
        if (this.ending !== "open") throw new EndedEarly(`wanted ${count} bytes; ${this.describe()}`);
        return undefined;
      },
      patienceMs,
    );
    return this.cut(count);
  }

  /** Takes bytes up to and including `marker`; throws when the peer ends before. */
  async takeUntil(marker: string, maxBytes: number, patienceMs = PATIENCE_MS): Promise<Buffer> {
    const found = await this.until(
      JSON.stringify(marker),
      () => {
        const at = this.indexOf(marker);
        if (at >= 0) return at;
        if (this.buffered > maxBytes) throw new Error(`no ${JSON.stringify(marker)} within ${maxBytes} bytes`);
        if (this.ending !== "open") throw new EndedEarly(`wanted ${JSON.stringify(marker)}; ${this.describe()}`);
        return undefined;
      },
      patienceMs,
    );
    return this.cut(found + marker.length);
  }

  /** Takes whatever has come, waiting for at least one byte; null when the peer has ended. */
  async takeSome(patienceMs = PATIENCE_MS): Promise<Buffer | null> {
    const count = await this.until(
      "bytes or the end",
      () => (this.buffered > 0 || this.ending !== "open" ? this.buffered : undefined),
      patienceMs,
    );
    return count === 0 ? null : this.cut(count);
  }

  /** Waits for the peer's end and gives every byte until then. */
  async takeRest(patienceMs = PATIENCE_MS): Promise<Buffer> {
    await this.ended(patienceMs);
    return this.cut(this.buffered);
  }

  /** Waits until the peer has ended and says how. */
  async ended(patienceMs = PATIENCE_MS): Promise<Ending> {
    return this.until("the peer's end", () => (this.ending === "open" ? undefined : this.ending), patienceMs);
  }

  /** The unread bytes, left in place. */
  peek(): Buffer {
    if (this.incoming.length !== 1) this.incoming = [Buffer.concat(this.incoming)];
    return bufferOf(this.incoming[0]!);
  }

  /** Called with every chunk as it comes; a subclass may record it. */
  protected onReceived(_chunk: Uint8Array): void {}

  /** Binds the wrapper to its socket; for the handlers below. */
  attach(socket: Socket<ByteSocket>): void {
    this.socket = socket;
    this.flush();
    this.waiters.wake();
  }

  /** Takes a chunk from the socket; for the handlers below. */
  receive(chunk: Uint8Array): void {
    this.receivedBytes += chunk.byteLength;
    this.incoming.push(chunk);
    this.buffered += chunk.byteLength;
    this.onReceived(chunk);
    this.waiters.wake();
  }

  /** Notes the peer's end; for the handlers below. */
  noteEnd(ending: Ending, isGone: boolean): void {
    if (this.ending === "open") this.ending = ending;
    if (isGone) {
      this.isClosed = true;
      this.outgoing = [];
    }
    this.waiters.wake();
  }

  /** Sends what is queued as far as the kernel takes it; for the handlers below. */
  flush(): void {
    if (this.socket === null || this.isClosed) return;
    while (this.outgoing.length > 0) {
      const next = this.outgoing[0]!;
      const taken = this.socket.write(next);
      if (taken <= 0) return;
      this.sentBytes += taken;
      if (taken < next.byteLength) this.outgoing[0] = next.subarray(taken);
      else this.outgoing.shift();
    }
    if (this.finishWhenSent) {
      this.finishWhenSent = false;
      this.socket.shutdown();
    }
    this.waiters.wake();
  }

  /** Where the text is in the unread bytes, or -1. What is found in the first chunk costs no copy of the others. */
  private indexOf(text: string): number {
    const first = this.incoming[0];
    const at = first === undefined ? -1 : bufferOf(first).indexOf(text, 0, "latin1");
    return at >= 0 ? at : this.peek().indexOf(text, 0, "latin1");
  }

  private cut(count: number): Buffer {
    const first = this.incoming[0];
    if (first !== undefined && first.byteLength > count) {
      this.incoming[0] = first.subarray(count);
      this.buffered -= count;
      return bufferOf(first).subarray(0, count);
    }
    const all = this.peek();
    const rest = all.subarray(count);
    this.incoming = rest.byteLength === 0 ? [] : [rest];
    this.buffered = rest.byteLength;
    return all.subarray(0, count);
  }

  private describe(): string {
    const shown = this.peek().subarray(0, 300).toString("latin1");
    return `peer ${this.ending}, ${this.receivedBytes} bytes came, unread: ${JSON.stringify(shown)}`;
  }
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The peer ended where more bytes were due. */
export class EndedEarly extends Error {}

/** Socket handlers that feed the `ByteSocket` in `socket.data`. */
export const BYTE_SOCKET_HANDLERS: SocketHandler<ByteSocket> = {
  data: (socket, chunk) => socket.data.receive(chunk),
  end: (socket) => socket.data.noteEnd("fin", false),
  drain: (socket) => socket.data.flush(),
  // A TLS socket may fail before it was opened, and then has no data.
  close: (socket, error) => socket.data?.noteEnd(error === undefined || error === null ? "fin" : "reset", true),
  error: (socket) => socket.data?.noteEnd("reset", true),
};
