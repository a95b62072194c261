import { Byte, latin1, sliceText } from "../../core/bytes.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { SentField } from "../../proto/h1/sent-fields.ts";
import { CODING_NAMES, Coding, codingWeights } from "../../proto/semantics/accept-encoding.ts";
import type { CacheKeyConfig } from "./key-settings.ts";
import type { CacheKey } from "./store/cache-key.ts";

/**
 * What a route says of the keys of its responses. What it takes out of the key it takes out of the request too: a parameter that an
 * origin sees and the key does not have would let one client choose what all others get. docs/cache.md#rules-for-the-key
 */
export class KeyRules {
  /** Names of header fields that are in the key, in lower case: responses may name them in `Vary`. */
  readonly headers: ReadonlySet<string>;
  private readonly config: CacheKeyConfig;
  private readonly hasQueryRules: boolean;
  private readonly normalisesEncodings: boolean;
  private readonly cookies: readonly KeyedCookie[];
  private readonly fields: readonly SentField[];
  private readonly edits: SentEdits;
  private readonly place: SentPlace | null;

  /**
   * @param compresses whether Accept-Encoding has been written anew already
   * @param edits what the route does to the fields of requests
   * @param place see SentPlace
   */
  constructor(
    config: CacheKeyConfig,
    compresses: boolean,
    edits: SentEdits = NO_EDITS,
    place: SentPlace | null = null,
  ) {
    const { query, headers, cookies, acceptEncoding } = config;
    this.config = config;
    this.headers = new Set(headers.map((name) => name.toLowerCase()));
    this.hasQueryRules = query.sort || query.allow !== null || query.drop.length > 0;
    this.normalisesEncodings = acceptEncoding === "normalize" && !compresses;
    this.cookies = cookies.map((name) => new KeyedCookie(name));
    this.fields = [...this.headers].map((name) => new SentField(name));
    this.edits = edits;
    this.place = place;
  }

  /** Writes query and Accept-Encoding of a request anew, as key and origin are to see them. */
  rewrite(request: RequestHead): void {
    if (this.normalisesEncodings) normaliseEncodings(request);
    if (!this.hasQueryRules || request.queryTo <= request.pathTo) return;
    const query = this.queryOf(request.text(request.pathTo + 1, request.queryTo));
    const to = request.pathTo + (query === "" ? 0 : query.length + 1);
    // The bytes are the connection's: they stay as they came. A fragment goes, as it does upstream.
    const own = Buffer.from(request.bytes.subarray(0, Math.max(request.methodTo, request.targetTo)));
    if (query !== "") own.latin1Write(query, request.pathTo + 1, query.length);
    request.bytes = own;
    request.queryTo = to;
    request.targetTo = to;
  }

  /** A target as it is in the key. */
  targetOf(target: string): string {
    const at = this.hasQueryRules ? target.indexOf("?") : -1;
    if (at < 0) return target;
    const query = this.queryOf(target.slice(at + 1).split("#", 1)[0]!);
    return query === "" ? target.slice(0, at) : `${target.slice(0, at)}?${query}`;
  }

  /**
   * Adds the fields and cookies to the second half of a key, by name: a reload may bring other rules. They are read as they will be sent,
   * whatever a client wrote: what the key has and the origin does not see would put one client's response into another's place.
   */
  addTo(key: CacheKey, ex: Exchange): void {
    for (const text of this.partsOf(ex)) addPart(key, text);
  }

  /** Bytes that `addTo` adds at most. */
  boundOf(ex: Exchange): number {
    return this.partsOf(ex).reduce((sum, text) => sum + text.length + PART_BYTES, 0);
  }

  /** See SentPlace. */
  placeOf(ex: Exchange): readonly string[] {
    return this.place === null ? [] : this.place.partsOf(ex);
  }

  /** One character a byte. */
  private partsOf(ex: Exchange): string[] {
    const { request } = ex;
    const parts: string[] = [...this.placeOf(ex)];
    for (const field of this.fields) {
      const name = sliceText(field.name, 0, field.name.length);
      const own = this.edits.takesOff(name) ? [] : field.values(request);
      for (const value of [...own, ...this.edits.valuesOf(ex, name)]) parts.push(`${name}=${value}`);
    }
    if (this.cookies.length === 0) return parts;
    const own = this.edits.takesOff("cookie") ? [] : cookieFields(request.headers);
    const sent = [...own, ...this.edits.valuesOf(ex, "cookie")];
    for (const cookie of this.cookies) for (const text of sent) parts.push(...cookie.partsOf(text));
    return parts;
  }

  private queryOf(query: string): string {
    const { sort } = this.config.query;
    const kept = query.split("&").filter((pair) => pair !== "" && this.keeps(nameOf(pair)));
    // Equal names stay in their order, which may mean something.
    if (sort) kept.sort((one, other) => compared(nameOf(one), nameOf(other)));
    return kept.join("&");
  }

  private keeps(name: string): boolean {
    const { allow, drop } = this.config.query;
    if (allow !== null && !allow.some((pattern) => isNamed(name, pattern))) return false;
    return !drop.some((pattern) => isNamed(name, pattern));
  }
}

/** What a route does to the fields of the requests that it sends. */
export interface SentEdits {
  /** Whether the client's own fields of a name are not sent. @param name in lower case */
  takesOff(name: string): boolean;
  /** The values of the fields that are added under a name, for a request. */
  valuesOf(ex: Exchange, name: string): readonly string[];
}

/** Where a route sends a request, as far as it goes by more of it than authority and target: by a map, or by values in `rewrite`. */
export interface SentPlace {
  /** One character a byte. They do not change the exchange, and are the same before and after its handler. */
  partsOf(ex: Exchange): readonly string[];
}

const NO_EDITS: SentEdits = { takesOff: () => false, valuesOf: () => [] };

function cookieFields(headers: HeaderBlock): string[] {
  const fields: string[] = [];
  for (let i = headers.find(HeaderId.Cookie); i >= 0; i = headers.find(HeaderId.Cookie, i + 1))
    fields.push(headers.valueText(i));
  return fields;
}

/** A cookie that is in the key. */
class KeyedCookie {
  private readonly name: string;
  private readonly folded: string;

  constructor(name: string) {
    this.name = name;
    this.folded = folded(name);
  }

  /**
   * What of a Cookie field says the cookie: each pair of the name, as it is written, since some readers leave out space that others keep. Where
   * readers might divide the field in another way (quotes, commas) or name another pair so (`my.lang` is `my_lang` to PHP), all of the field.
   */
  partsOf(field: string): string[] {
    if (!folded(field).includes(this.folded)) return [];
    const pairs = field.split(";").map((pair) => pair.trim());
    const own = pairs.filter((pair) => nameOf(pair).trim() === this.name);
    const isDivided = /[",]/.test(field);
    const isMeant = pairs.some(
      (pair) => nameOf(pair).trim() !== this.name && folded(nameOf(pair).trim()) === this.folded,
    );
    return isDivided || isMeant ? [`cookies ${field}`] : own.map((pair) => `cookie ${pair}`);
  }
}

/** As PHP reads names of cookies. */
function folded(text: string): string {
  return text.replace(/[. [+]/g, "_");
}

/** Two NULs begin a part, and nothing else in the second half of a key. */
function addPart(key: CacheKey, text: string): void {
  key.addByte(Byte.Nul);
  key.addByte(Byte.Nul);
  key.add(latin1(text), 0, text.length);
}

function normaliseEncodings(request: RequestHead): void {
  const { headers } = request;
  if (headers.find(HeaderId.AcceptEncoding) < 0) return;
  const weights = codingWeights(headers);
  const wanted = CODINGS.filter((coding) => weights[coding]! > 0).map((coding) => CODING_NAMES[coding]!);
  headers.setValueOf(HeaderId.AcceptEncoding, wanted.length === 0 ? "identity" : wanted.join(", "));
}

function nameOf(pair: string): string {
  return pair.split("=", 1)[0]!;
}

function isNamed(name: string, pattern: string): boolean {
  return pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function compared(one: string, other: string): number {
  return one < other ? -1 : one > other ? 1 : 0;
}

const CODINGS = [Coding.Brotli, Coding.Zstd, Coding.Gzip] as const;
/** Bytes of a part beside its text. */
const PART_BYTES = 2;
