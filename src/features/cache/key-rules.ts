import type { CacheKeyConfig } from "../../config/cache-key-settings.ts";
import { Byte, latin1 } from "../../core/bytes.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { CODING_NAMES, Coding, codingWeights } from "../../proto/semantics/accept-encoding.ts";
import { CookieValues } from "../../proto/semantics/cookie-values.ts";
import type { CacheKey } from "../../shared/cache-key.ts";

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
  private readonly cookies: readonly (readonly [name: Uint8Array, values: CookieValues])[];

  /** @param compresses whether Accept-Encoding has been written anew already */
  constructor(config: CacheKeyConfig, compresses: boolean) {
    const { query, headers, cookies, acceptEncoding } = config;
    this.config = config;
    this.headers = new Set(headers.map((name) => name.toLowerCase()));
    this.hasQueryRules = query.sort || query.allow !== null || query.drop.length > 0;
    this.normalisesEncodings = acceptEncoding === "normalize" && !compresses;
    this.cookies = cookies.map((name) => [latin1(`cookie ${name}=`), new CookieValues(name)]);
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

  /** Adds the fields and cookies to the second half of a key, by name: a reload may bring other rules. */
  addTo(key: CacheKey, { headers }: RequestHead): void {
    for (let i = 0; i < headers.count; i++) {
      if (this.headers.size === 0) break;
      const name = headers.nameText(i).toLowerCase();
      if (this.headers.has(name)) addPart(key, latin1(`${name}=`), headers.bytes, headers.spans, i * 4 + 2);
    }
    for (const [name, values] of this.cookies) {
      values.begin(headers);
      while (values.next()) addPart(key, name, headers.bytes, [values.from, values.to], 0);
    }
  }

  /** Bytes that `addTo` adds at most. */
  boundOf({ headers }: RequestHead): number {
    return headers.lineBytes * 2 + (this.cookies.length + this.headers.size) * PART_BYTES;
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

/** Two NULs begin a part, and nothing else in the second half of a key. */
function addPart(key: CacheKey, name: Uint8Array, bytes: Uint8Array, spans: ArrayLike<number>, at: number): void {
  key.addByte(Byte.Nul);
  key.addByte(Byte.Nul);
  key.add(name, 0, name.length);
  key.add(bytes, spans[at]!, spans[at + 1]!);
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
/** Bytes of a part beside a name and a value that the request has. */
const PART_BYTES = 512;
