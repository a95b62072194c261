/** What the library says of a handshake with an origin. */
export interface HandshakeError {
  readonly code?: string;
}

/**
 * Whether a connection to an origin may be used, now that its handshake is over.
 * @param verify whether the origin's certificate must be trusted and have its name
 */
export function isUsable(verify: boolean, ok: boolean, error: HandshakeError | null | undefined): boolean {
  return verify ? ok && !error : !isBroken(error);
}

/**
 * Whether the handshake failed, rather than the check of the certificate. Bun says `ok: false` for either (seen with a
 * self-signed certificate and verification off); only system errors look like EPROTO or ECONNRESET.
 */
function isBroken(error: HandshakeError | null | undefined): boolean {
  return error?.code !== undefined && /^E[A-Z]+$/.test(error.code);
}
