import { Byte, latin1 } from "../../core/bytes.ts";
import { trimmedEnd } from "../../core/trimming.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { Held } from "../../message/ports.ts";
import { Method, type RequestHead } from "../../message/request-head.ts";
import { percentEncoded } from "../../proto/target/routed-path.ts";
import type { KeyRules } from "./key-rules.ts";
import { CacheKey } from "./store/cache-key.ts";

/**
 * Makes the keys of requests: `<METHOD>:<authority>:<uri>`, followed by `:ae=<Accept-Encoding>`, and the route between if it has
 * `match`. docs/cache.md#the-key
 * The parts are kept apart by bytes that stand in none of them, since a target may hold `:ae=` itself. There is one key
 * object: it holds until the next is asked for.
 *
 * Where clients may show certificates, TLS and cleartext have responses of their own: what is fetched over the one may be
 * meant for those alone who were admitted there. docs/security.md#cache-and-identity
 */
export class RequestKeys {
  private readonly key: CacheKey;
  private readonly overTls: number;
  private readonly rules: readonly (KeyRules | null)[] | null;

  /**
   * @param seed of the cache
   * @param dividesByTls whether TLS and cleartext share no entry
   * @param rules by the routes' numbers; null if no route has any
   */
  constructor(seed: number, dividesByTls: boolean, rules: readonly (KeyRules | null)[] | null) {
    this.rules = rules;
    this.key = new CacheKey(seed);
    this.overTls = dividesByTls ? OVER_TLS : 0;
  }

  /** The key of a GET or HEAD; for any other method, that of its resource. */
  of(ex: Exchange): CacheKey {
    const { request, client, route } = ex;
    const { key } = this;
    const match = route?.init.match;
    const routed = match === undefined ? 0 : ROUTED;
    const rules = this.rules === null ? null : (this.rules[route!.index] ?? null);
    key.begin(boundOf(request) + (rules === null ? 0 : rules.boundOf(ex)));
    addAuthority(key, request);
    key.addByte(Byte.Nul);
    if (rules !== null) addText(key, rules.targetOf(request.target()) || "/");
    else if (request.targetTo > request.targetFrom) key.add(request.bytes, request.targetFrom, request.targetTo);
    else key.addByte(Byte.Slash);
    key.endUri();
    key.addByte((request.method === Method.Head ? HEAD : GET) | (client.tls ? this.overTls : 0) | routed);
    // Routes with `match` share their paths with others: none is given the responses of another.
    if (match !== undefined) key.add(match.id, 0, match.id.length);
    addEncodings(key, request);
    if (rules !== null) rules.addTo(key, ex);
    key.endVariant();
    return key;
  }

  /** The parameter of Cache-Status that says the key of a request; "" if that is too long. RFC 9211 §2.7. */
  parameterOf(ex: Exchange): string {
    const { bytes, uriBytes, uriWords, variantBytes } = this.of(ex);
    if (uriBytes + variantBytes > MAX_SHOWN_KEY_BYTES) return "";
    const variant = bytes.latin1Slice(uriWords * 4, uriWords * 4 + variantBytes);
    const method = (variant.charCodeAt(0) & HEAD) !== 0 ? "HEAD" : "GET";
    const parts = bytes.latin1Slice(0, uriBytes).split("\0");
    const [encodings = "", ...others] = trimmedEnd(variant.slice(1), "\0").split("\0\0");
    const values = encodings.split("\0").filter((value) => value !== "");
    const text = [method, ...parts, ...values.map((value) => `ae=${value}`), ...others].join(":");
    return `; key="${text.replace(UNQUOTABLE, percentEncoded)}"`;
  }

  /** The key of a resource that is named by text: that of all its responses. */
  ofUri(authority: string, target: string): CacheKey {
    const { key } = this;
    const bytes = latin1(`${authority.toLowerCase()}\0${target}`);
    key.begin(bytes.length);
    key.add(Buffer.from(bytes), 0, bytes.length);
    key.endUri();
    key.addByte(GET);
    key.endVariant();
    return key;
  }
}

/** The resource that a request named at its look-up: hooks, which come later, may send it to another. */
export class AskedResource implements Held {
  readonly authority: string;
  readonly target: string;

  constructor(key: CacheKey) {
    [this.authority, this.target] = resourceOf(key);
  }

  release(): void {}
}

/** Authority and target of a key. */
export function resourceOf({ bytes, uriBytes }: CacheKey): [authority: string, target: string] {
  const [authority = "", target = ""] = bytes.latin1Slice(0, uriBytes).split("\0");
  return [authority, target];
}

/**
 * Host in lower case, with its port if it has one: the colons of an IPv6 literal stand in brackets and are none of the
 * port's. Without Host it is empty.
 */
function addAuthority(key: CacheKey, request: RequestHead): void {
  let { bytes, authorityFrom: from, authorityTo: to } = request;
  if (request.hostIndex >= 0) {
    bytes = request.headers.bytes;
    from = request.headers.valueFrom(request.hostIndex);
    to = request.headers.valueTo(request.hostIndex);
  }
  // RFC 3986 §3.2.3: an empty port is no port.
  if (to > from && bytes[to - 1] === Byte.Colon) to--;
  key.addLower(bytes, from, to);
}

function addText(key: CacheKey, text: string): void {
  key.add(latin1(text), 0, text.length);
}

function addEncodings(key: CacheKey, { headers }: RequestHead): void {
  for (let i = headers.find(HeaderId.AcceptEncoding); i >= 0; i = headers.find(HeaderId.AcceptEncoding, i + 1)) {
    const from = headers.valueFrom(i);
    const to = headers.valueTo(i);
    if (to === from) continue;
    key.addByte(Byte.Nul);
    key.add(headers.bytes, from, to);
  }
}

function boundOf(request: RequestHead): number {
  const { headers, hostIndex } = request;
  let bound = request.targetTo - request.targetFrom + request.authorityTo - request.authorityFrom + PARTS_BOUND;
  if (hostIndex >= 0) bound += headers.valueLength(hostIndex);
  for (let i = headers.find(HeaderId.AcceptEncoding); i >= 0; i = headers.find(HeaderId.AcceptEncoding, i + 1)) {
    bound += headers.valueLength(i) + 1;
  }
  return bound;
}

/** What a string of a structured field cannot hold as it is. */
const UNQUOTABLE = /[^ !\x23-\x5b\x5d-\x7e]/g;
const MAX_SHOWN_KEY_BYTES = 1024;
const GET = 1;
const HEAD = 2;
const OVER_TLS = 4;
/** The route's id follows. */
const ROUTED = 8;
const PARTS_BOUND = 32;
