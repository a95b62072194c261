import { MAX_PIECE_BYTES, SendWindow, WireWord } from "../wire.ts";
import { isIncoming, onSentOn } from "./incoming-body.ts";
import { wholeBody } from "./made-response.ts";
import type { Late, ThreadLink } from "./thread-link.ts";

/** Bytes that are gathered before a head leaves: what is complete by then goes with it. */
const EARLY_BYTES = 16 * 1024;

/** As it was before a module was loaded. */
const { peek } = Bun;

/** What is used of the reader of a stream. */
interface BodyReader {
  read(): Promise<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(reason: unknown): Promise<void>;
}

/** Who learns how a body has gone. */
interface OutgoingOwner {
  /**
   * The head is to be written now.
   * @param mode "0" without a body, "1" a whole one, which `raw` holds, "2" it follows
   */
  writeHead(mode: "0" | "1" | "2", whole: Uint8Array | null): void;
  onSent(): void;
  /** Reading the body failed, or it is none of bytes. */
  onReadError(error: unknown): void;
  /** The module's own handler of a body that is not wanted any more has failed. */
  onCancelError(error: unknown): void;
}

/**
 * Sends a message with the body of a `Response` or `Request`: what can be read of it in this turn goes with the head as one record, all else
 * follows as its reader takes it.
 */
export class OutgoingBody implements Late {
  private readonly link: ThreadLink;
  private readonly id: number;
  private readonly owner: OutgoingOwner;
  private readonly window: SendWindow = new SendWindow();
  private reader: BodyReader | null = null;
  private early: Uint8Array[] | null = [];
  private earlyBytes = 0;
  /** Whether its pieces are no one else's: bodies that go through a function as they came are not copied. */
  private isOwn = false;
  private isComplete = false;
  private isOver = false;
  private resume: (() => void) | null = null;
  private left: number;

  /** @param length that the message has declared, in bytes; -1 if it has not */
  constructor(link: ThreadLink, id: number, owner: OutgoingOwner, length = -1) {
    this.link = link;
    this.id = id;
    this.owner = owner;
    this.left = length;
  }

  /** @param response null, if there is no body */
  startOf(response: Response | null): void {
    const whole = response === null ? null : wholeBody(response);
    if (whole === null) return this.start((response?.body ?? null) as ReadableStream<unknown> | null);
    const bytes = peek(whole);
    if (bytes instanceof Uint8Array) this.startWhole(bytes);
    else void this.startLater(whole);
  }

  start(body: ReadableStream<unknown> | null): void {
    if (body === null) {
      this.isComplete = true;
      this.beforeFlush();
      return;
    }
    this.isOwn = isIncoming(body);
    this.reader = body.getReader();
    this.link.atEnd(this);
    void this.run();
  }

  taken(bytes: number): void {
    if (!this.window.taken(bytes)) return;
    this.resume?.();
    this.resume = null;
  }

  /** Nothing more is wanted. */
  cancel(reason: unknown): void {
    if (this.isOver) return;
    this.isOver = true;
    this.early = null;
    this.leave(reason);
    this.resume?.();
  }

  beforeFlush(): void {
    const { early } = this;
    if (early === null || this.isOver) return;
    this.early = null;
    if (!this.isComplete) {
      this.owner.writeHead("2", null);
      for (const piece of early) this.send(piece);
      return;
    }
    const whole = early.length === 1 ? early[0]! : Buffer.concat(early);
    this.owner.writeHead(whole.length === 0 ? "0" : "1", whole);
    this.finish();
  }

  private startWhole(bytes: Uint8Array): void {
    if (bytes.length > EARLY_BYTES) return this.start(new Response(bytes as Uint8Array<ArrayBuffer>).body);
    try {
      this.count(bytes.length);
      this.checkLength();
    } catch (error) {
      return this.failRead(error);
    }
    this.early = [bytes];
    this.isComplete = true;
    this.beforeFlush();
  }

  /** A module that has looked at the stream of its own response makes the runtime take a turn for its bytes. */
  private async startLater(whole: Promise<Uint8Array>): Promise<void> {
    try {
      const bytes = await whole;
      if (!this.isOver) this.startWhole(bytes);
    } catch (error) {
      if (!this.isOver) this.failRead(error);
    }
  }

  private async run(): Promise<void> {
    const reader = this.reader!;
    try {
      for (;;) {
        if (!this.window.isOpen) await new Promise<void>((resolve) => (this.resume = resolve));
        if (this.isOver) return;
        const { done, value } = await reader.read();
        if (this.isOver) return;
        if (done) break;
        const bytes = bytesOf(value);
        this.count(bytes.length);
        for (let from = 0; from < bytes.length; from += MAX_PIECE_BYTES) {
          if (!this.window.isOpen) await new Promise<void>((resolve) => (this.resume = resolve));
          if (this.isOver) return;
          this.take(bytes.subarray(from, from + MAX_PIECE_BYTES));
        }
      }
      this.checkLength();
      this.isComplete = true;
      if (this.early === null) {
        this.link.record(WireWord.End, this.id);
        this.finish();
      }
    } catch (error) {
      if (!this.isOver) this.failRead(error);
    }
  }

  private failRead(error: unknown): void {
    this.isOver = true;
    this.early = null;
    this.leave(error);
    this.owner.onReadError(error);
  }

  /** What fails for the reason that was given is no news. */
  private leave(reason: unknown): void {
    this.reader?.cancel(reason).catch((error) => {
      if (error !== reason && (error as Error | null)?.name !== "AbortError") this.owner.onCancelError(error);
    });
  }

  private checkLength(): void {
    if (this.left > 0) throw new TypeError(`the body ends ${this.left} bytes before its Content-Length`);
  }

  private count(bytes: number): void {
    if (this.left < 0) return;
    this.left -= bytes;
    if (this.left < 0) throw new TypeError("the body is longer than its Content-Length");
  }

  private take(bytes: Uint8Array): void {
    if (this.early === null) return this.send(bytes);
    this.early.push(bytes);
    this.earlyBytes += bytes.length;
    if (this.earlyBytes > EARLY_BYTES) this.beforeFlush();
  }

  private send(bytes: Uint8Array): void {
    const { length } = bytes;
    this.window.sent(length);
    if (this.link.body(this.id, bytes, this.isOwn)) onSentOn(length);
  }

  private finish(): void {
    this.isOver = true;
    this.owner.onSent();
  }
}

function bytesOf(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value === "string") return Buffer.from(value, "utf8");
  if (ArrayBuffer.isView(value)) return new Uint8Array(value.buffer as ArrayBuffer, value.byteOffset, value.byteLength);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  throw new TypeError("the stream of a body gives something that is neither bytes nor text");
}
