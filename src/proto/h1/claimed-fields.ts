import { Byte, byteTable, LOWER, latin1 } from "../../core/bytes.ts";
import { IDENTITY_FIELDS, OWN_FIELDS } from "../../core/identity-names.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";

// Fields in which a client claims what the gateway itself says of the message and of the connection, or what only a proxy
// in front of it may say. docs/security.md#identity-headers

/**
 * Fields that the gateway writes itself or has settled: it drops a client's own.
 * docs/upstreams.md#fields-that-are-sent
 */
export const CLAIMS: readonly HeaderId[] = [
  HeaderId.Http2Settings,
  HeaderId.Expect,
  HeaderId.XForwardedFor,
  HeaderId.XForwardedProto,
  HeaderId.XForwardedHost,
  HeaderId.XRealIp,
  HeaderId.XRequestId,
  HeaderId.XForwardedClientCert,
];

/** The claim of a field's name. */
export const enum Claim {
  None = 0,
  /** The gateway writes the field itself, and believes no sender. */
  Own,
  /** The request's client or target before a proxy changed it: the gateway believes trusted proxies. */
  Identity,
}

/**
 * What the name in `bytes[from, to)` claims, in any case and with any separator: origins that hand fields on as CGI does
 * (RFC 3875 §4.1.18) read `X_Forwarded_For`, and some of them `X.Forwarded.For`, as `X-Forwarded-For`.
 */
export function claimOf(bytes: Uint8Array, from: number, to: number): Claim {
  if (to - from < SHORTEST) return Claim.None;
  // The first and the third byte tell nearly all names apart.
  const names = BUCKETS[CLASS[bytes[from]!]! * CLASSES + CLASS[bytes[from + 2]!]!]!;
  if (names === NO_NAMES) return Claim.None;
  for (let i = 0; i < names.length; i++) {
    const { name, isPrefix } = names[i]!;
    const fits = isPrefix ? to - from >= name.length : to - from === name.length;
    if (fits && readsAs(bytes, from, name)) return names[i]!.claim;
  }
  return Claim.None;
}

/** Whether a field of an unknown name claims something: see `claimOf`. */
export function isClaim(fields: HeaderBlock, index: number): boolean {
  return claimAt(fields, index) !== Claim.None;
}

/**
 * A trusted proxy has sent this head: the identity fields that were marked to be left out go on as they came, but for those
 * that the gateway writes itself. docs/security.md#identity-headers
 */
export function believeIdentity(fields: HeaderBlock): void {
  for (let i = 0; i < fields.count; i++) {
    const isMarked = fields.ids[i] === HeaderId.NamedByConnection;
    if (isMarked && claimAt(fields, i) === Claim.Identity) fields.ids[i] = HeaderId.Other;
  }
}

/**
 * Whether some proxy says in the head that the request is not its own: `Via`, or a field about the client behind it.
 * docs/security.md#internal-endpoints
 */
export function saysForwarded(fields: HeaderBlock): boolean {
  for (let i = 0; i < fields.count; i++) {
    const id = fields.ids[i]!;
    if (FORWARDED.includes(id)) return true;
    const isUnknown = id === HeaderId.Other || id === HeaderId.NamedByConnection;
    if (isUnknown && (claimAt(fields, i) !== Claim.None || readsAsOne(fields, i, CDN_LOOP))) return true;
  }
  return false;
}

/** Whether some field tells of a client: X-Forwarded-For, or any other that carries an address. */
export function namesClient(fields: HeaderBlock): boolean {
  if (fields.find(HeaderId.XRealIp) >= 0 || fields.find(HeaderId.XForwardedFor) >= 0) return true;
  for (let i = 0; i < fields.count; i++) {
    const isUnknown = fields.ids[i] === HeaderId.Other || fields.ids[i] === HeaderId.NamedByConnection;
    if (isUnknown && ADDRESS_NAMES.some((name) => readsAsOne(fields, i, name))) return true;
  }
  return false;
}

/** Whether the name in `bytes[from, to)` and `name` are one to an origin that folds case and separators. */
export function isSameFolded(bytes: Uint8Array, from: number, to: number, name: Uint8Array): boolean {
  if (to - from !== name.length) return false;
  for (let i = 0; i < name.length; i++) if (FOLDED[bytes[from + i]!] !== FOLDED[name[i]!]) return false;
  return true;
}

/** Whether the name in `bytes[from, to)` is `name`, which is folded, or begins with it if it ends in a dash. */
export function isFolded(bytes: Uint8Array, from: number, to: number, name: Uint8Array): boolean {
  const isFamily = name[name.length - 1] === Byte.Dash;
  return (isFamily ? to - from >= name.length : to - from === name.length) && readsAs(bytes, from, name);
}

function claimAt(headers: HeaderBlock, index: number): Claim {
  return claimOf(headers.bytes, headers.nameFrom(index), headers.nameTo(index));
}

function readsAsOne(headers: HeaderBlock, index: number, name: Uint8Array): boolean {
  return isFolded(headers.bytes, headers.nameFrom(index), headers.nameTo(index), name);
}

function readsAs(bytes: Uint8Array, from: number, name: Uint8Array): boolean {
  for (let i = 0; i < name.length; i++) if (FOLDED[bytes[from + i]!] !== name[i]) return false;
  return true;
}

interface ClaimedName {
  readonly name: Uint8Array;
  readonly isPrefix: boolean;
  readonly claim: Claim;
}

function claimed(name: string, claim: Claim): ClaimedName {
  const isPrefix = name.endsWith("*");
  return { name: latin1(isPrefix ? name.slice(0, -1) : name), isPrefix, claim };
}

/** The gateway's own come first: a prefix would take them, too. */
const NAMES: readonly ClaimedName[] = [
  ...OWN_FIELDS.map((name) => claimed(name, Claim.Own)),
  ...IDENTITY_FIELDS.map((name) => claimed(name, Claim.Identity)),
];

/** Letters in lower case, digits as they are, and one separator for everything else that may stand in a name. */
const FOLDED: Uint8Array = byteTable((byte) => (isAlphanumeric(LOWER[byte]!) ? LOWER[byte]! : Byte.Dash));
/** Fields with a client's address. */
const ADDRESS_NAMES: readonly Uint8Array[] = [
  "forwarded",
  "forwarded-for",
  "x-forwarded",
  "x-forwarded-for",
  "x-real-ip",
  "client-ip",
  "x-client-ip",
  "x-cluster-client-ip",
  "true-client-ip",
  "fastly-client-ip",
  "cf-connecting-ip",
  "cf-connecting-ipv6",
].map(latin1);
const NO_NAMES: readonly ClaimedName[] = [];
const SHORTEST = Math.min(...NAMES.map(({ name }) => name.length));
/** Folded bytes as small numbers: a separator, ten digits, 26 letters. */
const CLASSES = 37;
const CLASS: Uint8Array = byteTable((byte) => classOf(FOLDED[byte]!));
/** The names with one first and one third byte. */
const BUCKETS: readonly (readonly ClaimedName[])[] = buckets();
const FORWARDED: readonly HeaderId[] = [
  HeaderId.Via,
  HeaderId.XForwardedFor,
  HeaderId.XForwardedProto,
  HeaderId.XForwardedHost,
  HeaderId.XRealIp,
  HeaderId.XForwardedClientCert,
];
/** RFC 8586. */
const CDN_LOOP: Uint8Array = latin1("cdn-loop");

function buckets(): readonly (readonly ClaimedName[])[] {
  const all = new Array<readonly ClaimedName[]>(CLASSES * CLASSES).fill(NO_NAMES);
  for (const claimed of NAMES) {
    const at = classOf(claimed.name[0]!) * CLASSES + classOf(claimed.name[2]!);
    all[at] = [...all[at]!, claimed];
  }
  return all;
}

function classOf(folded: number): number {
  if (folded === Byte.Dash) return 0;
  return folded <= Byte.Nine ? 1 + folded - Byte.Zero : 11 + folded - Byte.LowerA;
}

function isAlphanumeric(byte: number): boolean {
  return (byte >= Byte.LowerA && byte <= Byte.LowerZ) || (byte >= Byte.Zero && byte <= Byte.Nine);
}
