import { Byte, LOWER, latin1, table } from "../../core/ascii.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { HeaderId } from "../../message/header-id.ts";
import { dropTable } from "./field-copy.ts";

// Fields in which a client claims what the gateway itself says of the message and of the connection. Where they stand by
// their own names in a head, they are replaced; here are the ways around that.

/** What the gateway says itself or has settled, so that no client's word of it goes on. Decisions §3. */
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
const CLAIM: Uint8Array = dropTable(CLAIMS);

/**
 * Marks the trailers of a request that claim what the gateway says, or ask something before the body: an origin that
 * merges trailers into the head would believe them. RFC 9110 §6.5.1.
 * @param from number of the first field that came as a trailer
 */
export function markClaims(fields: HeaderBlock, from: number): void {
  for (let i = from; i < fields.count; i++) {
    const id = fields.ids[i]!;
    if (CLAIM[id] === 1 || (id === HeaderId.Other && isLookAlike(fields, i)))
      fields.ids[i] = HeaderId.NamedByConnection;
  }
}

/**
 * Whether a field of an unknown name has that of one which the gateway writes, with `_` for `-`: `X_Forwarded_For`.
 * Origins that hand fields on as CGI does (RFC 3875 §4.1.18) cannot tell the two apart.
 */
export function isLookAlike(fields: HeaderBlock, index: number): boolean {
  const { bytes, spans } = fields;
  const from = spans[index * 4]!;
  const length = spans[index * 4 + 1]! - from;
  // Two looks tell nearly all names apart. A shift counts modulo 32: lengths beyond it may pass, and are none of ours.
  if (FIRST[bytes[from]!] === 0 || ((LENGTHS >>> length) & 1) === 0) return false;
  for (let i = 0; i < OWN_NAMES.length; i++) {
    if (OWN_NAMES[i]!.length === length && readsAs(bytes, from, OWN_NAMES[i]!)) return true;
  }
  return false;
}

function readsAs(bytes: Uint8Array, from: number, name: Uint8Array): boolean {
  for (let i = 0; i < name.length; i++) {
    const byte = bytes[from + i]!;
    if (byte === Byte.Underscore ? name[i] !== Byte.Dash : LOWER[byte] !== name[i]) return false;
  }
  return true;
}

const OWN_NAMES: readonly Uint8Array[] = [
  "content-length",
  "transfer-encoding",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
  "x-forwarded-client-cert",
  "x-real-ip",
  "x-request-id",
].map(latin1);
/** 1 for the first letters of these names, in either case. */
const FIRST: Uint8Array = table((byte) => (OWN_NAMES.some((name) => name[0] === LOWER[byte]) ? 1 : 0));
/** A bit for each length of these names. */
const LENGTHS = OWN_NAMES.reduce((bits, { length }) => bits | (1 << length), 0);
