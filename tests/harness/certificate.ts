import "reflect-metadata";
import { webcrypto } from "node:crypto";
import { cryptoProvider, SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";

/** A self-signed server certificate with its key, both PEM. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;

/** Makes a certificate for these DNS names and addresses, good from yesterday until tomorrow. */
export async function makeCertificate(
  names: readonly { readonly type: "dns" | "ip"; readonly value: string }[] = [
    { type: "dns", value: "localhost" },
    { type: "ip", value: "127.0.0.1" },
  ],
): Promise<TestCertificate> {
  cryptoProvider.set(webcrypto as Crypto);
  const keys = (await webcrypto.subtle.generateKey(CURVE, true, ["sign", "verify"])) as CryptoKeyPair;
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=test",
    keys,
    signingAlgorithm: CURVE,
    notBefore: new Date(Date.now() - DAY_MS),
    notAfter: new Date(Date.now() + DAY_MS),
    extensions: [new SubjectAlternativeNameExtension([...names])],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${key.replace(/(.{64})/g, "$1\n").trimEnd()}\n-----END PRIVATE KEY-----\n`,
  };
}
