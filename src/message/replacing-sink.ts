import { Fault } from "../core/fault.ts";
import { type Exchange, ExchangeState } from "./exchange.ts";
import { PassingSink } from "./passing-sink.ts";
import { Framing } from "./request-head.ts";

/** Bytes of an origin's body that are read in vain to keep its connection, where a page takes the body's place. */
const MAX_DROPPED_BODY_BYTES = 65_536;

/**
 *   Passing ──replaceBody──▶ Dropping ──end, abort, or too much of a body──▶ Over
 *
 * Another body is sent with the head; what follows of the response's own is dropped, so that its origin's connection can be used again.
 */
const enum Stage {
  Passing = 0,
  Dropping,
  Over,
}

/** A sink that sends another body in the place of a response's. */
export abstract class ReplacingSink extends PassingSink {
  private stage: Stage = Stage.Passing;
  private dropped = 0;

  protected override get passesBody(): boolean {
    return this.stage === Stage.Passing;
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.stage === Stage.Passing) return this.inner.body(ex, bytes, from, to);
    if (this.stage === Stage.Dropping) {
      this.dropped += to - from;
      // What comes out of the cache costs no connection.
      if (this.dropped > MAX_DROPPED_BODY_BYTES && ex.attempt.target !== null) {
        ex.source.onCancelled(ex);
        this.finish(ex);
      }
    }
    return true;
  }

  override end(ex: Exchange): void {
    if (this.stage === Stage.Passing) this.inner.end(ex);
    else this.finish(ex);
  }

  override abort(ex: Exchange, fault: Fault): void {
    // What is sent is whole, however the response's own body ends.
    if (this.stage === Stage.Passing || fault === Fault.Cancelled) this.inner.abort(ex, fault);
    else this.finish(ex);
  }

  /**
   * Sends the head in `ex.response`, whose fields and status the caller has changed, with another body. How the response frames its own is
   * put back: who makes it, and a cache, go by it.
   */
  protected replaceBody(ex: Exchange, body: Uint8Array): void {
    const { response } = ex;
    const { framing, contentLength, lengthWithoutBody, withoutBody } = response;
    response.framing = withoutBody ? Framing.None : Framing.Length;
    response.contentLength = body.length;
    response.lengthWithoutBody = withoutBody;
    this.stage = Stage.Dropping;
    this.inner.head(ex);
    // A sink may have found that it cannot send the head, and be done with the exchange.
    if (ex.state !== ExchangeState.Replying) this.stage = Stage.Over;
    else if (!withoutBody && body.length > 0) this.inner.body(ex, body, 0, body.length);
    response.framing = framing;
    response.contentLength = contentLength;
    response.lengthWithoutBody = lengthWithoutBody;
  }

  private finish(ex: Exchange): void {
    if (this.stage === Stage.Over) return;
    this.stage = Stage.Over;
    ex.response.trailers = null;
    this.inner.end(ex);
  }
}
