import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { streamsLines } from "../../message/line-stream.ts";
import { Framing, isRead } from "../../message/request-head.ts";
import { ChunkedMode } from "../../message/route.ts";

/** Refuses what a route does not take before one byte of the body is read. docs/bodies.md#limits */
export class BodyLimitPhase implements Phase {
  readonly name = "bodyLimit";
  readonly needsBody = true;
  private readonly readingLimit: number | null;

  /** @param readingLimit bytes for GET and HEAD, where the routes' limit is for requests that change something; 0 means none */
  constructor(readingLimit: number | null = null) {
    this.readingLimit = readingLimit;
  }

  run(ex: Exchange): Verdict {
    const route = ex.route!;
    const { request } = ex;
    const limit = this.limitOf(ex);
    ex.maxBodyBytes = limit;
    if (request.framing === Framing.Chunked) {
      // HTTP/2 has no chunked coding to reject: a body of unknown length is gathered like one to normalise.
      if (route.chunkedMode !== ChunkedMode.Reject || request.major > 1) return Verdict.Next;
      ex.sink.abort(ex, Fault.ChunkedDisabled);
      return Verdict.Done;
    }
    if (limit === 0 || request.contentLength <= limit) return Verdict.Next;
    ex.sink.abort(ex, Fault.BodyTooLarge);
    return Verdict.Done;
  }

  private limitOf(ex: Exchange): number {
    if (this.readingLimit !== null && isRead(ex.request.method)) return this.readingLimit;
    // Of a stream, the limit is that of one message, which its taker keeps.
    return streamsLines(ex) ? 0 : ex.route!.maxBodyBytes;
  }
}
