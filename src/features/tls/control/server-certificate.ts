import { type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { CertificateFiles } from "../../../config/tls-settings.ts";
import { alternativeNames } from "../../../core/alternative-names.ts";
import type { ServerCertificate } from "../../../message/server-certificate.ts";
import { createTlsContext } from "../../../net/tls-context.ts";
import { keyFault, readCertificates, readPrivateKey } from "../../../proto/pem/pem-text.ts";

/**
 * Reads a certificate and its key.
 * @throws Error that names the fault in them
 */
export function readServerCertificate({ certFile, keyFile }: CertificateFiles): ServerCertificate {
  const certificate = serverCertificate(certFile, readFileSync(certFile), readFileSync(keyFile));
  const leaf = new X509Certificate(certificate.chain);
  const signatures = signaturesOf(leaf.publicKey);
  if (signatures.length === 0) return certificate;
  const issuedWith = leaf.subject === leaf.issuer ? undefined : ISSUER_SCHEMES.get(leaf.signatureAlgorithm ?? "");
  return { ...certificate, signatures, ...(issuedWith === undefined ? {} : { issuedWith }) };
}

/**
 * Makes a certificate of PEM texts: it is shown for the DNS names that stand in it.
 * @param id see ServerCertificate
 * @throws Error if they are no certificate and key, or do not belong together
 */
export function serverCertificate(id: string, chain: string | Uint8Array, key: string | Uint8Array): ServerCertificate {
  const { leaf, pem } = readCertificates(bytesOf(chain));
  const fault = keyFault(leaf);
  if (fault !== "") throw new Error(fault);
  const own = readPrivateKey(bytesOf(key));
  if (!leaf.checkPrivateKey(own.key)) throw new Error("the private key does not belong to the certificate");
  // What the TLS library does not take must be known before a client is there.
  createTlsContext({ chain: pem, key: own.pem, minVersion: "1.2", clientAuthorities: null });
  return { id, names: namesOf(leaf), chain: pem, key: own.pem };
}

function bytesOf(text: string | Uint8Array): Uint8Array {
  return typeof text === "string" ? Buffer.from(text) : text;
}

/** RFC 8446 §4.2.3: with TLS 1.3 a scheme of ECDSA means one curve alone. */
function signaturesOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): readonly number[] {
  if (asymmetricKeyType === "rsa") return RSA_SCHEMES;
  const scheme = ECDSA_SCHEMES.get(asymmetricKeyDetails?.namedCurve ?? "");
  return asymmetricKeyType === "ec" && scheme !== undefined ? [scheme] : [];
}

/** rsa_pss_rsae_sha256 and larger, rsa_pkcs1_sha256 and larger. */
const RSA_SCHEMES: readonly number[] = [0x0804, 0x0805, 0x0806, 0x0401, 0x0501, 0x0601];
const ECDSA_SCHEMES: ReadonlyMap<string, number> = new Map([
  ["prime256v1", 0x0403],
  ["secp384r1", 0x0503],
  ["secp521r1", 0x0603],
]);

/** What a certificate's signature is called in a ClientHello; one of ECDSA says its hash and not its curve. */
const ISSUER_SCHEMES: ReadonlyMap<string, readonly number[]> = new Map([
  ["sha256WithRSAEncryption", [0x0401]],
  ["sha384WithRSAEncryption", [0x0501]],
  ["sha512WithRSAEncryption", [0x0601]],
  ["ecdsa-with-SHA256", [0x0403]],
  ["ecdsa-with-SHA384", [0x0503]],
  ["ecdsa-with-SHA512", [0x0603]],
]);

/** RFC 6125 §6.4.4: the common name counts if there are no alternative names. */
function namesOf(leaf: X509Certificate): string[] {
  const names = alternativeNames(leaf.subjectAltName ?? "", "DNS");
  if (names.length === 0) names.push(...(/^CN=([\w.*-]+)$/m.exec(leaf.subject)?.slice(1) ?? []));
  return [...new Set(names.map((name) => name.toLowerCase()))];
}
