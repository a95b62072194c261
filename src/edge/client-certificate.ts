import { alternativeNames } from "../core/alternative-names.ts";
import type { ClientIdentity } from "../message/client-peer.ts";
import type { TlsSocket } from "../net/tls-upgrade.ts";

/** The certificate that a client has shown. */
export interface ShownCertificate {
  readonly isThere: boolean;
  /** Whether it has not expired: a resumed session may outlive it. */
  readonly isCurrent: boolean;
  /** What it says of the client; it is for the caller to know whether it is trusted. */
  readonly identity: ClientIdentity | null;
}

/**
 * Reads the certificate of a client whose handshake is over.
 * @param nowMs milliseconds since the epoch
 */
export function shownCertificate(socket: TlsSocket, wasAsked: boolean, nowMs: number): ShownCertificate {
  return readCertificate(wasAsked ? socket.getPeerX509Certificate() : undefined, nowMs);
}

/** The same of the certificate itself, as the runtime's QUIC gives it. */
export function readCertificate(
  certificate: ReturnType<TlsSocket["getPeerX509Certificate"]>,
  nowMs: number,
): ShownCertificate {
  if (certificate === undefined) return NO_CERTIFICATE;
  const names = certificate.subjectAltName ?? "";
  return {
    isThere: true,
    isCurrent: Date.parse(certificate.validTo) > nowMs,
    identity: {
      // RFC 2253 §2.1 begins with the last part.
      subject: certificate.subject.split("\n").reverse().join(","),
      uris: alternativeNames(names, "URI"),
      dnsNames: alternativeNames(names, "DNS"),
      sha256: certificate.fingerprint256.replaceAll(":", "").toLowerCase(),
    },
  };
}

/** Of a client without a certificate that counts. */
export const NO_CERTIFICATE: ShownCertificate = { isThere: false, isCurrent: true, identity: null };
