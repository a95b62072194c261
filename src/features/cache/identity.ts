import { SPEAKING_FIELDS } from "../../core/identity-names.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type HeaderBlock, HeaderId, HeaderIdSet } from "../../message/header-block.ts";
import { isClaim } from "../../proto/h1/claimed-fields.ts";
import type { CachePolicy } from "./policy.ts";
import { SlotFlag } from "./store/cache-memory.ts";

/**
 * What a response must say of itself before a request takes it from the cache, or its own response goes there: the request
 * may have been answered for its client alone. docs/security.md#cache-and-identity
 * @returns SlotFlag bits, any one of which is enough; 0 for an anonymous request, to which every response goes
 */
export function sharingNeeded(ex: Exchange, policy: CachePolicy): number {
  const { headers } = ex.request;
  if (ex.identity !== null) return SlotFlag.Public;
  if (isCertified(ex, policy) || isSpokenFor(ex, policy)) return SlotFlag.Public;
  if (!headers.mayHave(IDENTIFYING)) return 0;
  if (headers.find(HeaderId.Authorization) >= 0) return SlotFlag.Public;
  return policy.bypassesCookies && headers.find(HeaderId.Cookie) >= 0 ? SHARED : 0;
}

/**
 * What a response must say of itself since it gives its client a cookie.
 * @returns as `sharingNeeded`
 */
export function sharingNeededFor(response: HeaderBlock, policy: CachePolicy): number {
  if (!policy.bypassesCookies || !response.mayHave(GIVES_COOKIES)) return 0;
  // The set also knows fields that a route has taken out.
  return response.find(HeaderId.SetCookie) >= 0 || response.find(HeaderId.SetCookie2) >= 0 ? SHARED : 0;
}

/** Whether the origin learns of the client's certificate. */
function isCertified({ client }: Exchange, policy: CachePolicy): boolean {
  return client.identity !== null || (policy.demandsCertificates && client.tls);
}

/**
 * Whether a trusted proxy tells of the client's certificate, of the user, or of another method than that of the key (SPEAKING_FIELDS); or any client does, where
 * such fields of its own go on.
 */
function isSpokenFor({ request: { headers }, fromTrustedProxy }: Exchange, { passedFields }: CachePolicy): boolean {
  if (!fromTrustedProxy) return passedFields.length > 0 && holdsAny(headers, passedFields);
  if (headers.find(HeaderId.XForwardedClientCert) >= 0) return true;
  return holdsAny(headers, SPEAKING_FIELDS) || holdsAny(headers, passedFields);
}

/** @param names in lower case; one that ends in a star is all that begin so */
function holdsAny(headers: HeaderBlock, names: readonly string[]): boolean {
  const { count, ids } = headers;
  for (let i = 0; i < count; i++) {
    // The names are few, and most fields claim nothing.
    if (ids[i] !== HeaderId.Other || !isClaim(headers, i)) continue;
    const folded = headers
      .nameText(i)
      .toLowerCase()
      .replace(/[^a-z0-9]/g, "-");
    if (names.some((name) => (name.endsWith("*") ? folded.startsWith(name.slice(0, -1)) : folded === name)))
      return true;
  }
  return false;
}

const SHARED = SlotFlag.Public | SlotFlag.SharedMaxAge;
const IDENTIFYING = new HeaderIdSet([HeaderId.Authorization, HeaderId.Cookie]);
const GIVES_COOKIES = new HeaderIdSet([HeaderId.SetCookie, HeaderId.SetCookie2]);
