import { describe, expect, test } from "bun:test";
import { createHash, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { readSigningKeys, verifySignature } from "../../../../../src/features/fleet/remote/minisign.ts";

const TEXT = Buffer.from("server: {}\n");

function pair(id: string) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = publicKey.export({ format: "der", type: "spki" }).subarray(-32);
  const line = Buffer.concat([Buffer.from("Ed"), Buffer.from(id), raw]).toString("base64");
  return { privateKey, text: `untrusted comment: minisign public key\n${line}\n`, id };
}

interface Signing {
  readonly key: KeyObject;
  readonly id: string;
  readonly comment?: string;
  readonly algorithm?: string;
}

function signed(text: Uint8Array, { key, id, comment = COMMENT, algorithm = "ED" }: Signing): string {
  const message = algorithm === "ED" ? createHash("blake2b512").update(text).digest() : text;
  const own = sign(null, message, key);
  const global = sign(null, Buffer.concat([own, Buffer.from(comment)]), key);
  const first = Buffer.concat([Buffer.from(algorithm), Buffer.from(id), own]).toString("base64");
  return `untrusted comment: x\n${first}\ntrusted comment: ${comment}\n${global.toString("base64")}\n`;
}

const COMMENT = "timestamp:1700000000\tfile:x";
const [one, other] = [pair("abcdefgh"), pair("12345678")];
const keys = readSigningKeys(`${one.text}\n${other.text}`);
const by = ({ privateKey: key, id }: typeof one, more: Partial<Signing> = {}) => signed(TEXT, { key, id, ...more });

describe("a signature of minisign", () => {
  test.each(["ED", "Ed"])("holds over the text, by any of the keys (%s)", (algorithm) => {
    for (const who of [one, other])
      expect(verifySignature(TEXT, by(who, { algorithm }), keys)).toEqual({
        keyId: who === one ? "6867666564636261" : "3837363534333231",
        comment: COMMENT,
        signedAtS: 1_700_000_000,
      });
  });

  test("may come without a time, and with the line ends of Windows", () => {
    const text = by(one, { comment: "by hand" }).replaceAll("\n", "\r\n");
    expect(verifySignature(TEXT, text, keys)).toMatchObject({ comment: "by hand", signedAtS: 0 });
  });

  test("of another text, another key, or with another comment holds not", () => {
    const good = by(one);
    expect(() => verifySignature(Buffer.from("server: {} \n"), good, keys)).toThrow("does not fit the text");
    expect(() => verifySignature(TEXT, by({ ...one, id: "hgfedcba" }), keys)).toThrow("is not one of --signature-key");
    expect(() => verifySignature(TEXT, by({ ...one, id: other.id }), keys)).toThrow("does not fit the text");
    expect(() => verifySignature(TEXT, good.replace("1700000000", "1800000000"), keys)).toThrow("trusted comment");
    expect(() => verifySignature(TEXT, by(one, { algorithm: "Xx" }), keys)).toThrow("unknown algorithm");
  });

  test("that is cut off or changed anywhere never holds", () => {
    const good = by(one);
    for (let i = 0; i < good.length - 1; i++) expect(() => verifySignature(TEXT, good.slice(0, i), keys)).toThrow();
    for (let i = good.indexOf("\n") + 1; i < good.length - 1; i++) {
      // Bits of the last characters of a base64 text count for nothing.
      if (/[\n=]/.test(good[i]!) || /^.{1,2}=/s.test(good.slice(i))) continue;
      const changed = `${good.slice(0, i)}${good[i] === "A" ? "B" : "A"}${good.slice(i + 1)}`;
      expect(() => verifySignature(TEXT, changed, keys)).toThrow();
    }
  });
});

test.each(["", "untrusted comment: x\n", "RW", one.text.replace("RW", "AA")])("no key: %j", (text) => {
  expect(() => readSigningKeys(text)).toThrow(/public key of minisign/);
});
