import "reflect-metadata";
import { webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  cryptoProvider,
  type Extension,
  type JsonGeneralName,
  SubjectAlternativeNameExtension,
  X509Certificate,
  X509CertificateGenerator,
  X509CrlGenerator,
  X509CrlReason,
} from "@peculiar/x509";

/** A certificate with its key, both PEM. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** What a certificate says. */
export interface CertificateParts {
  readonly names?: readonly JsonGeneralName[];
  /** The common name. */
  readonly subject?: string;
  readonly notBefore?: Date;
  readonly notAfter?: Date;
  /** Beside the names. */
  readonly extensions?: readonly Extension[];
}

/** Makes a self-signed certificate for these DNS names and addresses, good from yesterday until tomorrow. */
export async function makeCertificate(names: readonly JsonGeneralName[] = LOOPBACK): Promise<TestCertificate> {
  const keys = await makeKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=test",
    keys,
    signingAlgorithm: CURVE,
    notBefore: daysFromNow(-1),
    notAfter: daysFromNow(1),
    extensions: [new SubjectAlternativeNameExtension([...names])],
  });
  return { cert: certificate.toString("pem"), key: await keyText(keys) };
}

/** A certificate authority that tests trust, or do not. */
export class TestAuthority {
  private constructor(
    private readonly keys: CryptoKeyPair,
    private readonly certificate: X509Certificate,
  ) {}

  /** PEM. */
  get cert(): string {
    return this.certificate.toString("pem");
  }

  static async make(name: string): Promise<TestAuthority> {
    const keys = await makeKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: `CN=${name}`,
      keys,
      signingAlgorithm: CURVE,
      notBefore: daysFromNow(-1),
      notAfter: daysFromNow(1),
      extensions: [new BasicConstraintsExtension(true, undefined, true)],
    });
    return new TestAuthority(keys, certificate);
  }

  /** A list of revoked certificates, PEM. */
  async revoke(...revoked: readonly TestCertificate[]): Promise<string> {
    const list = await X509CrlGenerator.create({
      issuer: this.certificate.subject,
      thisUpdate: daysFromNow(-1),
      nextUpdate: daysFromNow(1),
      signingKey: this.keys.privateKey,
      signingAlgorithm: CURVE,
      entries: revoked.map(({ cert }) => ({
        serialNumber: new X509Certificate(cert).serialNumber,
        // An entry has extensions, or none: an empty list is not read by all.
        reason: X509CrlReason.superseded,
      })),
    });
    return list.toString("pem").replaceAll(" CRL-", " X509 CRL-");
  }

  /** Signs a certificate, good from yesterday until tomorrow unless it says otherwise. */
  async issue(parts: CertificateParts = {}): Promise<TestCertificate> {
    const { names = LOOPBACK, subject = "test", extensions = [] } = parts;
    const { notBefore = daysFromNow(-1), notAfter = daysFromNow(1) } = parts;
    const keys = await makeKeys();
    const certificate = await X509CertificateGenerator.create({
      subject: `CN=${subject}`,
      issuer: this.certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.keys.privateKey,
      signingAlgorithm: CURVE,
      notBefore,
      notAfter,
      extensions: [new SubjectAlternativeNameExtension([...names]), ...extensions],
    });
    return { cert: certificate.toString("pem"), key: await keyText(keys) };
  }
}

/** A moment so many days from now. */
export function daysFromNow(days: number): Date {
  return new Date(Date.now() + days * DAY_MS);
}

/** Keys for a certificate. */
export async function makeKeys(): Promise<CryptoKeyPair> {
  cryptoProvider.set(webcrypto as Crypto);
  return (await webcrypto.subtle.generateKey(CURVE, true, ["sign", "verify"])) as CryptoKeyPair;
}

/** A private key as PEM (PKCS #8). */
export async function keyText(keys: CryptoKeyPair): Promise<string> {
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return `-----BEGIN PRIVATE KEY-----\n${key.replace(/(.{64})/g, "$1\n").trimEnd()}\n-----END PRIVATE KEY-----\n`;
}

/** Of all keys here. */
export const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;
/** The names of the loopback interface. */
export const LOOPBACK: readonly JsonGeneralName[] = [
  { type: "dns", value: "localhost" },
  { type: "ip", value: "127.0.0.1" },
];
