import { Fault } from "../../core/fault.ts";
import { MAX_DROPPED_BODY_BYTES } from "../../core/limits.ts";
import { type Exchange, ExchangeState, type Phase, Verdict } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { PassingSink } from "../../message/passing-sink.ts";
import type { ReplySink } from "../../message/ports.ts";
import { Framing } from "../../message/request-head.ts";
import { prefersHtml } from "../../proto/semantics/accept.ts";
import type { StatusPages } from "./status-pages.ts";

/**
 * `errors.intercept`: browsers get a page in place of what an origin says with an error. It goes around the cache, which keeps what
 * the origin said. docs/pages.md#errors-of-the-origin
 */
export class InterceptPhase implements Phase {
  readonly name = "errorPages";
  private readonly pages: readonly (StatusPages | null)[];

  /** @param pages by the routes' numbers; null where an origin's errors stay */
  constructor(pages: readonly (StatusPages | null)[]) {
    this.pages = pages;
  }

  run(ex: Exchange): Verdict {
    const pages = this.pages[ex.route!.index]!;
    if (pages !== null && !ex.request.upgrade && prefersHtml(ex.request.headers))
      ex.sink = new InterceptingSink(ex.sink, pages);
    return Verdict.Next;
  }
}

/**
 *   Passing ──head: an origin's error with a page──▶ Dropping ──end, abort, or too much of a body──▶ Over
 *
 * The page is sent with the head; what follows of the origin's body is dropped, so that its connection can be used again.
 */
const enum Stage {
  Passing = 0,
  Dropping,
  Over,
}

class InterceptingSink extends PassingSink {
  private readonly pages: StatusPages;
  private stage: Stage = Stage.Passing;
  private dropped = 0;

  constructor(inner: ReplySink, pages: StatusPages) {
    super(inner);
    this.pages = pages;
  }

  override head(ex: Exchange): void {
    const { status, fromUpstream } = ex.reply;
    const page = fromUpstream && status >= 400 ? this.pages.find(status) : null;
    if (page === null) this.inner.head(ex);
    else this.replace(ex, Buffer.from(page.fill({ status, requestId: ex.pipeline.nameOf(ex) })));
  }

  override body(ex: Exchange, bytes: Uint8Array, from: number, to: number): boolean {
    if (this.stage === Stage.Passing) return this.inner.body(ex, bytes, from, to);
    if (this.stage === Stage.Dropping) {
      this.dropped += to - from;
      // What comes out of the cache costs no connection.
      if (this.dropped > MAX_DROPPED_BODY_BYTES && ex.target !== null) {
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
    // The page is whole, however the origin's body ends.
    if (this.stage === Stage.Passing || fault === Fault.Cancelled) this.inner.abort(ex, fault);
    else this.finish(ex);
  }

  /** Sends the page below the origin's head. How the origin frames its body is put back: a cache goes by it. */
  private replace(ex: Exchange, page: Buffer): void {
    const { reply } = ex;
    const { framing, contentLength, lengthWithoutBody, withoutBody } = reply;
    dropRepresentation(reply.headers);
    for (const [name, value] of PAGE_FIELDS) reply.headers.add(name, value);
    reply.framing = withoutBody ? Framing.None : Framing.Length;
    reply.contentLength = page.length;
    reply.lengthWithoutBody = withoutBody;
    this.stage = Stage.Dropping;
    this.inner.head(ex);
    // A sink may have found that it cannot send the head, and be done with the exchange.
    if (ex.state !== ExchangeState.Replying) this.stage = Stage.Over;
    else if (!withoutBody) this.inner.body(ex, page, 0, page.length);
    reply.framing = framing;
    reply.contentLength = contentLength;
    reply.lengthWithoutBody = lengthWithoutBody;
  }

  private finish(ex: Exchange): void {
    if (this.stage === Stage.Over) return;
    this.stage = Stage.Over;
    ex.reply.trailers = null;
    this.inner.end(ex);
  }
}

/** Takes out what is said of the content that is replaced. RFC 9110 §8 */
function dropRepresentation(headers: HeaderBlock): void {
  for (let i = headers.count - 1; i >= 0; i--) {
    if (REPRESENTATION.has(headers.nameText(i).toLowerCase())) headers.removeAt(i);
  }
}

const REPRESENTATION: ReadonlySet<string> = new Set([
  "accept-ranges",
  "cache-control",
  "content-digest",
  "content-disposition",
  "content-encoding",
  "content-language",
  "content-length",
  "content-location",
  "content-md5",
  "content-range",
  "content-type",
  "digest",
  "etag",
  "expires",
  "last-modified",
  "pragma",
  "repr-digest",
  "trailer",
]);

const PAGE_FIELDS = [
  ["Content-Type", "text/html; charset=utf-8"],
  ["Cache-Control", "no-store"],
  ["Vary", "Accept"],
] as const;
