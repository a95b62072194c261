import type { ReadJson } from "../../proto/grpc/json-text.ts";

/** Messages of a stream of requests, and their bytes, that are transcoded before other connections get their turn. */
export const MAX_STREAM_TURN_MESSAGES = 256;
export const MAX_STREAM_TURN_BYTES = 64 * 1024;

/** A JSON text of more than LARGE_MESSAGE_BYTES, which is not read yet. Its bytes stay unchanged until the source is asked again. */
export class LargeText {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** Where the messages of a stream of requests come from. */
export interface MessageSource {
  /**
   * The next message; null if there is none yet, or no more.
   * @throws BadInput where what came is none
   */
  next(): ReadJson | LargeText | null;
  /** Bytes that the last message took. */
  readonly lastBytes: number;
  /** Whether no more will come once `next` gives none. */
  readonly isOver: boolean;
  /** There was none, and more is wanted: the source calls `run` of its pump when there may be. */
  more(): void;
}

/** Where they go. */
export interface MessageTaker {
  /** @returns false when the pump should hold until `run` is called again */
  takeMessage(message: ReadJson): boolean;
  /** Takes a large one, and calls `release` of the pump when the next may come. */
  takeLarge(message: LargeText): void;
  /** All of them have come. */
  takeEnd(): void;
  /** What the source or the taker has thrown. */
  onPumpError(error: unknown): void;
}

/** Moves messages as they come and as they are taken, a bounded number at a time, so that no client holds the worker. */
export class MessagePump {
  private readonly source: MessageSource;
  private readonly taker: MessageTaker;
  private readonly defer: (resume: () => void) => void;
  private isRunning = false;
  private isDeferred = false;
  /** Whether a large message is on its way. */
  private isHeld = false;
  private isOver = false;

  /** @param defer calls back in a later turn of the event loop */
  constructor(source: MessageSource, taker: MessageTaker, defer: (resume: () => void) => void) {
    this.source = source;
    this.taker = taker;
    this.defer = defer;
  }

  /** There may be messages, or room for them. */
  run(): void {
    if (this.isRunning || this.isDeferred || this.isHeld || this.isOver) return;
    this.isRunning = true;
    let wantsMore = false;
    try {
      wantsMore = this.move();
    } catch (error) {
      this.isOver = true;
      this.taker.onPumpError(error);
    }
    this.isRunning = false;
    // The source may have more at hand, and call back at once.
    if (wantsMore && !this.isOver) this.source.more();
  }

  /** The large message has been taken. The caller runs the pump if there is room for more. */
  release(): void {
    this.isHeld = false;
  }

  /** Nothing more is wanted. */
  stop(): void {
    this.isOver = true;
  }

  /** @returns whether the source is empty and the taker is not full */
  private move(): boolean {
    let bytes = 0;
    for (let count = 0; !this.isOver; count++) {
      if (count === MAX_STREAM_TURN_MESSAGES || bytes > MAX_STREAM_TURN_BYTES) {
        this.goOnLater();
        return false;
      }
      const message = this.source.next();
      if (message === null) {
        if (!this.source.isOver) return true;
        this.isOver = true;
        this.taker.takeEnd();
        return false;
      }
      bytes += this.source.lastBytes;
      if (message instanceof LargeText) {
        this.isHeld = true;
        this.taker.takeLarge(message);
        return false;
      }
      if (!this.taker.takeMessage(message)) return false;
    }
    return false;
  }

  private goOnLater(): void {
    this.isDeferred = true;
    this.defer(() => {
      this.isDeferred = false;
      this.run();
    });
  }
}
