import { expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { ALGORITHM_NAMES, readKeySet, readPublicKeys, secretKey } from "../../../../src/proto/jwt/key-set.ts";
import { issuerKey, pem, publicJwk } from "../../../harness/token-issuer.ts";

const es256 = issuerKey("ES256", "e");
const rsa = issuerKey("RS256", "r");
const ed = issuerKey("EdDSA", "d");

function read(...keys: readonly unknown[]) {
  const found = readKeySet(JSON.stringify({ keys }), ALGORITHM_NAMES);
  if (found instanceof Error) throw found;
  return { algorithms: found.keys.map(({ algorithms }) => algorithms), notes: found.notes };
}

/** The public members alone, with others laid over them. */
function bare(key: typeof rsa, more: object = {}): object {
  const { alg: _, use: __, ...jwk } = publicJwk(key);
  return { ...jwk, ...more };
}

test("a key has the algorithms of its kind, its curve and its alg", () => {
  expect(read(bare(es256), bare(rsa), bare(rsa, { alg: "PS384" }), bare(ed)).algorithms).toEqual([
    ["ES256"],
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
    ["PS384"],
    ["EdDSA", "Ed25519"],
  ]);
  expect(read(bare(ed, { alg: "Ed25519" })).algorithms).toEqual([["EdDSA", "Ed25519"]]);
});

test.each([
  ["an algorithm of another kind", bare(rsa, { alg: "HS256" }), /algorithms/],
  ["an algorithm of another curve", bare(es256, { alg: "ES384" }), /leaves out/],
  ["an unknown algorithm", bare(rsa, { alg: "none" }), /not supported/],
  ["an algorithm that is no text", bare(rsa, { alg: ["RS256"] }), /not supported/],
  ["a secret", { kty: "oct", k: "AAAA" }, /secret/],
  ["a secret beside", bare(rsa, { k: "AAAA" }), /secret/],
  ["a private key", es256.privateKey.export({ format: "jwk" }), /private/],
  ["an unknown kind", { kty: "AKP", pub: "AAAA" }, /kind/],
  ["a kind of a prototype", { kty: "__proto__" }, /kind/],
  ["no kind", {}, /kind/],
  ["another use", bare(rsa, { use: "both" }), /use/],
  ["a kid that is a number", bare(rsa, { kid: 1 }), /kid/],
  ["a kid that is too long", bare(rsa, { kid: "k".repeat(300) }), /kid/],
  ["a missing member", { kty: "EC", crv: "P-256", x: "AAAA" }, /needs/],
  ["a member that is no text", bare(rsa, { e: 65537 }), /needs/],
  ["a point that is not on the curve", bare(es256, { x: "A".repeat(43) }), /cannot be read/],
  ["an unknown curve", bare(es256, { crv: "P-999" }), /cannot be read/],
  ["RSA of 1024 bits", bare(issuerKey("RS256", "s", 1024)), /1024 bits/],
  ["an exponent of 1", bare(rsa, { e: "AQ" }), /exponent|cannot be read/],
  ["X25519", { ...generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }) }, /kind/],
  ["a list", [], /object/],
  ["null", null, /object/],
])("%s is passed over with a note", (_, key, reason) => {
  const { algorithms, notes } = read(key, bare(es256));
  expect(algorithms).toEqual([["ES256"]]);
  expect(notes).toHaveLength(1);
  expect(notes[0]).toMatch(reason);
});

test("keys for encryption are passed over silently; too many keys are not read", () => {
  expect(read(bare(rsa, { use: "enc" }), bare(rsa, { key_ops: ["encrypt"] }))).toEqual({ algorithms: [], notes: [] });
  const { algorithms, notes } = read(...Array.from({ length: 70 }, () => bare(es256)));
  expect([algorithms.length, notes]).toEqual([64, ["6 keys after the first are passed over"]]);
});

test.each(["", "{", "[]", "{}", "null", '{"keys":{}}', "7"])("%j is no set", (text) => {
  expect(readKeySet(text, ALGORITHM_NAMES)).toBeInstanceOf(Error);
});

test("PEM: several keys; never a private one", () => {
  const both = readPublicKeys(`text\n${pem(es256.publicKey)}\n${pem(rsa.publicKey)}`, ["ES256", "RS512"]);
  expect(both instanceof Error ? both : both.keys.map(({ algorithms }) => algorithms)).toEqual([["ES256"], ["RS512"]]);
  for (const text of [
    pem(rsa.privateKey),
    pem(es256.publicKey) + pem(es256.privateKey),
    "",
    "x",
    "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----",
  ])
    expect(readPublicKeys(text, ALGORITHM_NAMES)).toBeInstanceOf(Error);
});

test("a secret is for what it is long enough for", () => {
  const of = (length: number) => secretKey("s".repeat(length), ALGORITHM_NAMES).algorithms;
  expect([of(31), of(32), of(48), of(64)]).toEqual([[], ["HS256"], ["HS256", "HS384"], ["HS256", "HS384", "HS512"]]);
});
