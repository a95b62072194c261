import { expect, test } from "bun:test";
import { DocumentSeal, SealBroken } from "../../../../../../src/features/acme/control/shared/document-seal.ts";

const [OLD, NEW] = ["an old secret of thirty-two characters", "a new secret of thirty-two characters"];

test("what was sealed is opened under its name alone, and holds nothing in the clear", () => {
  const seal = new DocumentSeal([OLD]);
  const sealed = seal.seal("cert/a", "BEGIN PRIVATE KEY");
  expect(sealed).toMatch(/^edge1\.[0-9a-f]{8}\.[\w-]+$/);
  expect(sealed).not.toContain("PRIVATE");
  expect(seal.seal("cert/a", "BEGIN PRIVATE KEY")).not.toBe(sealed);
  expect(seal.open("cert/a", sealed)).toEqual({ text: "BEGIN PRIVATE KEY", isCurrent: true });
  expect(() => seal.open("cert/b", sealed)).toThrow(SealBroken);
});

test("of several secrets the first seals and all open", () => {
  const sealed = new DocumentSeal([OLD]).seal("a", "text");
  expect(new DocumentSeal([NEW, OLD]).open("a", sealed)).toEqual({ text: "text", isCurrent: false });
  expect(() => new DocumentSeal([NEW]).open("a", sealed)).toThrow("a was sealed with another storage_key");
});

test("any change is noticed", () => {
  const seal = new DocumentSeal([OLD]);
  const sealed = seal.seal("a", "some text");
  const content = sealed.slice(sealed.lastIndexOf(".") + 1);
  const bytes = Buffer.from(content, "base64url");
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at]! ^= 1;
    expect(() => seal.open("a", sealed.replace(content, changed.toString("base64url")))).toThrow(SealBroken);
  }
  for (const text of [
    "",
    "edge1",
    "edge1.00000000",
    `edge1.${sealed.split(".")[1]}.AA`,
    `edge2${sealed.slice(5)}`,
    "x.y.z",
  ])
    expect(() => seal.open("a", text)).toThrow(SealBroken);
});
