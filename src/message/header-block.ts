import { copyBytes, EMPTY_BYTES, equalsLower, latin1, sliceText } from "../core/bytes.ts";
import { MAX_FIELDS } from "../core/limits.ts";

/** Initial room for fields: as many as usual settings allow, and the gateway's own. */
const CAPACITY = MAX_FIELDS + 32;
const OWN_BYTES = 1024;
/** Room for fields beside parsed ones in a reused buffer. */
const ADDED_BYTES = 256;
/** Bytes of a line beside name and value: colon, space, CR and LF. */
const LINE_EXTRA = 4;
/** A reused block drops buffers larger than this. */
const KEPT_OWN_BYTES = 8192;
/** A reused block drops room for more fields than this, too. */
const KEPT_FIELDS = 1024;

/** Field names for one combined lookup. */
export class HeaderIdSet {
  readonly bits0: number;
  readonly bits1: number;
  readonly bits2: number;

  constructor(ids: readonly HeaderId[]) {
    const bits = (word: number): number =>
      ids.filter((id) => id >>> 5 === word).reduce((sum, id) => sum | (1 << (id & 31)), 0);
    this.bits0 = bits(0);
    this.bits1 = bits(1);
    this.bits2 = bits(2);
  }
}

/**
 * Header fields as offsets into bytes owned elsewhere (a parsed head), or into own bytes (a head being made).
 * `spans` holds four numbers a field: name from, name to, value from, value to; no one else sees them, since methods that say
 * one of them cost nothing once they are compiled into their callers. Values carry no outer whitespace.
 * What takes fields out moves the others: an index holds until then, and what changes a field finds it by itself, so that none is
 * written by an index from before. `tests/tidy/header-indexes.test.ts` looks that none is kept.
 */
export class HeaderBlock {
  bytes: Uint8Array = EMPTY_BYTES;
  count = 0;
  /** Bytes of all fields as lines at most: a field that was removed may still count. */
  lineBytes = 0;
  /** Which ids stand in the block, one bit each: most questions for a field are answered with no. */
  private present0 = 0;
  private present1 = 0;
  private present2 = 0;
  private spans: Int32Array = new Int32Array(CAPACITY * 4);
  ids: Uint8Array = new Uint8Array(CAPACITY);
  /** Where own bytes end, when this block is being made; -1 for a parsed one. */
  private end = -1;
  private own: Buffer | null = null;

  /** Forgets all fields; offsets will be into `bytes`. */
  reset(bytes: Uint8Array): void {
    this.bytes = bytes;
    this.forgetFields();
    this.end = -1;
    if (this.own !== null && this.own.length > KEPT_OWN_BYTES) this.own = null;
    if (this.ids.length > KEPT_FIELDS) this.resize(CAPACITY);
  }

  /** Forgets all fields and makes ready for `add`. */
  resetOwn(): void {
    this.own ??= Buffer.allocUnsafe(OWN_BYTES);
    this.bytes = this.own;
    this.forgetFields();
    this.end = 0;
  }

  /**
   * Forgets all fields and gives room for bytes that the caller writes from offset 0 on and describes by `push`; `add` goes
   * after them.
   */
  lend(length: number): Buffer {
    this.resetOwn();
    if (length > this.own!.length) this.own = Buffer.allocUnsafe(length + OWN_BYTES);
    this.bytes = this.own!;
    this.end = length;
    return this.own!;
  }

  /** Takes over the fields of another block, by copying them; their identities stay, those of hop-by-hop fields too. */
  copyFrom(other: HeaderBlock): void {
    this.resetOwn();
    for (let i = 0; i < other.count; i++) {
      this.addField(other, i);
      if (other.ids[i] === this.ids[i]) continue;
      this.count--;
      this.push(other.ids[i]!, this.nameFrom(i), this.nameTo(i), this.valueFrom(i), this.valueTo(i));
    }
  }

  /** Copies the fields out of the parsed bytes, and no longer keeps their buffer. */
  moveOut(): void {
    if (this.end < 0) this.takeOwnership();
  }

  /** Records a parsed field. The caller has checked that there are not too many. */
  push(id: HeaderId, nameFrom: number, nameTo: number, valueFrom: number, valueTo: number): void {
    const at = this.count * 4;
    if (at === this.spans.length) this.resize(this.count * 2);
    this.spans[at] = nameFrom;
    this.spans[at + 1] = nameTo;
    this.spans[at + 2] = valueFrom;
    this.spans[at + 3] = valueTo;
    this.ids[this.count++] = id;
    this.lineBytes += nameTo - nameFrom + valueTo - valueFrom + LINE_EXTRA;
    if (id < 32) this.present0 |= 1 << id;
    else if (id < 64) this.present1 |= 1 << (id - 32);
    else this.present2 |= 1 << (id - 64);
  }

  /** Appends a field of our own. Name and value hold no CR, LF or NUL and only characters below 0x100. */
  add(name: string, value: string): void {
    if (this.end < 0) this.takeOwnership();
    const need = this.end + name.length + value.length;
    if (need > this.own!.length) this.grow(need);
    const own = this.own!;
    const nameFrom = this.end;
    const valueFrom = nameFrom + own.latin1Write(name, nameFrom, name.length);
    this.end = valueFrom + own.latin1Write(value, valueFrom, value.length);
    this.push(headerIdFromName(name), nameFrom, valueFrom, valueFrom, this.end);
  }

  /** Appends a field whose parts stand in other bytes, by copying them. */
  addBytes(bytes: Uint8Array, nameFrom: number, nameTo: number, valueFrom: number, valueTo: number): void {
    if (this.end < 0) this.takeOwnership();
    const need = this.end + (nameTo - nameFrom) + (valueTo - valueFrom);
    if (need > this.own!.length) this.grow(need);
    const own = this.own!;
    const from = this.end;
    const middle = copyBytes(own, from, bytes, nameFrom, nameTo);
    this.end = copyBytes(own, middle, bytes, valueFrom, valueTo);
    this.push(headerIdOf(own, from, middle), from, middle, middle, this.end);
  }

  /** Appends a field of another block, by copying it. */
  addField(other: HeaderBlock, index: number): void {
    this.addBytes(
      other.bytes,
      other.nameFrom(index),
      other.nameTo(index),
      other.valueFrom(index),
      other.valueTo(index),
    );
  }

  /**
   * Gives the first field with this id another value, and takes the others with it out; if there is none, nothing is done.
   * @param value holds no CR, LF or NUL and only characters below 0x100
   */
  setValueOf(id: HeaderId, value: string): void {
    const first = this.find(id);
    if (first < 0) return;
    this.setValue(first, value);
    if (this.find(id, first + 1) >= 0) this.removeWhere((_, index) => index > first && this.ids[index] === id);
  }

  /**
   * Gives the fields with this id other values.
   * @param next the new value for a value, the same for no change; null takes the field out
   */
  rewriteAll(id: HeaderId, next: (value: string) => string | null): void {
    if (this.find(id) >= 0) this.rewriteWhere((index) => this.ids[index] === id, next);
  }

  /** The same for the fields with this name that have no id of their own. @param lower in lower case */
  rewriteNamed(lower: Uint8Array, next: (value: string) => string | null): void {
    if (this.findNamed(lower) < 0) return;
    this.rewriteWhere((index) => this.ids[index] === HeaderId.Other && this.isNamed(index, lower), next);
  }

  private rewriteWhere(isMeant: (index: number) => boolean, next: (value: string) => string | null): void {
    this.removeWhere((_, index) => {
      if (!isMeant(index)) return false;
      const value = this.valueText(index);
      const changed = next(value);
      if (changed !== null && changed !== value) this.setValue(index, changed);
      return changed === null;
    });
  }

  private setValue(index: number, value: string): void {
    if (this.end < 0) this.takeOwnership();
    const need = this.end + value.length;
    if (need > this.own!.length) this.grow(need);
    const from = this.end;
    this.end += this.own!.latin1Write(value, from, value.length);
    this.spans[index * 4 + 2] = from;
    this.spans[index * 4 + 3] = this.end;
    // The old value still counts: see `lineBytes`.
    this.lineBytes += value.length;
  }

  /** Takes all fields with this id out, in one pass. */
  removeAll(id: HeaderId): void {
    if (this.find(id) >= 0) this.removeWhere((_, index) => this.ids[index] === id);
  }

  /**
   * Takes fields out, in one pass and in their order; those after them move up.
   * @param isGone runs once for each field, whose index holds during that call
   */
  removeWhere(isGone: (headers: HeaderBlock, index: number) => boolean): void {
    const { ids, spans } = this;
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      if (isGone(this, i)) continue;
      if (kept < i) {
        ids[kept] = ids[i]!;
        spans.copyWithin(kept * 4, i * 4, i * 4 + 4);
      }
      kept++;
    }
    this.count = kept;
  }

  /** Index of the first field with this id at or after `from`, or -1. */
  find(id: HeaderId, from = 0): number {
    const present = id < 32 ? this.present0 : id < 64 ? this.present1 : this.present2;
    if ((present & (1 << (id & 31))) === 0) return -1;
    for (let i = from; i < this.count; i++) {
      if (this.ids[i] === id) return i;
    }
    return -1;
  }

  /** Whether any of these fields may stand in the block: false is certain. */
  mayHave(ids: HeaderIdSet): boolean {
    return ((this.present0 & ids.bits0) | (this.present1 & ids.bits1) | (this.present2 & ids.bits2)) !== 0;
  }

  /** Index of the first field at or after `from` that has no id of its own and this name, or -1. @param lower in lower case */
  findNamed(lower: Uint8Array, from = 0): number {
    let index = this.find(HeaderId.Other, from);
    while (index >= 0 && !this.isNamed(index, lower)) index = this.find(HeaderId.Other, index + 1);
    return index;
  }

  /** Offset of the name of field `index` in `bytes`. */
  nameFrom(index: number): number {
    return this.spans[index * 4]!;
  }

  nameTo(index: number): number {
    return this.spans[index * 4 + 1]!;
  }

  /** Offset of the value of field `index` in `bytes`. */
  valueFrom(index: number): number {
    return this.spans[index * 4 + 2]!;
  }

  valueTo(index: number): number {
    return this.spans[index * 4 + 3]!;
  }

  /** Shortens the value of field `index` in place, after the caller has taken out its end. */
  endValue(index: number, to: number): void {
    this.spans[index * 4 + 3] = to;
  }

  nameLength(index: number): number {
    return this.nameTo(index) - this.nameFrom(index);
  }

  valueLength(index: number): number {
    return this.valueTo(index) - this.valueFrom(index);
  }

  /** Whether the name of field `index` is `lower`, without regard to case. */
  isNamed(index: number, lower: Uint8Array): boolean {
    return equalsLower(this.bytes, this.nameFrom(index), this.nameTo(index), lower);
  }

  /** Whether the value of field `index` is `lower`, without regard to case. */
  valueEquals(index: number, lower: Uint8Array): boolean {
    return equalsLower(this.bytes, this.valueFrom(index), this.valueTo(index), lower);
  }

  /** Copies the name of field `index`. @returns the offset after it */
  copyName(index: number, out: Buffer, at: number): number {
    return copyBytes(out, at, this.bytes, this.nameFrom(index), this.nameTo(index));
  }

  /** Copies the value of field `index`. @returns the offset after it */
  copyValue(index: number, out: Buffer, at: number): number {
    return copyBytes(out, at, this.bytes, this.valueFrom(index), this.valueTo(index));
  }

  /** Name of field `index` as it was written: a view, which holds as long as the block's bytes. */
  nameBytes(index: number): Uint8Array {
    return this.bytes.subarray(this.nameFrom(index), this.nameTo(index));
  }

  /** Value of field `index`: a view, which holds as long as the block's bytes. */
  valueBytes(index: number): Uint8Array {
    return this.bytes.subarray(this.valueFrom(index), this.valueTo(index));
  }

  /** Name of field `index` as it was written. */
  nameText(index: number): string {
    return sliceText(this.bytes, this.nameFrom(index), this.nameTo(index));
  }

  /** Value of field `index`, one character a byte. */
  valueText(index: number): string {
    return sliceText(this.bytes, this.valueFrom(index), this.valueTo(index));
  }

  /** Value of the first field with this id, or "" when there is none. */
  valueOf(id: HeaderId): string {
    const index = this.find(id);
    return index < 0 ? "" : this.valueText(index);
  }

  private forgetFields(): void {
    this.count = 0;
    this.lineBytes = 0;
    this.present0 = 0;
    this.present1 = 0;
    this.present2 = 0;
  }

  private resize(fields: number): void {
    const { spans, ids } = this;
    this.spans = new Int32Array(fields * 4);
    this.ids = new Uint8Array(fields);
    this.spans.set(spans.subarray(0, this.count * 4));
    this.ids.set(ids.subarray(0, this.count));
  }

  /** Copies parsed bytes into own ones, so that fields can be added after them; offsets stay as they are. */
  private takeOwnership(): void {
    const length = this.count === 0 ? 0 : this.lastByte();
    const own =
      this.own !== null && this.own.length >= length + ADDED_BYTES ? this.own : Buffer.allocUnsafe(length + OWN_BYTES);
    copyBytes(own, 0, this.bytes, 0, length);
    this.own = own;
    this.bytes = own;
    this.end = length;
  }

  private lastByte(): number {
    let last = 0;
    for (let i = 0; i < this.count * 4; i++) last = Math.max(last, this.spans[i]!);
    return last;
  }

  private grow(need: number): void {
    const own = Buffer.allocUnsafe(need * 2);
    own.set(this.own!.subarray(0, this.end));
    this.own = own;
    this.bytes = own;
  }
}

/** Known header fields as small integers; 0 is every other field. */
export const enum HeaderId {
  Other = 0,
  Host,
  Connection,
  ContentLength,
  TransferEncoding,
  ContentType,
  ContentEncoding,
  ContentRange,
  Expect,
  Upgrade,
  KeepAlive,
  ProxyConnection,
  ProxyAuthenticate,
  ProxyAuthorization,
  Te,
  Trailer,
  Trailers,
  XForwardedFor,
  XForwardedProto,
  XForwardedHost,
  XRealIp,
  XRequestId,
  Via,
  Date,
  Server,
  Accept,
  AcceptEncoding,
  UserAgent,
  Cookie,
  SetCookie,
  SetCookie2,
  Authorization,
  CacheControl,
  Pragma,
  Age,
  Expires,
  Vary,
  ETag,
  LastModified,
  IfMatch,
  IfNoneMatch,
  IfModifiedSince,
  IfUnmodifiedSince,
  IfRange,
  Range,
  Origin,
  Referer,
  Location,
  XAccelBuffering,
  XForwardedClientCert,
  Traceparent,
  Http2Settings,
  AltSvc,
  XContentTypeOptions,
  XFrameOptions,
  ReferrerPolicy,
  StrictTransportSecurity,
  AccessControlRequestMethod,
  AccessControlAllowOrigin,
  AccessControlAllowCredentials,
  AccessControlAllowMethods,
  AccessControlAllowHeaders,
  AccessControlExposeHeaders,
  AccessControlMaxAge,
  XCache,
  CacheStatus,
  ContentLocation,
  CdnCacheControl,
  CacheTag,
  SurrogateKey,
  /** A field that this message's own Connection field names: hop-by-hop, never forwarded (RFC 9110 §7.6.1). */
  NamedByConnection,
}

/** The usual spelling of each field: a member without one does not compile. */
const SPELLINGS: Readonly<Record<Exclude<HeaderId, HeaderId.NamedByConnection>, string>> = {
  [HeaderId.Other]: "",
  [HeaderId.Host]: "Host",
  [HeaderId.Connection]: "Connection",
  [HeaderId.ContentLength]: "Content-Length",
  [HeaderId.TransferEncoding]: "Transfer-Encoding",
  [HeaderId.ContentType]: "Content-Type",
  [HeaderId.ContentEncoding]: "Content-Encoding",
  [HeaderId.ContentRange]: "Content-Range",
  [HeaderId.Expect]: "Expect",
  [HeaderId.Upgrade]: "Upgrade",
  [HeaderId.KeepAlive]: "Keep-Alive",
  [HeaderId.ProxyConnection]: "Proxy-Connection",
  [HeaderId.ProxyAuthenticate]: "Proxy-Authenticate",
  [HeaderId.ProxyAuthorization]: "Proxy-Authorization",
  [HeaderId.Te]: "TE",
  [HeaderId.Trailer]: "Trailer",
  [HeaderId.Trailers]: "Trailers",
  [HeaderId.XForwardedFor]: "X-Forwarded-For",
  [HeaderId.XForwardedProto]: "X-Forwarded-Proto",
  [HeaderId.XForwardedHost]: "X-Forwarded-Host",
  [HeaderId.XRealIp]: "X-Real-IP",
  [HeaderId.XRequestId]: "X-Request-Id",
  [HeaderId.Via]: "Via",
  [HeaderId.Date]: "Date",
  [HeaderId.Server]: "Server",
  [HeaderId.Accept]: "Accept",
  [HeaderId.AcceptEncoding]: "Accept-Encoding",
  [HeaderId.UserAgent]: "User-Agent",
  [HeaderId.Cookie]: "Cookie",
  [HeaderId.SetCookie]: "Set-Cookie",
  [HeaderId.SetCookie2]: "Set-Cookie2",
  [HeaderId.Authorization]: "Authorization",
  [HeaderId.CacheControl]: "Cache-Control",
  [HeaderId.Pragma]: "Pragma",
  [HeaderId.Age]: "Age",
  [HeaderId.Expires]: "Expires",
  [HeaderId.Vary]: "Vary",
  [HeaderId.ETag]: "ETag",
  [HeaderId.LastModified]: "Last-Modified",
  [HeaderId.IfMatch]: "If-Match",
  [HeaderId.IfNoneMatch]: "If-None-Match",
  [HeaderId.IfModifiedSince]: "If-Modified-Since",
  [HeaderId.IfUnmodifiedSince]: "If-Unmodified-Since",
  [HeaderId.IfRange]: "If-Range",
  [HeaderId.Range]: "Range",
  [HeaderId.Origin]: "Origin",
  [HeaderId.Referer]: "Referer",
  [HeaderId.Location]: "Location",
  [HeaderId.XAccelBuffering]: "X-Accel-Buffering",
  [HeaderId.XForwardedClientCert]: "X-Forwarded-Client-Cert",
  [HeaderId.Traceparent]: "Traceparent",
  [HeaderId.Http2Settings]: "HTTP2-Settings",
  [HeaderId.AltSvc]: "Alt-Svc",
  [HeaderId.XContentTypeOptions]: "X-Content-Type-Options",
  [HeaderId.XFrameOptions]: "X-Frame-Options",
  [HeaderId.ReferrerPolicy]: "Referrer-Policy",
  [HeaderId.StrictTransportSecurity]: "Strict-Transport-Security",
  [HeaderId.AccessControlRequestMethod]: "Access-Control-Request-Method",
  [HeaderId.AccessControlAllowOrigin]: "Access-Control-Allow-Origin",
  [HeaderId.AccessControlAllowCredentials]: "Access-Control-Allow-Credentials",
  [HeaderId.AccessControlAllowMethods]: "Access-Control-Allow-Methods",
  [HeaderId.AccessControlAllowHeaders]: "Access-Control-Allow-Headers",
  [HeaderId.AccessControlExposeHeaders]: "Access-Control-Expose-Headers",
  [HeaderId.AccessControlMaxAge]: "Access-Control-Max-Age",
  [HeaderId.XCache]: "X-Cache",
  [HeaderId.CacheStatus]: "Cache-Status",
  [HeaderId.ContentLocation]: "Content-Location",
  [HeaderId.CdnCacheControl]: "CDN-Cache-Control",
  [HeaderId.CacheTag]: "Cache-Tag",
  [HeaderId.SurrogateKey]: "Surrogate-Key",
};
const NAMES: readonly string[] = Object.values(SPELLINGS);
/** The names by their numbers. */
export const HEADER_NAMES: readonly string[] = NAMES;

/** Number of header identities, for tables with one entry each. */
export const HEADER_ID_COUNT = HeaderId.NamedByConnection + 1;

/** Names from this length on are none of ours. */
const LOWER_NAMES: readonly Uint8Array[] = NAMES.map((name) => latin1(name.toLowerCase()));
/** Bits of a slot number. */
const SLOT_BITS = 12;
const MULTIPLIERS_TRIED = 1 << 16;
const { multiplier: MULTIPLIER, slots: SLOTS } = slotTable();

/**
 * The identity of the field name in `bytes[from, to)`, without regard to case. Its length and three bytes choose the one
 * known name that it can be: 12 ns for a known name and 3 for most others, against 20 and more for comparing with
 * every name of that length.
 * @param bytes hold a token there: its letters are folded by one bit, which would mix up other bytes
 */
export function headerIdOf(bytes: Uint8Array, from: number, to: number): HeaderId {
  const length = to - from;
  const id = SLOTS[slotOf(bytes, from, to, MULTIPLIER)]!;
  if (id === HeaderId.Other) return HeaderId.Other;
  const name = LOWER_NAMES[id]!;
  if (name.length !== length) return HeaderId.Other;
  for (let i = 0; i < length; i++) {
    if ((bytes[from + i]! | 0x20) !== name[i]) return HeaderId.Other;
  }
  return id;
}

/** First, last and fourth byte from the end tell the known names of one length apart. */
function slotOf(bytes: Uint8Array, from: number, to: number, multiplier: number): number {
  const length = to - from;
  const inner = bytes[length < 4 ? from : to - 4]! | 0x20;
  const mixed = (length << 18) ^ ((bytes[from]! | 0x20) << 12) ^ (inner << 6) ^ (bytes[to - 1]! | 0x20);
  return Math.imul(mixed, multiplier) >>> (32 - SLOT_BITS);
}

/** Looks for a multiplier that gives every known name a slot of its own; there are many. */
function slotTable(): { readonly multiplier: number; readonly slots: Uint8Array } {
  for (let multiplier = 0x9e3779b1; multiplier < 0x9e3779b1 + MULTIPLIERS_TRIED; multiplier += 2) {
    const slots = new Uint8Array(1 << SLOT_BITS);
    const isFree = LOWER_NAMES.every((name, id) => {
      if (id === HeaderId.Other) return true;
      const slot = slotOf(name, 0, name.length, multiplier);
      if (slots[slot] !== 0) return false;
      slots[slot] = id;
      return true;
    });
    if (isFree) return { multiplier, slots };
  }
  throw new Error("two known field names cannot be told apart by slotOf");
}

/** The identity of a field name given as text. */
export function headerIdFromName(name: string): HeaderId {
  return headerIdOf(latin1(name), 0, name.length);
}

/** The usual spelling of a known field's name. */
export function headerName(id: HeaderId): string {
  return NAMES[id]!;
}
