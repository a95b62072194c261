import { isPlain } from "../claims.ts";
import type { ClaimRule } from "./settings.ts";

/** The claims of a token. RFC 7519 §4 */
export type Claims = Readonly<Record<string, unknown>>;

/** Whether a claim has one of the values of the rule: as it is, as one of a list, or as a word of `scope` (RFC 8693 §4.2). */
export function hasClaim(claims: Claims, { name, values }: ClaimRule): boolean {
  const found = claimNamed(claims, name);
  const all = Array.isArray(found) ? found : WORDS.has(name) && typeof found === "string" ? found.split(" ") : [found];
  return all.some((one) => isPlain(one) && values.includes(String(one)));
}

/** The claim with this name; else, with dots, what is within claims: `realm_access.roles`. Undefined if there is none. */
export function claimNamed(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split(".")) {
    const isObject = typeof found === "object" && found !== null && !Array.isArray(found);
    if (!isObject || !Object.hasOwn(found as object, part)) return undefined;
    found = (found as Claims)[part];
  }
  return found;
}

/** Claims that are lists of words with spaces between them. */
const WORDS: ReadonlySet<string> = new Set(["scope", "scp"]);
