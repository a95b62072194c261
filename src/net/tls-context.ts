import type { SecureContextOptions } from "node:tls";
import { lateTls } from "./late-modules.ts";

/** A certificate, its key and whom to trust, made ready for handshakes. Sessions are resumed within one context. */
export type TlsContext = object & { readonly tlsContext: never };

/** What a context is made of. */
interface TlsContextInit {
  /** PEM, leaf first. */
  readonly chain: string;
  /** PEM. */
  readonly key: string;
  readonly minVersion: "1.2" | "1.3";
  /** PEM certificates that client certificates must lead to; "" means those of the system; null asks for none. */
  readonly clientAuthorities: string | null;
  /** PEM lists of revoked certificates, one a text. If there is one, an authority without a list is not trusted. */
  readonly revocations?: readonly string[];
  /** Suites of TLS 1.2 and curves, the preferred ones first; none for the usual ones. */
  readonly ciphers?: readonly string[];
  readonly curves?: readonly string[];
}

/**
 * Makes a context. It costs some 150 µs, so one is kept a certificate.
 * @throws when certificate and key are broken or do not belong together
 */
export function createTlsContext(init: TlsContextInit): TlsContext {
  const { createSecureContext, getCACertificates } = lateTls();
  const options: SecureContextOptions = {
    cert: init.chain,
    key: init.key,
    minVersion: init.minVersion === "1.3" ? "TLSv1.3" : "TLSv1.2",
    ciphers: init.ciphers?.length ? init.ciphers.join(":") : CIPHERS,
    sessionIdContext: SESSION_CONTEXT,
  };
  if (init.curves?.length) options.ecdhCurve = init.curves.join(":");
  // The library reads the first list of a text alone.
  if (init.revocations?.length) options.crl = [...init.revocations];
  if (init.clientAuthorities !== null) {
    options.ca = init.clientAuthorities === "" ? getCACertificates("system") : init.clientAuthorities;
  }
  return (createSecureContext(options) as unknown as { context: TlsContext }).context;
}

/**
 * Of TLS 1.2, the suites with forward secrecy and authenticated encryption; those of TLS 1.3 all have both. RFC 9325 §4.2;
 * RFC 9113 §9.2.2 forbids the others to HTTP/2.
 */
const CIPHERS = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

/** Sessions with client certificates need one. Contexts do not share keys, so one word serves for all. */
const SESSION_CONTEXT = "edge";
