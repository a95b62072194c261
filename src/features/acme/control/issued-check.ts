import { createPrivateKey, X509Certificate } from "node:crypto";
import { alternativeNames } from "../../../core/alternative-names.ts";
import { ipVersion } from "../../../core/ip-address.ts";
import { AcmeFailure, type IssuedCertificate } from "./certificate-authority.ts";

/**
 * Checks what an authority sent before it replaces what works.
 * @throws AcmeFailure for a certificate that is none, is for another key, lacks a name, or is not good now
 */
export function requireFitting({ chain, key }: IssuedCertificate, names: readonly string[], nowMs: number): void {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(chain);
  } catch {
    throw unfit("no certificate");
  }
  if (!certificate.checkPrivateKey(createPrivateKey(key))) throw unfit("a certificate for another key");
  const missing = names.find((name) => !isFor(certificate, name));
  if (missing !== undefined) throw unfit(`a certificate without ${missing}`);
  if (Date.parse(certificate.validTo) <= nowMs) throw unfit("a certificate that has expired");
}

/** Whether a certificate is for a DNS name or an address. */
export function isFor(certificate: X509Certificate, name: string): boolean {
  if (name.startsWith("*.")) return alternativeNames(certificate.subjectAltName ?? "", "DNS").includes(name);
  return (ipVersion(name) === 0 ? certificate.checkHost(name) : certificate.checkIP(name)) !== undefined;
}

function unfit(what: string): AcmeFailure {
  return new AcmeFailure("bad_certificate", `the directory sent ${what}`);
}
