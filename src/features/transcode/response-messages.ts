import type { CodecSourceOf } from "./codec-source.ts";
import type { FailedBeside, LargeMessages, MessageOwner } from "./large-messages.ts";
import { MAX_STREAM_TURN_BYTES, MAX_STREAM_TURN_MESSAGES } from "./message-pump.ts";
import { LARGE_MESSAGE_BYTES } from "./message-sources.ts";

/** Who writes the messages of a response. */
export interface ResponseTaker {
  /** Whether nothing more can be written. */
  readonly isGone: boolean;
  /** Not asked once it is gone. */
  readonly messageOwner: MessageOwner;
  /** Writes a message that is not large. */
  writeMessage(message: Uint8Array): void;
  /** Writes the JSON of one that was. */
  writeJson(json: Uint8Array): void;
  /** A large message has no JSON. */
  onUnwritten(result: FailedBeside): void;
  /** The upstream should hold, since messages wait. */
  onBehind(): void;
  /** None waits any more. */
  onCaughtUp(): void;
}

/**
 * Has the messages of a stream of responses written in their order: large ones become JSON in another thread, and of the others a bounded number
 * a turn. What comes meanwhile waits; with the upstream held that is no more than came in one piece. docs/transcoder.md#large-messages
 */
export class ResponseMessages {
  /** Whether messages wait, or one is on its way. */
  isBehind = false;
  private readonly services: {
    readonly large: Pick<LargeMessages, "decode">;
    readonly defer: (resume: () => void) => void;
  };
  private readonly of: CodecSourceOf;
  private readonly taker: ResponseTaker;
  private waiting: Uint8Array[] = [];
  private turnBytes = 0;
  private turnMessages = 0;

  /** @param of the codec of the messages */
  constructor(services: ResponseMessages["services"], of: CodecSourceOf, taker: ResponseTaker) {
    this.services = services;
    this.of = of;
    this.taker = taker;
  }

  /** Takes the next message. */
  add(message: Uint8Array): void {
    if (this.isBehind) this.waiting.push(message);
    else this.take(message);
  }

  private take(message: Uint8Array): void {
    if (message.length > LARGE_MESSAGE_BYTES) return this.takeLarge(message);
    this.turnBytes += message.length;
    this.turnMessages++;
    this.taker.writeMessage(message);
    if (this.turnBytes <= MAX_STREAM_TURN_BYTES && this.turnMessages < MAX_STREAM_TURN_MESSAGES) return;
    this.hold();
    this.services.defer(() => this.catchUp());
  }

  private takeLarge(message: Uint8Array): void {
    this.hold();
    this.services.large.decode(this.taker.messageOwner, this.of, message, (result) => {
      if (this.taker.isGone) return;
      if (!result.ok) return this.taker.onUnwritten(result);
      this.taker.writeJson(result.bytes);
      this.catchUp();
    });
  }

  private hold(): void {
    this.isBehind = true;
    this.taker.onBehind();
  }

  private catchUp(): void {
    const { waiting, taker } = this;
    this.isBehind = false;
    this.turnBytes = 0;
    this.turnMessages = 0;
    let taken = 0;
    while (taken < waiting.length && !this.isBehind && !taker.isGone) this.take(waiting[taken++]!);
    // What has come meanwhile is behind what has waited.
    this.waiting = waiting.slice(taken);
    if (!this.isBehind && !taker.isGone) taker.onCaughtUp();
  }
}
