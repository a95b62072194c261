import { type Exchange, type Phase, type ResponseSink, Verdict } from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { ReplacingSink } from "../../message/replacing-sink.ts";
import { prefersHtml } from "../../proto/semantics/accept.ts";
import type { StatusPages } from "./status-pages.ts";

/**
 * `errors.intercept`: browsers get a page in place of what an origin says with an error. It goes around the cache, which keeps what
 * the origin said. docs/pages.md#errors-of-the-origin
 */
export class InterceptPhase implements Phase {
  readonly name = "errorPages";
  private readonly pages: readonly (StatusPages | null)[];

  /** @param pages by the routes' numbers; null if an origin's errors stay */
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

/** The page is sent with the head; what follows of the origin's body is dropped. */
class InterceptingSink extends ReplacingSink {
  private readonly pages: StatusPages;

  constructor(inner: ResponseSink, pages: StatusPages) {
    super(inner);
    this.pages = pages;
  }

  override head(ex: Exchange): void {
    const { response } = ex;
    const { status, fromUpstream } = response;
    const page = fromUpstream && status >= 400 ? this.pages.find(status) : null;
    if (page === null) return this.inner.head(ex);
    dropRepresentation(response.headers);
    for (const [name, value] of PAGE_FIELDS) response.headers.add(name, value);
    this.replaceBody(ex, Buffer.from(page.fill({ status, requestId: ex.pipeline.nameOf(ex) })));
  }
}

/** Takes out what is said of the content that is replaced. RFC 9110 §8 */
function dropRepresentation(headers: HeaderBlock): void {
  headers.removeWhere((_, i) => REPRESENTATION.has(headers.nameText(i).toLowerCase()));
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
