import type { ClaimRule } from "../../../config/auth/jwt-settings.ts";
import { MAX_CLAIM_BYTES, MAX_CLAIMS } from "../../../core/limits.ts";

type Claims = Readonly<Record<string, unknown>>;

/** Whether a claim has one of the values of the rule: as it is, as one of a list, or as a word of `scope` (RFC 8693 §4.2). */
export function hasClaim(claims: Claims, { name, values }: ClaimRule): boolean {
  const found = claimNamed(claims, name);
  const all = Array.isArray(found) ? found : WORDS.has(name) && typeof found === "string" ? found.split(" ") : [found];
  return all.some((one) => isPlain(one) && values.includes(String(one)));
}

/** The claim with this name; else, with dots, what is within claims: `realm_access.roles`. Undefined where there is none. */
export function claimNamed(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let found: unknown = claims;
  for (const part of name.split(".")) {
    if (typeof found !== "object" || found === null || Array.isArray(found) || !Object.hasOwn(found, part))
      return undefined;
    found = (found as Claims)[part];
  }
  return found;
}

/**
 * A claim as the text that an origin gets; "" for one that cannot be told exactly. Lists are joined with commas, without entries that
 * have commas themselves, which would read as two; objects are JSON. Text with control characters, with space around it or longer
 * than MAX_CLAIM_BYTES is not cut or mended: what is left of it could be another user's.
 */
export function claimText(value: unknown): string {
  const text = Array.isArray(value)
    ? value.filter((one) => isPlain(one) && plainText(String(one)) !== "" && !String(one).includes(",")).join(",")
    : isPlain(value)
      ? String(value)
      : typeof value === "object" && value !== null
        ? JSON.stringify(value)
        : "";
  return plainText(text);
}

/** The claims as texts by name, with names like `realm_access.roles` for what is within objects; at most MAX_CLAIMS. */
export function claimTexts(claims: Claims): Readonly<Record<string, string>> {
  const texts: Record<string, string> = Object.create(null);
  let count = 0;
  const add = (within: Claims, prefix: string, depth: number): void => {
    for (const [name, value] of Object.entries(within)) {
      if (count >= MAX_CLAIMS) return;
      const full = prefix + name;
      // A claim whose own name has dots comes before what is within others, as in `claimNamed`.
      if (Object.hasOwn(texts, full)) continue;
      const text = claimText(value);
      if (text !== "") {
        texts[full] = text;
        count++;
      }
    }
    if (depth === 0) return;
    for (const [name, value] of Object.entries(within)) {
      if (typeof value === "object" && value !== null && !Array.isArray(value))
        add(value as Claims, `${prefix}${name}.`, depth - 1);
    }
  };
  add(claims, "", MAX_DEPTH);
  return texts;
}

function plainText(text: string): string {
  const isGood = text.length <= MAX_CLAIM_BYTES && !/\p{Cc}|\p{Cs}/u.test(text) && text.trim() === text;
  return isGood && Buffer.byteLength(text) <= MAX_CLAIM_BYTES ? text : "";
}

function isPlain(value: unknown): value is string | number | boolean {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean";
}

/** Claims that are lists of words with spaces between them. */
const WORDS: ReadonlySet<string> = new Set(["scope", "scp"]);
const MAX_DEPTH = 4;
