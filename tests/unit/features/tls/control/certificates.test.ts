import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { CertificateList } from "../../../../../src/features/tls/control/certificates.ts";
import { makeCertificate } from "../../../../harness/certificate.ts";
import { Scratch } from "../../../../harness/openssl.ts";

const scratch = new Scratch();
afterAll(() => scratch[Symbol.dispose]());
const [one, two] = await Promise.all(["one", "two"].map((name) => pairOf(name)));
const sent: string[][] = [];
const failed: string[] = [];
const keeper = new CertificateList({
  onCertificates: ({ certificates }) => sent.push(certificates.map(({ names }) => names[0]!)),
  onReloaded: () => {},
  onFailed: (file) => failed.push(file),
});
afterAll(() => keeper.stop());

async function pairOf(name: string) {
  const { cert, key } = await makeCertificate([{ type: "dns", value: name }]);
  return { certFile: scratch.write(`${name}.pem`, cert), keyFile: scratch.write(`${name}.key`, key), cert };
}

beforeEach(() => {
  keeper.useFiles({ certificates: [], clientCaFile: "" });
  sent.length = 0;
  failed.length = 0;
});

describe("the files of a configuration", () => {
  test("are sent as a whole, and again only when they change", () => {
    keeper.useFiles({ certificates: [one!, two!], clientCaFile: "" });
    keeper.refresh();
    keeper.useFiles({ certificates: [one!, two!], clientCaFile: "" });
    expect(sent).toEqual([["one", "two"]]);
  });

  test("are sent in their new order, since the first is the default", () => {
    keeper.useFiles({ certificates: [one!, two!], clientCaFile: "" });
    keeper.useFiles({ certificates: [two!, one!], clientCaFile: "" });
    expect(sent).toEqual([
      ["one", "two"],
      ["two", "one"],
    ]);
  });
});

test("a file of authorities that breaks a second time in the same way is told of a second time", () => {
  const file = scratch.write("ca.pem", one!.cert);
  const files = { certificates: [], clientCaFile: file };
  keeper.useFiles(files);
  for (const text of ["no certificate", "no certificate", one!.cert, "no certificate"]) {
    scratch.write("ca.pem", text);
    keeper.refresh();
  }
  expect(failed).toEqual([file, file]);
});
