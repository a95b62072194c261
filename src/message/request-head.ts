import { EMPTY_BYTES, equalsBytes, latin1, sliceText } from "../core/bytes.ts";
import type { ClientPeer } from "./client-peer.ts";
import type { ExtraFields } from "./extra-fields.ts";
import { HeaderBlock, HeaderId } from "./header-block.ts";

/** Characters of a client's X-Request-Id that are kept; a longer one is replaced. */
export const MAX_REQUEST_ID_BYTES = 128;

/** How a message's body is delimited. RFC 9112 §6. */
export const enum Framing {
  None = 0,
  Length,
  Chunked,
  UntilClose,
}

/** Kinds of bytes in a request target; the parser ors these together while it checks them. */
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

/** The flags of a target that no parser has looked at: anything may be in it. */
const ANY_TARGET = 0xff;

/** Who sends a request. */
export interface Sender {
  /** The client's address, without a port. */
  readonly clientIp: string;
  /** The country that it is in, two capital letters; "" if that is not known. */
  readonly country: string;
  /** The agent that has signed the request; "" without one. */
  readonly agentName: string;
  /** The canonical, decoded path that routing uses, where it differs from the raw one; "" otherwise. */
  readonly canonicalPath: string;
  /** Whether the connection comes from a trusted proxy. */
  readonly fromTrustedProxy: boolean;
  /** The scheme that the client used. */
  readonly scheme: "https" | "http";
  /** The name of the listener that it came by; "" for none. */
  readonly listenerName: string;
  /** Who is at the other end of its connection. */
  readonly client?: ClientPeer;
}

const NO_SENDER: Sender = {
  clientIp: "",
  country: "",
  agentName: "",
  canonicalPath: "",
  fromTrustedProxy: false,
  scheme: "http",
  listenerName: "",
};

/** A step that comes back to no number it has met: its multiples, without their whole parts, fill 0 to 1 evenly. */
const GOLDEN = (Math.sqrt(5) - 1) / 2;
let lastDraw = Math.random();

/**
 * A request's head as offsets into `bytes`. HTTP/1.1 parses it in place; the other engines write their heads into the
 * same form, so that everything above is one code path.
 */
export class RequestHead {
  /** Whom the routes ask that choose by the client: the exchange, if the head is that of one. */
  readonly sender: Sender;
  bytes: Uint8Array = EMPTY_BYTES;
  readonly headers: HeaderBlock = new HeaderBlock();
  method: Method = Method.Other;
  methodFrom = 0;
  methodTo = 0;
  /** The raw target as it came, with query and fragment. */
  targetFrom = 0;
  targetTo = 0;
  /** The path within the target: after the authority of an absolute-form target; empty means "/". */
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
  /** Trailer fields of a chunked body that went on in chunks; null if there are none. */
  trailers: HeaderBlock | null = null;
  private ownTrailers: HeaderBlock | null = null;
  /** See `draw`; -1 until then. */
  private drawn = -1;

  /** A number of the request's own, 0 to 1, by which routes take a share of all requests: those of many requests are spread evenly. */
  draw(): number {
    if (this.drawn < 0) {
      lastDraw = (lastDraw + GOLDEN) % 1;
      this.drawn = lastDraw;
    }
    return this.drawn;
  }

  /** An empty block for trailers, one and the same for each message: they are the message's once they are at `trailers`. */
  trailerBlock(): HeaderBlock {
    this.ownTrailers ??= new HeaderBlock();
    this.ownTrailers.resetOwn();
    return this.ownTrailers;
  }

  constructor(sender: Sender = NO_SENDER) {
    this.sender = sender;
  }

  /** The raw target as text, one character a byte. */
  target(): string {
    return this.text(this.targetFrom, this.targetTo);
  }

  /** The raw target up to its query or fragment, as text: logs may show it. docs/security.md#logs-and-secrets */
  targetBeforeQuery(): string {
    return this.text(this.targetFrom, this.pathTo);
  }

  /** The raw path as text, without query and fragment; "/" for a target without a path. */
  path(): string {
    return this.pathTo > this.pathFrom ? this.text(this.pathFrom, this.pathTo) : "/";
  }

  /** The method as it was written. */
  methodText(): string {
    return this.text(this.methodFrom, this.methodTo);
  }

  /** The version of HTTP that the request came by, such as `HTTP/1.1`. */
  protocol(): string {
    return this.major === 1 ? `HTTP/1.${this.minor}` : `HTTP/${this.major}.0`;
  }

  /** The authority that the request is for: that of the target, else Host, else "". */
  authority(): string {
    if (this.authorityTo > this.authorityFrom) return this.text(this.authorityFrom, this.authorityTo);
    return this.headers.valueOf(HeaderId.Host);
  }

  /** Index of the Host field, or -1. It is searched for each time, since it moves when fields before it go. */
  get hostIndex(): number {
    return this.headers.find(HeaderId.Host);
  }

  /** Whether the request has a body; a chunked one of length 0 counts. */
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
    this.trailers = null;
    this.drawn = -1;
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
    this.major = other.major;
    this.minor = other.minor;
    this.framing = other.framing;
    this.contentLength = other.contentLength;
    this.keepAlive = other.keepAlive;
    this.expectContinue = other.expectContinue;
    this.upgrade = other.upgrade;
    this.ignoresUpgrade = other.ignoresUpgrade;
    this.trailers = null;
    this.drawn = other.drawn;
  }

  /**
   * Puts another method and target in place of those of the client; the authority is then that of Host.
   * @param path without a query @param query with its question mark, or ""; both ASCII
   */
  retarget(method: string, path: string, query: string): void {
    this.bytes = Buffer.from(`${method} ${path}${query}`, "latin1");
    this.targetFlags = ANY_TARGET;
    this.method = methodFromName(method);
    this.methodFrom = 0;
    this.methodTo = method.length;
    this.targetFrom = method.length + 1;
    this.pathFrom = this.targetFrom;
    this.pathTo = this.targetFrom + path.length;
    this.queryTo = this.bytes.length;
    this.targetTo = this.bytes.length;
    this.authorityFrom = 0;
    this.authorityTo = 0;
  }
}

/** A response's head from a handler or an upstream, before a protocol engine writes it. */
export class ResponseHead {
  status = 0;
  /** The phrase that an origin has given a status, and that status: another one has its own. See `reasonFor`. */
  private originReason = "";
  private reasonStatus = 0;
  readonly headers: HeaderBlock = new HeaderBlock();
  /** How the length of the body is known: Length, Chunked (unknown in advance), None (no body follows). */
  framing: Framing = Framing.None;
  /** Body length in bytes where framing is Length. Kept for HEAD and 304, if no body follows. */
  contentLength = 0;
  /** Whether a Content-Length is written although no body follows (HEAD, 304 of an upstream that sent one). */
  lengthWithoutBody = false;
  /** Whether no body may follow whatever the fields say: a response to HEAD, a 304. */
  withoutBody = false;
  /** Whether the connection must be closed after this response. */
  close = false;
  /** The line `X-Request-Id: …` of a forwarded exchange, as bytes up to `requestIdEnd`; it goes both ways. */
  readonly requestIdLine: Buffer = newRequestIdLine();
  requestIdEnd = 0;
  /** Up to here it goes to the client: the same, or 0 if the route keeps it from its responses. */
  shownIdEnd = 0;
  /** Trailer fields that follow a body of unknown length; null if there are none. */
  trailers: HeaderBlock | null = null;
  private ownTrailers: HeaderBlock | null = null;
  /** Fields that head taps add to the response, prebuilt ones included; null if there are none. */
  extra: ExtraFields | null = null;
  /** Whether an upstream made the response; the gateway's own responses get `Server: edge`. */
  fromUpstream = false;

  /**
   * Settles that no body follows the response to HEAD, 204 and 304 (RFC 9112 §6.3), even if a handler gives one: clients would read it as
   * the next response. THE place for all protocols.
   * @param method the client's
   * @returns whether a body follows
   */
  settleBody(method: Method): boolean {
    if (this.framing === Framing.None) return false;
    if (method !== Method.Head && this.status !== 204 && this.status !== 304) return true;
    this.withoutBody = true;
    this.lengthWithoutBody = this.framing === Framing.Length && this.status !== 204;
    this.framing = Framing.None;
    return false;
  }

  /** The phrase that an origin has given a status, one character a byte; "" if that has its own. */
  reasonFor(status: number): string {
    return this.originReason !== "" && this.reasonStatus === status ? this.originReason : "";
  }

  /** Takes the phrase of an origin. @param phrase "" for the status's own */
  giveReason(status: number, phrase: string): void {
    this.originReason = phrase;
    this.reasonStatus = status;
  }

  /** The request id, as text; "" if none has been assigned. */
  requestId(): string {
    return this.requestIdEnd === 0 ? "" : this.requestIdLine.latin1Slice(REQUEST_ID_FROM, this.requestIdEnd - 2);
  }

  /** An empty block for trailers, one and the same for each message: they are the message's once they are at `trailers`. */
  trailerBlock(): HeaderBlock {
    this.ownTrailers ??= new HeaderBlock();
    this.ownTrailers.resetOwn();
    return this.ownTrailers;
  }

  /** Adds prebuilt fields to whatever the response will be. */
  addExtra(fields: ExtraFields): void {
    this.extra = this.extra === null ? fields : this.extra.with(fields);
  }

  /** Takes over what another head says of status, fields and body; what belongs to this exchange stays. */
  takeOver(other: ResponseHead): void {
    this.status = other.status;
    this.giveReason(other.status, other.reasonFor(other.status));
    this.headers.copyFrom(other.headers);
    this.framing = other.framing;
    this.contentLength = other.contentLength;
    this.lengthWithoutBody = other.lengthWithoutBody;
    this.withoutBody = other.withoutBody;
    this.fromUpstream = other.fromUpstream;
    this.trailers = null;
  }

  /** Makes the head ready for the next response. */
  reset(): void {
    this.status = 0;
    this.giveReason(0, "");
    this.headers.reset(EMPTY_BYTES);
    this.requestIdEnd = 0;
    this.shownIdEnd = 0;
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
/** Offset of the id in `requestIdLine`, whose name is there from the start. */
export const REQUEST_ID_FROM: number = REQUEST_ID_NAME.length;

function newRequestIdLine(): Buffer {
  const line = Buffer.allocUnsafeSlow(MAX_REQUEST_ID_BYTES + 32);
  line.latin1Write(REQUEST_ID_NAME);
  return line;
}

/** Request methods as small integers. Methods are case-sensitive (RFC 9110 §9.1); unknown ones are Other. */
export const enum Method {
  Other = 0,
  Get,
  Head,
  Post,
  Put,
  Delete,
  Patch,
  Options,
  Connect,
  Trace,
}

/** Number of members of Method, for tables with one row a method. */
export const METHOD_COUNT = 10;

const NAMES: readonly string[] = [
  "OTHER",
  "GET",
  "HEAD",
  "POST",
  "PUT",
  "DELETE",
  "PATCH",
  "OPTIONS",
  "CONNECT",
  "TRACE",
];
const BYTES: readonly Uint8Array[] = NAMES.map(latin1);

/** The name of a known method; `OTHER` for every unknown one, so that labels stay bounded. */
export function methodName(method: Method): string {
  return NAMES[method]!;
}

/** The method that `bytes[from, to)` names. */
export function methodOf(bytes: Uint8Array, from: number, to: number): Method {
  if (to - from === 3 && bytes[from] === 0x47 && bytes[from + 1] === 0x45 && bytes[from + 2] === 0x54)
    return Method.Get;
  for (let i = 1; i < METHOD_COUNT; i++) {
    if (equalsBytes(bytes, from, to, BYTES[i]!)) return i;
  }
  return Method.Other;
}

/** The method with this exact name, or Other. */
export function methodFromName(name: string): Method {
  const bytes = latin1(name);
  return methodOf(bytes, 0, bytes.length);
}

/** Whether repeating the request has the effect of making it once (RFC 9110 §9.2.2). */
export function isIdempotent(method: Method): boolean {
  return method !== Method.Other && method !== Method.Post && method !== Method.Patch && method !== Method.Connect;
}

/** Whether a method asks for a representation and nothing else: GET or HEAD. */
export function isRead(method: Method): boolean {
  return method === Method.Get || method === Method.Head;
}
