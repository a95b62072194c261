import {
  AuthorityKeyIdentifierExtension,
  cryptoProvider,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import type { IssuedCertificate } from "../../../src/features/acme/certificate-authority.ts";

/** What a test's certificate is to be like. */
export interface CertificateWish {
  readonly names?: readonly string[];
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
  readonly serial?: string;
  readonly issuerKeyId?: string;
}

const CURVE = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const DAY_MS = 86_400_000;

/** Makes a certificate as an authority would give it. */
export async function issueCertificate(wish: CertificateWish = {}): Promise<IssuedCertificate> {
  cryptoProvider.set(webcrypto as Crypto);
  const keys = (await webcrypto.subtle.generateKey(CURVE, true, ["sign", "verify"])) as CryptoKeyPair;
  const names = wish.names ?? ["a.test"];
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=test",
    keys,
    signingAlgorithm: CURVE,
    ...(wish.serial === undefined ? {} : { serialNumber: wish.serial }),
    notBefore: new Date(wish.notBeforeMs ?? Date.now() - 1000),
    notAfter: new Date(wish.notAfterMs ?? Date.now() + 90 * DAY_MS),
    extensions: [
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: "dns" as const, value }))),
      new AuthorityKeyIdentifierExtension(wish.issuerKeyId ?? "69885b6b87464041e1b37b847ba0ae2cde01c8d4"),
    ],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return {
    chain: `${certificate.toString("pem")}\n`,
    key: `-----BEGIN PRIVATE KEY-----\n${key.replace(/(.{64})/g, "$1\n").trimEnd()}\n-----END PRIVATE KEY-----\n`,
  };
}
