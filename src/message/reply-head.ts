import { EMPTY_BYTES } from "../core/ascii.ts";
import { MAX_REQUEST_ID_BYTES } from "../core/limits.ts";
import type { ExtraFields } from "./extra-fields.ts";
import { HeaderBlock } from "./header-block.ts";
import { Framing } from "./request-head.ts";

/** A reply's head: what a handler or an upstream says, before a protocol engine writes it. */
export class ReplyHead {
  status = 0;
  readonly headers: HeaderBlock = new HeaderBlock();
  /** How the length of the body is known: Length, Chunked (unknown in advance), None (no body follows). */
  framing: Framing = Framing.None;
  /** Body length in bytes where framing is Length. Kept for HEAD and 304, where no body follows. */
  contentLength = 0;
  /** Whether a Content-Length is written although no body follows (HEAD, 304 of an upstream that sent one). */
  lengthWithoutBody = false;
  /** Whether no body may follow whatever the fields say: an answer to HEAD, a 304. */
  withoutBody = false;
  /** Whether the connection must be closed after this reply. */
  close = false;
  /** The line `X-Request-Id: …` of a forwarded exchange, as bytes up to `requestIdEnd`; it goes both ways. */
  readonly requestIdLine: Buffer = newRequestIdLine();
  requestIdEnd = 0;
  /** Trailer fields that follow a body of unknown length; null where there are none. */
  trailers: HeaderBlock | null = null;
  /** Fields that head taps add to the reply, prebuilt ones included; null where there are none. */
  extra: ExtraFields | null = null;
  /** Whether an upstream made the reply; the gateway's own replies get `Server: edge`. */
  fromUpstream = false;

  /** The request id, as text; "" where none has been assigned. */
  requestId(): string {
    return this.requestIdEnd === 0 ? "" : this.requestIdLine.latin1Slice(REQUEST_ID_FROM, this.requestIdEnd - 2);
  }

  /** Adds prebuilt fields to whatever the reply will be. */
  addExtra(fields: ExtraFields): void {
    this.extra = this.extra === null ? fields : this.extra.with(fields);
  }

  /** Takes over what another head says of status, fields and body; what belongs to this exchange stays. */
  takeOver(other: ReplyHead): void {
    this.status = other.status;
    this.headers.copyFrom(other.headers);
    this.framing = other.framing;
    this.contentLength = other.contentLength;
    this.lengthWithoutBody = other.lengthWithoutBody;
    this.withoutBody = other.withoutBody;
    this.fromUpstream = other.fromUpstream;
    this.trailers = null;
  }

  /** Makes the head ready for the next reply. */
  reset(): void {
    this.status = 0;
    this.headers.reset(EMPTY_BYTES);
    this.requestIdEnd = 0;
    this.framing = Framing.None;
    this.contentLength = 0;
    this.lengthWithoutBody = false;
    this.withoutBody = false;
    this.close = false;
    this.trailers = null;
    this.extra = null;
    this.fromUpstream = false;
  }
}

const REQUEST_ID_NAME = "X-Request-Id: ";
/** Where the id begins in `requestIdLine`, whose name stands there from the start. */
export const REQUEST_ID_FROM: number = REQUEST_ID_NAME.length;

function newRequestIdLine(): Buffer {
  const line = Buffer.allocUnsafeSlow(MAX_REQUEST_ID_BYTES + 32);
  line.latin1Write(REQUEST_ID_NAME);
  return line;
}
