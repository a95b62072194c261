import type { Fault } from "../../../src/core/fault.ts";
import type { BodySink, Exchange, ResponseSource } from "../../../src/message/exchange.ts";
import { PrebuiltResponse } from "../../../src/message/prebuilt-response.ts";
import { Framing } from "../../../src/message/request-head.ts";
import type { Script } from "./client-session.ts";

/** Answers every request at once with its target. */
export const ECHO_TARGET: Script = (ex) => ex.sink.fixed(ex, textReply(ex.request.target()));

/** A 200 with this body. */
export function textReply(body: string): PrebuiltResponse {
  return new PrebuiltResponse(200, [], body);
}

/** Keeps exchanges, so that a test answers them when it likes. */
export class LateAnswers {
  readonly waiting: Exchange[] = [];
  readonly script: Script = (ex) => void this.waiting.push(ex);

  /** Answers the oldest one with its target. */
  answer(): void {
    const ex = this.take();
    ex.sink.fixed(ex, textReply(ex.request.target()));
  }

  /** The oldest one; the caller answers it. */
  take(): Exchange {
    const ex = this.waiting.shift();
    if (ex === undefined) throw new Error("no request is waiting");
    return ex;
  }
}

/** Takes a request's body and writes down what happens to it and to the exchange. */
export class BodyRecorder implements BodySink, ResponseSource {
  readonly pieces: string[] = [];
  /** `end`, `fault N`, `cancelled`, `writable`, in order. */
  readonly events: string[] = [];
  /** Called after every piece. */
  afterPiece: (ex: Exchange) => void = () => {};
  /** Called when the body is complete. */
  whenDone: (ex: Exchange) => void = () => {};

  /** Takes the body of every request and asks for it. */
  readonly script: Script = (ex) => {
    ex.body = this;
    ex.source = this;
    ex.sink.wantBody(ex);
  };

  get text(): string {
    return this.pieces.join("");
  }

  onBody(ex: Exchange, bytes: Uint8Array, from: number, to: number): void {
    this.pieces.push(Buffer.from(bytes.subarray(from, to)).toString("latin1"));
    this.afterPiece(ex);
  }

  onBodyEnd(ex: Exchange): void {
    this.events.push("end");
    this.whenDone(ex);
  }

  onBodyFault(_ex: Exchange, fault: Fault): void {
    this.events.push(`fault ${fault}`);
  }

  onWritable(): void {
    this.events.push("writable");
  }

  onCancelled(): void {
    this.events.push("cancelled");
  }
}

/** Writes the head of a 200 with a body of this length; -1 for a length that is not known. */
export function beginReply(ex: Exchange, length: number): void {
  ex.response.status = 200;
  ex.response.framing = length < 0 ? Framing.Chunked : Framing.Length;
  ex.response.contentLength = Math.max(0, length);
  ex.response.headers.resetOwn();
  ex.sink.head(ex);
}

/** Writes body bytes. @returns whether the client takes more */
export function writeReply(ex: Exchange, text: string): boolean {
  const bytes = Buffer.from(text, "latin1");
  return ex.sink.body(ex, bytes, 0, bytes.length);
}
