import type { OidcConfig } from "../../../config/auth/oidc-settings.ts";
import { MAX_CLAIM_CHARS, MAX_SESSION_BYTES } from "../../../core/limits.ts";
import { claimText } from "../claims.ts";

/** What is kept of a claim: the plain kinds, and lists of texts. */
export type ClaimValue = string | number | boolean | readonly string[];
/** What the provider says of a user. */
export type Claims = Readonly<Record<string, ClaimValue>>;

/** Who has signed in, as the sealed cookie keeps it. docs/authentication.md#sessions */
export interface Session {
  /** Of its own for each sign-in. */
  readonly id: string;
  /** When the user signed in, in seconds since the epoch; renewals leave it. */
  readonly sinceS: number;
  /** When the provider is asked whether the user is still one, likewise; 0 for never. */
  readonly renewAtS: number;
  /** When the provider's word ends, likewise; 0 for never. */
  readonly goodUntilS: number;
  /** "" where the provider gave none. */
  readonly refreshToken: string;
  /** For signing out at the provider; "" where there was no room for it. */
  readonly idToken: string;
  readonly claims: Claims;
}

/**
 * A session as text that has room in a cookie. Where there is too much, the ID token goes first, then claims that the configuration
 * does not name, then the refresh token, then whatever is last.
 * @param wanted names of the claims that it does name
 */
export function packSession(session: Session, wanted: readonly string[]): string {
  const isNeeded = (name: string) => wanted.includes(name) || NEEDED.has(name);
  const claims = Object.entries(session.claims);
  const plain = { ...session, idToken: "" };
  const needed = { ...plain, claims: Object.fromEntries(claims.filter(([name]) => isNeeded(name))) };
  const unbounded = { ...needed, refreshToken: "", renewAtS: 0, goodUntilS: 0 };
  const poorer = [session, plain, ...fewerClaims(plain, Object.keys(needed.claims).length), needed, unbounded];
  for (const one of [...poorer, ...fewerClaims(unbounded, 0)]) {
    const text = textOf(one);
    if (Buffer.byteLength(text) <= MAX_SESSION_BYTES) return text;
  }
  return textOf({ ...unbounded, claims: {} });
}

/** The same session with ever fewer claims. */
function fewerClaims(session: Session, least: number): Session[] {
  const claims = Object.entries(session.claims);
  const counts = Array.from({ length: Math.max(0, claims.length - least - 1) }, (_, i) => claims.length - 1 - i);
  return counts.map((count) => ({ ...session, claims: Object.fromEntries(claims.slice(0, count)) }));
}

function textOf({ id, sinceS, renewAtS, goodUntilS, refreshToken, idToken, claims }: Session): string {
  return JSON.stringify([id, sinceS, renewAtS, goodUntilS, refreshToken, idToken, claims]);
}

/** The session that `packSession` has written. @param text authentic, so that its form is known */
export function unpackSession(text: string): Session {
  const [id, sinceS, renewAtS, goodUntilS, refreshToken, idToken, claims] = JSON.parse(text) as [
    string,
    number,
    number,
    number,
    string,
    string,
    Claims,
  ];
  return { id, sinceS, renewAtS, goodUntilS, refreshToken, idToken, claims };
}

/**
 * What is kept of the claims that a provider gives: plain values and lists of texts, of nested claims under their path with dots
 * (`realm_access.roles`). An `email` that the provider says is not verified is left out.
 * @param wanted names that come first, where room is short
 */
export function keptClaims(given: Readonly<Record<string, unknown>>, wanted: readonly string[]): Claims {
  const flat = new Map<string, ClaimValue>();
  flatten(given, "", flat);
  if (given.email_verified === false || given.email_verified === "false") flat.delete("email");
  const names = [...wanted, ...USUAL, ...[...flat.keys()].filter((name) => !PROTOCOL.has(name))];
  const kept = [...new Set(names)].filter((name) => flat.has(name));
  return Object.fromEntries(kept.map((name) => [name, flat.get(name)!]));
}

function flatten(given: object, prefix: string, into: Map<string, ClaimValue>): void {
  for (const [name, value] of Object.entries(given)) {
    const path = prefix + name;
    const plain = claimValue(value);
    if (name === "__proto__" || into.size >= MAX_CLAIMS) continue;
    // A claim that is named with dots itself comes first.
    if (plain !== null && (prefix === "" || !into.has(path))) into.set(path, plain);
    else if (plain === null && isSection(value) && prefix.split(".").length < MAX_DEPTH)
      flatten(value, `${path}.`, into);
  }
}

/** The name by which a user is known: the e-mail address, else the provider's own. */
export function userOf(claims: Claims): string {
  return claimText(claims.email) || claimText(claims.sub);
}

/** Whether a user may come in. docs/authentication.md#who-may-come-in */
export function isAllowed({ email, groups, claims: wanted }: OidcConfig["allow"], claims: Claims): boolean {
  const isWanted = wanted.every(({ name, values }) => textsOf(claims[name]).some((one) => values.includes(one)));
  const isMember = groups.length === 0 || textsOf(claims.groups).some((one) => groups.includes(one));
  return (
    isWanted && isMember && (email.length === 0 || email.some((pattern) => fitsEmail(pattern, claimText(claims.email))))
  );
}

/** @param pattern an address, or `*@` and a domain */
function fitsEmail(pattern: string, address: string): boolean {
  const [wanted, found] = [pattern.toLowerCase(), address.toLowerCase()];
  if (!/^[^\s@]+@[^\s@]+$/.test(found)) return false;
  return wanted.startsWith("*@") ? found.slice(found.indexOf("@")) === wanted.slice(1) : found === wanted;
}

function textsOf(value: ClaimValue | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === "object" ? value : [String(value)];
}

function claimValue(value: unknown): ClaimValue | null {
  if (typeof value === "string") return value.length <= MAX_CLAIM_CHARS ? value : null;
  if (typeof value === "boolean" || Number.isFinite(value)) return value as number | boolean;
  if (!Array.isArray(value)) return null;
  const texts = value.filter((one): one is string => typeof one === "string");
  return texts.join("").length <= MAX_CLAIM_CHARS ? texts : null;
}

function isSection(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const MAX_CLAIMS = 256;
const MAX_DEPTH = 4;
/** What comes after the claims that are asked for by name. */
const USUAL = ["sub", "email", "name", "preferred_username", "groups"];
/** What is about tokens and not about users. RFC 7519 §4.1, OpenID Connect Core 1.0 §2 */
const PROTOCOL: ReadonlySet<string> = new Set(
  "iss aud exp iat nbf jti nonce at_hash c_hash s_hash azp sid auth_time email_verified".split(" "),
);
const NEEDED: ReadonlySet<string> = new Set(["sub", "email"]);
