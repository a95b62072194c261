import "reflect-metadata";
import {
  AuthorityKeyIdentifierExtension,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";
import type { IssuedCertificate } from "../../../../../src/features/acme/control/certificate-authority.ts";
import { CURVE, daysFromNow, keyText, makeKeys } from "../../../../harness/certificate.ts";

/** What a test's certificate is to be like. */
export interface CertificateWish {
  readonly names?: readonly string[];
  readonly notBeforeMs?: number;
  readonly notAfterMs?: number;
  readonly serial?: string;
  readonly issuerKeyId?: string;
}

/** Makes a certificate as an authority would give it. */
export async function issueCertificate(wish: CertificateWish = {}): Promise<IssuedCertificate> {
  const keys = await makeKeys();
  const names = wish.names ?? ["a.test"];
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: "CN=test",
    keys,
    signingAlgorithm: CURVE,
    ...(wish.serial === undefined ? {} : { serialNumber: wish.serial }),
    notBefore: new Date(wish.notBeforeMs ?? Date.now() - 1000),
    notAfter: wish.notAfterMs === undefined ? daysFromNow(90) : new Date(wish.notAfterMs),
    extensions: [
      new SubjectAlternativeNameExtension(names.map((value) => ({ type: "dns" as const, value }))),
      new AuthorityKeyIdentifierExtension(wish.issuerKeyId ?? "69885b6b87464041e1b37b847ba0ae2cde01c8d4"),
    ],
  });
  return { chain: `${certificate.toString("pem")}\n`, key: await keyText(keys) };
}
