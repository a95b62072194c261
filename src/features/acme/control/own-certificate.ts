import "reflect-metadata";
import { createHash, createPrivateKey, createPublicKey, generateKeyPair, webcrypto } from "node:crypto";
import { promisify } from "node:util";
import { cryptoProvider, Extension, SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";
import { ipVersion } from "../../../core/ip-address.ts";
import type { KeyType } from "../settings.ts";
import type { IssuedCertificate } from "./certificate-authority.ts";

/** A fresh key, PEM. RSA takes up to a second, off the event loop. */
export async function newPrivateKey(type: KeyType = "p256"): Promise<string> {
  const { privateKey } = type.startsWith("rsa")
    ? await makeKeys("rsa", { modulusLength: Number(type.slice("rsa".length)) })
    : await makeKeys("ec", { namedCurve: type === "p384" ? "P-384" : "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

const makeKeys = promisify(generateKeyPair);

/** What is served until the first certificate is there: clients warn, and the handshake works. docs/acme.md */
export function selfSigned(names: readonly string[]): Promise<IssuedCertificate> {
  return sign(names, SELF_SIGNED_MS, []);
}

/**
 * The certificate that answers a tls-alpn-01 challenge: it carries the digest of the key authorization, and is shown to
 * those alone who ask for `acme-tls/1`. RFC 8737 §3.
 */
export function challengeCertificate(name: string, keyAuthorization: string): Promise<IssuedCertificate> {
  const digest = createHash("sha256").update(keyAuthorization).digest();
  const octets = Buffer.concat([Buffer.of(0x04, digest.length), digest]);
  return sign([name], CHALLENGE_MS, [new Extension(ACME_IDENTIFIER, true, octets)]);
}

async function sign(names: readonly string[], lifeMs: number, more: readonly Extension[]): Promise<IssuedCertificate> {
  cryptoProvider.set(webcrypto as Crypto);
  const key = await newPrivateKey();
  const now = Date.now();
  const alternatives = names.map((value) => ({
    type: ipVersion(value) === 0 ? ("dns" as const) : ("ip" as const),
    value,
  }));
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=edge",
    keys: { privateKey: await imported(key, "sign"), publicKey: await imported(key, "verify") },
    signingAlgorithm: CURVE,
    notBefore: new Date(now - CLOCK_SKEW_MS),
    notAfter: new Date(now + lifeMs),
    extensions: [new SubjectAlternativeNameExtension(alternatives), ...more],
  });
  return { chain: `${certificate.toString("pem")}\n`, key };
}

function imported(key: string, use: "sign" | "verify"): Promise<CryptoKey> {
  const isPrivate = use === "sign";
  const der = isPrivate
    ? createPrivateKey(key).export({ type: "pkcs8", format: "der" })
    : createPublicKey(key).export({ type: "spki", format: "der" });
  return webcrypto.subtle.importKey(isPrivate ? "pkcs8" : "spki", new Uint8Array(der), CURVE, true, [
    use,
  ]) as Promise<CryptoKey>;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
/** id-pe-acmeIdentifier. RFC 8737 §6.1 */
const ACME_IDENTIFIER = "1.3.6.1.5.5.7.1.31";
const CLOCK_SKEW_MS = 3_600_000;
const SELF_SIGNED_MS = 90 * 86_400_000;
const CHALLENGE_MS = 7 * 86_400_000;
