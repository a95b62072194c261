import { decodeJwt, decodeProtectedHeader } from "jose";
import { ALGORITHMS, type AlgorithmName } from "../../../proto/jwt/key-set.ts";
import { type Claims, hasClaim } from "./claims.ts";
import type { ReadyKey } from "./key-ring.ts";
import type { ClaimRule } from "./settings.ts";
import type { Signed } from "./signature.ts";

/** Keys of a set that a token without the name of its key is tried with. */
const MAX_KEYS_TRIED = 4;

/** Why a token is refused, for the log: the client is not told. docs/authentication.md#refused-tokens */
export type TokenFault =
  | "missing"
  | "ambiguous"
  | "too_long"
  | "malformed"
  | "algorithm"
  | "unknown_key"
  | "signature"
  | "expired"
  | "not_yet_valid"
  | "issuer"
  | "audience"
  | "claims"
  | "keys_unavailable"
  | "no_room";

/** The demands on a token beside its signature. */
export interface TokenRules {
  readonly issuers: readonly string[];
  readonly audiences: readonly string[];
  readonly leewayMs: number;
  readonly claims: readonly ClaimRule[];
}

/** A token that is read, with nothing verified. */
export interface ReadToken extends Signed {
  /** As it came. */
  readonly text: string;
  /** What it calls its key; null if it does not. */
  readonly kid: string | null;
}

/**
 * Reads the three parts of a signed token. RFC 7515 §7.1. Of its header only `alg` and `kid` count: no key comes from a token, nor
 * fetched for one. What a token calls critical is unknown here (RFC 7515 §4.1.11), and a token in a token is none that says who asks.
 */
export function readToken(text: string): ReadToken | TokenFault {
  if (!COMPACT.test(text)) return "malformed";
  let header: Readonly<Record<string, unknown>>;
  try {
    header = decodeProtectedHeader(text) as Readonly<Record<string, unknown>>;
  } catch {
    return "malformed";
  }
  const { alg, kid, crit, cty, b64 = true } = header;
  if ((kid !== undefined && typeof kid !== "string") || crit !== undefined || b64 !== true) return "malformed";
  if (cty !== undefined && !(typeof cty === "string" && !/jwt$/i.test(cty))) return "malformed";
  if (typeof alg !== "string" || !Object.hasOwn(ALGORITHMS, alg)) return "algorithm";
  const dot = text.lastIndexOf(".");
  return {
    text,
    kid: kid ?? null,
    algorithm: alg as AlgorithmName,
    data: Buffer.from(text.slice(0, dot), "latin1"),
    signature: Buffer.from(text.slice(dot + 1), "base64url"),
  };
}

/**
 * The keys that may have signed the token: for its algorithm, of its name where both have one. At most MAX_KEYS_TRIED.
 * @returns `unknown_key` where newer keys may have it, `algorithm` if that key does not verify so
 */
export function keysFor(
  { kid, algorithm }: ReadToken,
  keys: readonly ReadyKey[],
  allowed: readonly AlgorithmName[],
): readonly ReadyKey[] | TokenFault {
  if (!allowed.includes(algorithm)) return "algorithm";
  const named = keys.filter((key) => kid === null || key.kid === "" || key.kid === kid);
  if (named.length === 0) return "unknown_key";
  const fit = named.filter(({ algorithms }) => algorithms.includes(algorithm));
  return fit.length === 0 ? "algorithm" : fit.slice(0, MAX_KEYS_TRIED);
}

/** The claims of a token whose signature is good; null if they cannot be read. */
export function claimsOf({ text }: ReadToken): Claims | null {
  try {
    return decodeJwt(text);
  } catch {
    return null;
  }
}

/** Until when the token holds, in milliseconds since the epoch, `leeway` included; Infinity if it does not say. */
export function endOf({ exp }: Claims, { leewayMs }: TokenRules): number {
  return typeof exp === "number" ? exp * 1000 + leewayMs : Number.POSITIVE_INFINITY;
}

/** The fault in the claims at this time; null if there is none. RFC 7519 §4.1 */
export function claimsFault(claims: Claims, rules: TokenRules, nowMs: number): TokenFault | null {
  const { nbf, iss, aud } = claims;
  // What is no date, or none that a number can hold, must not read as one that never comes.
  if (DATES.some((name) => claims[name] !== undefined && !isDate(claims[name]))) return "malformed";
  if (endOf(claims, rules) <= nowMs) return "expired";
  if (typeof nbf === "number" && nbf * 1000 - rules.leewayMs > nowMs) return "not_yet_valid";
  if (rules.issuers.length > 0 && !(typeof iss === "string" && rules.issuers.includes(iss))) return "issuer";
  if (rules.audiences.length > 0) {
    const named = Array.isArray(aud) ? aud : [aud];
    if (!named.some((one) => typeof one === "string" && rules.audiences.includes(one))) return "audience";
  }
  return rules.claims.every((rule) => hasClaim(claims, rule)) ? null : "claims";
}

function isDate(value: unknown): boolean {
  return typeof value === "number" && Math.abs(value) <= LAST_SECOND;
}

/** Three parts in base64url without padding, of which the last may be empty: that is no signature of any algorithm. */
const COMPACT = /^[\w-]+\.[\w-]+\.[\w-]*$/;
/** RFC 7519 §4.1.4 to §4.1.6 */
const DATES = ["exp", "nbf", "iat"] as const;
/** Of the dates that the runtime knows. */
const LAST_SECOND = 8_640_000_000_000;
