import "reflect-metadata";
import { webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  cryptoProvider,
  ExtendedKeyUsageExtension,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { TestCertificate } from "./certificate.ts";

/** What a certificate is made for. */
export interface Issued {
  /** Its common name. */
  readonly name: string;
  /** A SPIFFE id; none without it. */
  readonly id?: string;
  /** Days until it ends, from now; negative for one that has ended. */
  readonly days?: number;
}

/** A certificate authority of its own, as a mesh has one. */
export class MeshAuthority {
  private serial = 1;

  private constructor(
    private readonly keys: CryptoKeyPair,
    private readonly certificate: X509Certificate,
  ) {}

  static async make(name = "mesh"): Promise<MeshAuthority> {
    cryptoProvider.set(webcrypto as Crypto);
    const keys = await newKeys();
    const certificate = await X509CertificateGenerator.createSelfSigned({
      name: `CN=${name}`,
      keys,
      signingAlgorithm: CURVE,
      notBefore: new Date(Date.now() - 30 * DAY_MS),
      notAfter: new Date(Date.now() + 30 * DAY_MS),
      extensions: [new BasicConstraintsExtension(true, 1, true)],
    });
    return new MeshAuthority(keys, certificate);
  }

  get pem(): string {
    return `${this.certificate.toString("pem")}\n`;
  }

  /** A certificate for 127.0.0.1 and localhost, good as client and as server. */
  async issue({ name, id, days = 10 }: Issued): Promise<TestCertificate> {
    const keys = await newKeys();
    const names = [
      { type: "dns", value: "localhost" },
      { type: "ip", value: "127.0.0.1" },
      ...(id === undefined ? [] : [{ type: "url", value: id }]),
    ] as const;
    const certificate = await X509CertificateGenerator.create({
      serialNumber: (++this.serial).toString(16).padStart(4, "0"),
      subject: `CN=${name}`,
      issuer: this.certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.keys.privateKey,
      signingAlgorithm: CURVE,
      notBefore: new Date(Date.now() - 20 * DAY_MS),
      notAfter: new Date(Date.now() + days * DAY_MS),
      extensions: [
        new SubjectAlternativeNameExtension([...names]),
        new ExtendedKeyUsageExtension(["1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"]),
      ],
    });
    const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
    return {
      cert: `${certificate.toString("pem")}\n`,
      key: `-----BEGIN PRIVATE KEY-----\n${key.replace(/(.{64})/g, "$1\n").trimEnd()}\n-----END PRIVATE KEY-----\n`,
    };
  }
}

async function newKeys(): Promise<CryptoKeyPair> {
  return (await webcrypto.subtle.generateKey(CURVE, true, ["sign", "verify"])) as CryptoKeyPair;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;
