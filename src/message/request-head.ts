import { EMPTY_BYTES } from "../core/ascii.ts";
import { sliceText } from "../core/bytes.ts";
import { HeaderBlock } from "./header-block.ts";
import { Method } from "./method.ts";

/** How a message's body is delimited. RFC 9112 §6. */
export const enum Framing {
  None = 0,
  Length,
  Chunked,
  UntilClose,
}

/** What the bytes of a request target hold; the parser ors these together while it checks them. */
export const enum TargetFlag {
  /** Every byte that may stand in a target has this bit, so that 0 means refused. */
  Valid = 1,
  /** A percent sign, or a backslash, which some read as a slash: the path may have another reading than its bytes. */
  Percent = 2,
  Dot = 4,
  Slash = 8,
  Question = 16,
  Hash = 32,
  /** One of `$ < { ' " ( ; | & \` * ! +`: what expressions, markup, commands and SQL in a path cannot do without. */
  Mark = 64,
  /** Set when two slashes stand side by side in the path. */
  DoubleSlash = 128,
}

/**
 * A request's head as offsets into `bytes`. HTTP/1.1 parses it in place; the other engines write their heads into the
 * same form, so that everything above is one code path.
 */
export class RequestHead {
  bytes: Uint8Array = EMPTY_BYTES;
  readonly headers: HeaderBlock = new HeaderBlock();
  method: Method = Method.Other;
  methodFrom = 0;
  methodTo = 0;
  /** The raw target as it came, with query and fragment. */
  targetFrom = 0;
  targetTo = 0;
  /** The path within the target: behind the authority of an absolute-form target; empty means "/". */
  pathFrom = 0;
  pathTo = 0;
  /** Where path and query end: at the fragment or at the end of the target. */
  queryTo = 0;
  /** Authority of an absolute-form target; empty otherwise. */
  authorityFrom = 0;
  authorityTo = 0;
  /** TargetFlag bits of the whole target. */
  targetFlags = 0;
  /** Major version: 1, 2 or 3. */
  major = 1;
  /** Minor version: 0 or 1; a head of HTTP/2 or HTTP/3 is written as one of HTTP/1.1. */
  minor = 1;
  framing: Framing = Framing.None;
  /** Body length in bytes where framing is Length, else 0. */
  contentLength = 0;
  keepAlive = true;
  expectContinue = false;
  /** Whether the request asks to leave HTTP (Connection: upgrade with an Upgrade field). */
  upgrade = false;
  /** Whether it asks for HTTP/2, and is answered as if it did not. RFC 9110 §7.8. */
  ignoresUpgrade = false;
  /** Index of the Host field, or -1. */
  hostIndex = -1;
  /** Trailer fields of a chunked body that went on in chunks; null where there are none. */
  trailers: HeaderBlock | null = null;

  /** The raw target as text, one character a byte. */
  target(): string {
    return this.text(this.targetFrom, this.targetTo);
  }

  /** The raw target up to its query or fragment, as text: what a log may show. docs/security.md#logs-and-secrets */
  targetBeforeQuery(): string {
    return this.text(this.targetFrom, this.pathTo);
  }

  /** The raw path as text, without query and fragment; "/" where the target has none. */
  path(): string {
    return this.pathTo > this.pathFrom ? this.text(this.pathFrom, this.pathTo) : "/";
  }

  /** The method as it was written. */
  methodText(): string {
    return this.text(this.methodFrom, this.methodTo);
  }

  /** The authority that the request is for: that of the target, else Host, else "". */
  authority(): string {
    if (this.authorityTo > this.authorityFrom) return this.text(this.authorityFrom, this.authorityTo);
    return this.hostIndex < 0 ? "" : this.headers.valueText(this.hostIndex);
  }

  /** Whether the request has a body, be it of length 0 and chunked. */
  hasBody(): boolean {
    return this.framing === Framing.Chunked || this.contentLength > 0;
  }

  /** Makes the head ready for the next request in `bytes`. */
  reset(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.headers.reset(bytes);
    this.method = Method.Other;
    this.methodFrom = 0;
    this.methodTo = 0;
    this.targetFrom = 0;
    this.targetTo = 0;
    this.pathFrom = 0;
    this.pathTo = 0;
    this.queryTo = 0;
    this.authorityFrom = 0;
    this.authorityTo = 0;
    this.targetFlags = 0;
    this.major = 1;
    this.minor = 1;
    this.framing = Framing.None;
    this.contentLength = 0;
    this.keepAlive = true;
    this.expectContinue = false;
    this.upgrade = false;
    this.ignoresUpgrade = false;
    this.hostIndex = -1;
    this.trailers = null;
  }

  /** Text of the target's bytes, one character a byte. */
  text(from: number, to: number): string {
    return sliceText(this.bytes, from, to);
  }

  /** Takes over another head, by copying it: for an exchange that outlives the other. */
  copyFrom(other: RequestHead): void {
    const from = Math.min(other.methodFrom, other.targetFrom);
    const to = Math.max(other.methodTo, other.targetTo);
    this.bytes = Buffer.from(other.bytes.subarray(from, to));
    this.headers.copyFrom(other.headers);
    this.method = other.method;
    this.methodFrom = other.methodFrom - from;
    this.methodTo = other.methodTo - from;
    this.targetFrom = other.targetFrom - from;
    this.targetTo = other.targetTo - from;
    this.pathFrom = other.pathFrom - from;
    this.pathTo = other.pathTo - from;
    this.queryTo = other.queryTo - from;
    // A target without an authority has none that could be moved.
    this.authorityFrom = Math.max(0, other.authorityFrom - from);
    this.authorityTo = Math.max(0, other.authorityTo - from);
    this.targetFlags = other.targetFlags;
    this.minor = other.minor;
    this.framing = other.framing;
    this.contentLength = other.contentLength;
    this.keepAlive = other.keepAlive;
    this.expectContinue = other.expectContinue;
    this.upgrade = other.upgrade;
    this.ignoresUpgrade = other.ignoresUpgrade;
    this.hostIndex = other.hostIndex;
    this.trailers = null;
  }
}
