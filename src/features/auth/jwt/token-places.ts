import { Byte, equalsLower, latin1 } from "../../../core/bytes.ts";
import { HeaderId, headerIdFromName } from "../../../message/header-block.ts";
import type { RequestHead } from "../../../message/request-head.ts";
import { SentField } from "../../../proto/h1/sent-fields.ts";
import { CookieValues } from "../../../proto/semantics/cookie-values.ts";

/** What a place in a request holds. */
export const enum TokenFound {
  Nothing = 0,
  Token,
  /** More than one token: others on the way could take another than the gateway. */
  Several,
}

/** Where in a request a token may be. */
interface Place {
  /** The token, where `find` has found one: `bytes[from, to)`. */
  readonly bytes: Uint8Array;
  readonly from: number;
  readonly to: number;
  find(request: RequestHead): TokenFound;
  /** Its pairs in the query; absent if it is elsewhere. */
  pairs?(request: RequestHead): readonly string[];
  /** Takes all tokens at this place off the request. Offsets into its head that were taken before may be wrong then. */
  takeOff(request: RequestHead): void;
}

/** The places in which edge looks for tokens, in this order: the first that holds one decides. docs/authentication.md#tokens */
export class TokenPlaces {
  private readonly places: readonly Place[];
  private readonly keepsToken: boolean;
  private found: Place;

  /**
   * @param names as configured: `header`, `header:NAME`, `cookie:NAME`, `query:NAME`
   * @param keepsToken whether the token that was judged goes on to the upstream
   */
  constructor(names: readonly string[], keepsToken: boolean) {
    this.places = names.map(placeOf);
    this.keepsToken = keepsToken;
    this.found = this.places[0]!;
  }

  /** The token of the request that was found last. */
  get bytes(): Uint8Array {
    return this.found.bytes;
  }

  get from(): number {
    return this.found.from;
  }

  get to(): number {
    return this.found.to;
  }

  /** Looks for the token of a request. */
  find(request: RequestHead): TokenFound {
    for (let i = 0; i < this.places.length; i++) {
      const place = this.places[i]!;
      const what = place.find(request);
      if (what === TokenFound.Nothing) continue;
      this.found = place;
      return what;
    }
    return TokenFound.Nothing;
  }

  /** All pairs of the query at places of tokens, as they stand there. */
  inQuery(request: RequestHead): readonly string[] {
    return this.places.flatMap((place) => place.pairs?.(request) ?? []);
  }

  /**
   * Takes the tokens off a request that is admitted: the one that was judged, unless it is to go on, and always those at the other places,
   * which no one has judged.
   */
  takeOff(request: RequestHead): void {
    if (this.keepsToken && this.places.length === 1) return;
    const judged = this.keepsToken && this.find(request) === TokenFound.Token ? this.found : null;
    for (const place of this.places) if (place !== judged) place.takeOff(request);
  }
}

function placeOf(name: string): Place {
  const colon = name.indexOf(":");
  const [kind, argument] = [name.slice(0, colon), name.slice(colon + 1)];
  if (kind === "cookie") return new CookiePlace(argument);
  if (kind === "query") return new QueryPlace(argument);
  return new FieldPlace(colon < 0 ? "Authorization" : argument);
}

/** `Authorization: Bearer …` (RFC 6750 §2.1), or a field that holds the token alone, with or without that word. */
class FieldPlace implements Place {
  bytes: Uint8Array = latin1("");
  from = 0;
  to = 0;
  private readonly field: SentField;
  /** Other schemes of Authorization are other matters. */
  private readonly needsScheme: boolean;

  constructor(name: string) {
    this.field = new SentField(name);
    this.needsScheme = headerIdFromName(name) === HeaderId.Authorization;
  }

  find(head: RequestHead): TokenFound {
    const { headers } = head;
    const first = this.field.find(head);
    if (first < 0) return TokenFound.Nothing;
    if (this.field.find(head, first + 1) >= 0) return TokenFound.Several;
    const from = headers.valueFrom(first);
    const to = headers.valueTo(first);
    const after = afterScheme(headers.bytes, from, to);
    if (after < 0 && (this.needsScheme || from === to)) return TokenFound.Nothing;
    this.bytes = headers.bytes;
    this.from = after < 0 ? from : after;
    this.to = to;
    return TokenFound.Token;
  }

  takeOff(head: RequestHead): void {
    const { headers } = head;
    for (let i = this.field.find(head); i >= 0; i = this.field.find(head, i + 1)) {
      const isToken = !this.needsScheme || afterScheme(headers.bytes, headers.valueFrom(i), headers.valueTo(i)) >= 0;
      if (isToken) headers.ids[i] = HeaderId.NamedByConnection;
    }
  }
}

/** A cookie's value. */
class CookiePlace implements Place {
  bytes: Uint8Array = latin1("");
  from = 0;
  to = 0;
  private readonly values: CookieValues;

  constructor(name: string) {
    this.values = new CookieValues(name);
  }

  find({ headers }: RequestHead): TokenFound {
    const { values } = this;
    values.begin(headers);
    let count = 0;
    while (values.next()) {
      if (values.from === values.to) continue;
      if (count++ > 0) return TokenFound.Several;
      this.bytes = headers.bytes;
      this.from = values.from;
      this.to = values.to;
    }
    return count === 0 ? TokenFound.Nothing : TokenFound.Token;
  }

  takeOff({ headers }: RequestHead): void {
    const { values } = this;
    for (;;) {
      values.begin(headers);
      if (!values.next()) return;
      removePair(headers, values.pairFrom, values.to);
    }
  }
}

/** Takes a cookie's pair out of its field, and the field where it was the only one. */
function removePair(headers: RequestHead["headers"], from: number, to: number): void {
  const { bytes } = headers;
  const field = fieldAt(headers, from);
  const [start, end] = [headers.valueFrom(field), headers.valueTo(field)];
  let next = to;
  while (next < end && (bytes[next] === Byte.Semicolon || bytes[next] === Byte.Space)) next++;
  let begin = from;
  if (next === end)
    while (begin > start && (bytes[begin - 1] === Byte.Semicolon || bytes[begin - 1] === Byte.Space)) begin--;
  bytes.copyWithin(begin, next, end);
  headers.endValue(field, end - (next - begin));
  if (headers.valueLength(field) === 0) headers.ids[field] = HeaderId.NamedByConnection;
}

function fieldAt(headers: RequestHead["headers"], at: number): number {
  for (let i = headers.find(HeaderId.Cookie); i >= 0; i = headers.find(HeaderId.Cookie, i + 1)) {
    if (headers.valueFrom(i) <= at && at <= headers.valueTo(i)) return i;
  }
  throw new Error("a cookie outside of the Cookie fields");
}

/** A parameter of the query. RFC 6750 §2.3 */
class QueryPlace implements Place {
  bytes: Uint8Array = latin1("");
  from = 0;
  to = 0;
  private readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  find(request: RequestHead): TokenFound {
    let count = 0;
    for (let at = request.pathTo + 1; at < request.queryTo; ) {
      const to = pairEnd(request, at);
      const value = this.valueOf(request, at, to);
      if (value >= 0 && value < to) {
        if (count++ > 0) return TokenFound.Several;
        this.bytes = request.bytes;
        this.from = value;
        this.to = to;
      }
      at = to + 1;
    }
    return count === 0 ? TokenFound.Nothing : TokenFound.Token;
  }

  pairs(request: RequestHead): readonly string[] {
    const found: string[] = [];
    for (let at = request.pathTo + 1; at < request.queryTo; ) {
      const to = pairEnd(request, at);
      if (this.valueOf(request, at, to) >= 0)
        found.push(Buffer.from(request.bytes.buffer, request.bytes.byteOffset + at, to - at).latin1Slice());
      at = to + 1;
    }
    return found;
  }

  takeOff(request: RequestHead): void {
    for (let at = request.pathTo + 1; at < request.queryTo; ) {
      const to = pairEnd(request, at);
      if (this.valueOf(request, at, to) < 0) {
        at = to + 1;
        continue;
      }
      // With the separator after it, or else with the one before it, which may be the question mark.
      const isLast = to === request.queryTo;
      const [from, next] = isLast ? [at - 1, to] : [at, to + 1];
      request.bytes.copyWithin(from, next, request.targetTo);
      request.queryTo -= next - from;
      request.targetTo -= next - from;
    }
  }

  /** Where the value of the pair in `[from, to)` begins, if it has the name in any spelling; else -1. */
  private valueOf({ bytes }: RequestHead, from: number, to: number): number {
    let equals = from;
    let isPlain = true;
    while (equals < to && bytes[equals] !== Byte.Equals) {
      if (bytes[equals] === Byte.Percent || bytes[equals] === Byte.Plus) isPlain = false;
      equals++;
    }
    const length = equals - from;
    if (isPlain ? length !== this.name.length : length > this.name.length * 3) return -1;
    const text = Buffer.from(bytes.buffer, bytes.byteOffset + from, length).latin1Slice();
    const name = isPlain
      ? text
      : text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
    return name === this.name ? Math.min(equals + 1, to) : -1;
  }
}

function pairEnd({ bytes, queryTo }: RequestHead, from: number): number {
  let to = from;
  while (to < queryTo && bytes[to] !== Byte.Ampersand) to++;
  return to;
}

/** Where the token after `Bearer ` begins, in any case; -1 if that word is not there. RFC 9110 §11.4 */
function afterScheme(bytes: Uint8Array, from: number, to: number): number {
  const end = from + SCHEME.length;
  if (end > to || !equalsLower(bytes, from, end, SCHEME)) return -1;
  let at = end;
  if (at < to && bytes[at] !== Byte.Space) return -1;
  while (at < to && bytes[at] === Byte.Space) at++;
  return at;
}

const SCHEME: Uint8Array = latin1("bearer");
