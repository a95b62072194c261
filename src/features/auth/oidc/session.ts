import { deflateRawSync, inflateRawSync } from "node:zlib";
import { isObject } from "../../../core/value-kind.ts";
import { claimText } from "../claims.ts";
import { MAX_CLAIM_CHARS } from "./limits.ts";
import type { OidcConfig } from "./settings.ts";

/**
 * Bytes of a session before it is sealed, compressed where it is long: two cookies. Browsers send all cookies of a host in one line of the
 * head, which has at most 8 KiB with those of the application.
 */
const MAX_SESSION_BYTES = 4480;
/** Characters of all entries of a claim that is a list; a longer one is left out. */
const MAX_CLAIM_LIST_CHARS = 32_768;

/** A claim as a session keeps it: the plain kinds, and lists of texts. */
type ClaimValue = string | number | boolean | readonly string[];
/** What the provider says of a user. */
type SessionClaims = Readonly<Record<string, ClaimValue>>;

/** Who has signed in, as the sealed cookie keeps it. docs/authentication.md#sessions */
export interface SignInSession {
  /** Of its own for each sign-in. */
  readonly id: string;
  /** When the user signed in, in seconds since the epoch; renewals leave it. */
  readonly sinceS: number;
  /** When the provider is asked whether the user is still one, likewise; 0 for never. */
  readonly renewAtS: number;
  /** When the provider's word ends, likewise; 0 for never. */
  readonly goodUntilS: number;
  /** "" if the provider gave none. */
  readonly refreshToken: string;
  /** For signing out at the provider; "" if there was no room for it. */
  readonly idToken: string;
  readonly claims: SessionClaims;
}

/** A session that has room in its cookies. */
interface PackedSession {
  readonly bytes: Buffer;
  /** Names of the claims that are not whole in it. */
  readonly cut: readonly string[];
}

/**
 * Packs a session so that it has room in its cookies. If there is too much, the ID token goes first, then claims that the configuration
 * does not name, then entries of lists that it does not name, then the refresh token, then whatever is last.
 * @param wanted what the configuration names
 */
export function packSession(session: SignInSession, wanted: WantedClaims): PackedSession {
  const poorer = variantsOf(session, wanted);
  // Each has no more in it than the one before: the first that fits is found by halves, since compressing each would take long.
  let [from, to] = [0, poorer.length - 1];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (packed(poorer[middle]!).length <= MAX_SESSION_BYTES) to = middle;
    else from = middle + 1;
  }
  const kept = poorer[from]!;
  const cut = Object.entries(session.claims).filter(([name, value]) => kept.claims[name] !== value);
  return { bytes: packed(kept), cut: cut.map(([name]) => name) };
}

function variantsOf(session: SignInSession, { names, entries }: WantedClaims): SignInSession[] {
  const claims = Object.entries(session.claims);
  const needed = claims.filter(([name]) => names.includes(name) || NEEDED.has(name));
  const plain = { ...session, idToken: "" };
  const bare = { ...plain, claims: Object.fromEntries(needed) };
  const reduced = needed.map(([name, value]) => [name, namedEntries(value, entries.get(name))] as const);
  const short = { ...plain, claims: Object.fromEntries(reduced) };
  const unbounded = { ...short, refreshToken: "", renewAtS: 0, goodUntilS: 0 };
  return [
    session,
    plain,
    ...fewerClaims(plain, needed.length),
    bare,
    short,
    unbounded,
    ...fewerClaims(unbounded, 0),
    { ...unbounded, claims: {} },
  ];
}

/** Of a list, the entries by which a user may come in, if there are such. */
function namedEntries(value: ClaimValue, named: readonly string[] | undefined): ClaimValue {
  return typeof value === "object" && named !== undefined ? value.filter((one) => named.includes(one)) : value;
}

/** The same session with ever fewer claims. */
function fewerClaims(session: SignInSession, least: number): SignInSession[] {
  const claims = Object.entries(session.claims);
  const counts = Array.from({ length: Math.max(0, claims.length - least - 1) }, (_, i) => claims.length - 1 - i);
  return counts.map((count) => ({ ...session, claims: Object.fromEntries(claims.slice(0, count)) }));
}

/** As JSON, which begins with a bracket, or compressed behind a byte of its own. */
function packed({ id, sinceS, renewAtS, goodUntilS, refreshToken, idToken, claims }: SignInSession): Buffer {
  const text = Buffer.from(JSON.stringify([id, sinceS, renewAtS, goodUntilS, refreshToken, idToken, claims]));
  return text.length <= MAX_PLAIN_BYTES ? text : Buffer.concat([Buffer.of(COMPRESSED), deflateRawSync(text)]);
}

/** The session that `packSession` has packed. @param bytes authentic, so that their form is known */
export function unpackSession(bytes: Buffer): SignInSession {
  const isCompressed = bytes[0] === COMPRESSED;
  const plain = isCompressed ? inflateRawSync(bytes.subarray(1), { maxOutputLength: MAX_UNPACKED_BYTES }) : bytes;
  const [id, sinceS, renewAtS, goodUntilS, refreshToken, idToken, claims] = JSON.parse(plain.toString("utf8")) as [
    string,
    number,
    number,
    number,
    string,
    string,
    SessionClaims,
  ];
  return { id, sinceS, renewAtS, goodUntilS, refreshToken, idToken, claims };
}

/** What the configuration names of the claims. */
export interface WantedClaims {
  readonly names: readonly string[];
  /** Of claims that are lists, the entries by which users may come in. */
  readonly entries: ReadonlyMap<string, readonly string[]>;
}

/**
 * The claims of a provider as a session keeps them: plain values and lists of texts, of nested claims under their path with dots
 * (`realm_access.roles`). An `email` that the provider says is not verified is left out.
 * @param wanted what comes first, if room is short
 */
export function keptClaims(given: Readonly<Record<string, unknown>>, wanted: WantedClaims): SessionClaims {
  const flat = new Map<string, ClaimValue>();
  flatten(given, "", flat, wanted);
  if (given.email_verified === false || given.email_verified === "false") flat.delete("email");
  const names = [...wanted.names, ...USUAL, ...[...flat.keys()].filter((name) => !PROTOCOL.has(name))];
  const kept = [...new Set(names)].filter((name) => flat.has(name));
  return Object.fromEntries(kept.map((name) => [name, flat.get(name)!]));
}

function flatten(given: object, prefix: string, into: Map<string, ClaimValue>, wanted: WantedClaims): void {
  for (const [name, value] of Object.entries(given)) {
    const path = prefix + name;
    const plain = claimValue(value, wanted.entries.get(path));
    const hasRoom = into.size < MAX_CLAIMS || plain === null || wanted.names.includes(path);
    if (name === "__proto__" || !hasRoom) continue;
    // A claim that is named with dots itself comes first.
    if (plain !== null && (prefix === "" || !into.has(path))) into.set(path, plain);
    else if (plain === null && isObject(value) && prefix.split(".").length < MAX_DEPTH)
      flatten(value, `${path}.`, into, wanted);
  }
}

/** The name by which a user is known: the e-mail address, else the provider's own. */
export function userOf(claims: SessionClaims): string {
  return claimText(claims.email) || claimText(claims.sub);
}

/** Whether a user may come in. docs/authentication.md#who-may-come-in */
export function isAllowed({ email, groups, claims: wanted }: OidcConfig["allow"], claims: SessionClaims): boolean {
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

/** @param named entries that a list is reduced to if it is too long */
function claimValue(value: unknown, named: readonly string[] | undefined): ClaimValue | null {
  if (typeof value === "string") return value.length <= MAX_CLAIM_CHARS ? value : null;
  if (typeof value === "boolean" || Number.isFinite(value)) return value as number | boolean;
  if (!Array.isArray(value)) return null;
  const texts = value.filter((one): one is string => typeof one === "string");
  if (texts.join("").length <= MAX_CLAIM_LIST_CHARS) return texts;
  return named === undefined ? null : texts.filter((one) => named.includes(one));
}

const COMPRESSED = 1;
/** What is shorter has room in one cookie, and is not compressed. */
const MAX_PLAIN_BYTES = 2880;
/** A list claim may have so much; that it is what was packed is authenticated. */
const MAX_UNPACKED_BYTES = 4 * 1024 * 1024;
const MAX_CLAIMS = 256;
const MAX_DEPTH = 4;
/** Anything after the claims that are asked for by name. */
const USUAL = ["sub", "email", "name", "preferred_username", "groups"];
/** What is about tokens and not about users. RFC 7519 §4.1, OpenID Connect Core 1.0 §2 */
const PROTOCOL: ReadonlySet<string> = new Set(
  "iss aud exp iat nbf jti nonce at_hash c_hash s_hash azp sid auth_time email_verified".split(" "),
);
const NEEDED: ReadonlySet<string> = new Set(["sub", "email"]);
