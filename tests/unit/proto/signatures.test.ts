import { describe, expect, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import fc from "fast-check";
import { NonceMemory, nonceBuffer } from "../../../src/features/agents/nonce-memory.ts";
import { parseDictionary } from "../../../src/proto/semantics/structured-fields.ts";
import { memberText } from "../../../src/proto/semantics/structured-text.ts";
import { directoryUrl, readAgentKeys, thumbprintOf } from "../../../src/proto/signatures/agent-keys.ts";
import { type SignedRequest, signatureBase } from "../../../src/proto/signatures/signature-base.ts";
import { readSignatures } from "../../../src/proto/signatures/signature-fields.ts";

/** RFC 9421 B.1.4 */
const KEY = { kty: "OKP", crv: "Ed25519", x: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs" };
/** RFC 9421 B.2 */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  date: ["Tue, 20 Apr 2021 02:07:55 GMT"],
  "content-type": ["application/json"],
  "content-length": ["18"],
};
const REQUEST: SignedRequest = {
  method: "POST",
  scheme: "https",
  authority: "example.com",
  path: "/foo",
  query: "param=Value&Pet=dog",
  target: "/foo?param=Value&Pet=dog",
  linesOf: (name) => FIELDS[name] ?? [],
};
/** RFC 9421 B.2.6 */
const INPUT =
  'sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"';
const SIGNATURE = "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:";
const object = createPublicKey({ key: KEY, format: "jwk" });

describe("a signature of a message", () => {
  test("verifies as in RFC 9421, and no longer with another byte of the request", () => {
    const [found] = readSignatures(INPUT, SIGNATURE);
    const holds = (request: SignedRequest): boolean =>
      verify(null, Buffer.from(signatureBase(found!.covered, request)!, "latin1"), object, found!.bytes);
    expect(holds(REQUEST)).toBe(true);
    expect(found).toMatchObject({ label: "sig-b26", created: 1618884473, expires: -1, keyId: "test-key-ed25519" });
    for (const other of [{ method: "GET" }, { path: "/foo/" }, { authority: "example.org" }])
      expect(holds({ ...REQUEST, ...other })).toBe(false);
  });

  test("has the thumbprint of RFC 8037 as its key's name", () => {
    const jwk = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
    expect(thumbprintOf(createPublicKey({ key: jwk, format: "jwk" }))).toBe(
      "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    );
  });

  test("never throws, whatever its fields are", () => {
    const piece = fc.constantFrom(
      "sig1",
      "=",
      "(",
      ")",
      '"@authority"',
      '"x"',
      ";",
      "created",
      "=1",
      ":",
      "AAAA",
      ",",
      " ",
      '"',
      "\\",
      "?1",
      "%",
      "é",
      "@5",
      "-1.5",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), fc.array(piece, { maxLength: 20 }), (input, signature) => {
        for (const { covered } of readSignatures(input.join(""), signature.join(""))) signatureBase(covered, REQUEST);
      }),
    );
  });

  test("is written as it was read, in one spelling", () => {
    for (const [text, expected] of [
      ['a="x\\"y";q=1;w', '"x\\"y";q=1;w'],
      ["a=( 1  2.50   t );z=?0", "(1 2.5 t);z=?0"],
      ["a=:AQI=:;d=@5", ":AQI=:;d=@5"],
      ["a=1.0", "1.0"],
      ['a=%"f%c3%bc%22"', '%"f%c3%bc%22"'],
    ])
      expect(memberText(parseDictionary(text!)!.get("a")!)).toBe(expected!);
    expect(parseDictionary("a=1, a=2", true)).toBeNull();
    expect(parseDictionary("a=1;b;b", true)).toBeNull();
  });
});

test("a directory gives the keys of Ed25519 that count now", () => {
  const now = 1_800_000_000_000;
  const { x } = KEY;
  const all = [
    { ...KEY, kid: "one" },
    { ...KEY, nbf: 1_900_000_000 },
    { ...KEY, exp: 1_700_000_000_000 },
    { ...KEY, d: x },
    { ...KEY, use: "enc" },
    { kty: "OKP", crv: "X25519", x },
    7,
  ];
  const read = readAgentKeys(JSON.stringify({ keys: all }), now);
  if (read instanceof Error) throw read;
  expect(read.keys.map(({ ids }) => ids)).toEqual([["poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U", "one"]]);
  expect(read.notes.length).toBe(6);
  expect(readAgentKeys("<html>", now)).toBeInstanceOf(Error);
  expect(readAgentKeys("{}", now)).toBeInstanceOf(Error);
});

test("a directory's URL is that of its origin, or its own", () => {
  const known = "https://bot.example/.well-known/http-message-signatures-directory";
  for (const text of ["https://bot.example", "https://BOT.example:443/"]) expect(directoryUrl(text)).toBe(known);
  expect(directoryUrl("https://bot.example/keys?a=1#b")).toBe("https://bot.example/keys?a=1");
  for (const text of ["bot.example", "data:,x", "https://u@bot.example", "", `https://${"a".repeat(3000)}`])
    expect(directoryUrl(text)).toBe("");
});

test("a nonce counts once until it is too old, and memory is bounded", () => {
  const memory = new NonceMemory(nonceBuffer(1_000_000));
  const other = new NonceMemory(nonceBuffer(1_000_000));
  expect(memory.take("a", 1300, 1_000_000)).toBe(true);
  expect(memory.take("a", 1300, 1_299_000)).toBe(false);
  expect(memory.take("b", 1300, 1_000_000)).toBe(true);
  expect(memory.take("a", 1900, 1_400_000)).toBe(true);
  let taken = 0;
  for (let i = 0; i < 300_000; i++) if (other.take(`n${i}`, 1300, 1_000_000)) taken++;
  expect(taken).toBeLessThanOrEqual(131_072);
  expect(taken).toBeGreaterThan(100_000);
});
