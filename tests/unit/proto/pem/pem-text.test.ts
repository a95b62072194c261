// docs/tls.md#files
import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { readCertificates, readPrivateKey } from "../../../../src/proto/pem/pem-text.ts";
import { makeCertificate } from "../../../harness/certificate.ts";

interface Pem {
  readonly cert: string;
  readonly key: string;
}
const [one, two] = (await Promise.all([makeCertificate(), makeCertificate()])).map(({ cert, key }) => ({
  cert: `${cert.trimEnd()}\n`,
  key: `${key.trimEnd()}\n`,
})) as [Pem, Pem];
const der = new X509Certificate(one.cert).raw;
const GARBAGE = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

const certificates = (text: string | Uint8Array) => () => readCertificates(Buffer.from(text as string));
const key = (text: string | Uint8Array) => () => readPrivateKey(Buffer.from(text as string));

describe("a file with certificates", () => {
  test.each([
    ["alone", one.cert],
    ["with a byte order mark", `\ufeff${one.cert}`],
    ["with its key", one.key + one.cert],
    ["with text around them", `Subject: x\n${one.cert}\nBag Attributes\n`],
    ["with lines that end as on Windows", one.cert.replaceAll("\n", "\r\n")],
    ["with space at the ends of lines", one.cert.replaceAll("\n", " \n")],
    ["without a last line end", one.cert.trimEnd()],
  ])("%s is that certificate, and nothing else", (_, text) => {
    const { leaf, pem } = certificates(text)();
    expect(leaf.raw.equals(der)).toBe(true);
    expect(pem.match(/BEGIN [A-Z ]+/g)).toEqual(["BEGIN CERTIFICATE"]);
    expect(new X509Certificate(pem).raw.equals(der)).toBe(true);
  });

  test("keeps their order", () => {
    const { leaf, pem } = certificates(one.cert + two.cert)();
    expect(leaf.raw.equals(der)).toBe(true);
    expect(pem.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
  });

  test.each([
    ["whose second block is damaged", one.cert + GARBAGE, "certificate 2 of 2 is damaged"],
    ["whose first block is damaged", GARBAGE + one.cert, "certificate 1 of 2 is damaged"],
    ["that is cut off in the second block", one.cert + two.cert.slice(0, 200), "CERTIFICATE is cut off: block 2"],
    ["that is cut off in the first", one.cert.slice(0, 200), "CERTIFICATE is cut off: block 1"],
    ["whose end line is damaged", one.cert.replace("-----END CERTIFICATE-----", "-----END CERTIFICATE----"), "cut off"],
    [
      "whose first end line is missing",
      one.cert.replace(/-----END.*\n/, "") + two.cert,
      "CERTIFICATE is cut off: block 1",
    ],
    [
      "with a request",
      "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n",
      "found CERTIFICATE REQUEST",
    ],
    ["in DER", der, "openssl x509 -inform der"],
    ["in UTF-16", Buffer.from(`\ufeff${one.cert}`, "utf16le"), "UTF-16"],
    ["with nothing", "", "expected a certificate in PEM form"],
    ["with a key alone", one.key, "expected a certificate in PEM form"],
  ])("%s is none", (_, text, fault) => {
    expect(certificates(text)).toThrow(fault);
  });
});

describe("a file with a key", () => {
  test.each([
    ["alone", one.key],
    ["with a byte order mark", `\ufeff${one.key}`],
    ["behind its certificate", one.cert + one.key],
  ])("%s is that key", (_, text) => {
    expect(new X509Certificate(one.cert).checkPrivateKey(key(text)().key)).toBe(true);
  });

  test.each([
    ["that is cut off", one.key.slice(0, 60), "is cut off"],
    ["without one", one.cert, "expected an unencrypted private key"],
    [
      "that is damaged",
      "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
      "expected an unencrypted private key",
    ],
    [
      "that is encrypted",
      "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
      "unencrypted",
    ],
  ])("%s is none", (_, text, fault) => {
    expect(key(text)).toThrow(fault);
  });
});
