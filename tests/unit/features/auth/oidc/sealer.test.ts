import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Sealer, type SealScope } from "../../../../../src/features/auth/oidc/sealer.ts";

// docs/security.md#sessions
const SCOPE: SealScope = { issuer: "https://id.example.com", clientId: "edge", routes: "server" };
const OLD = "the old secret, of thirty-two letters";
const NEW = "the new secret, of thirty-two letters";
const sealer = new Sealer([OLD], SCOPE);

describe("a sealed text", () => {
  test("opens as what it was sealed as, in letters that a cookie takes", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), fc.string(), (text, host) => {
        const sealed = sealer.seal("session", host, Buffer.from(text));
        expect(sealed).toMatch(/^[A-Za-z0-9_-]+$/);
        expect(sealer.open("session", host, sealed)).toEqual(Buffer.from(text));
      }),
    );
  });

  test("is another one each time", () => {
    const all = Array.from({ length: 100 }, () => sealer.seal("session", "h", Buffer.from("text")));
    expect(new Set(all).size).toBe(100);
  });

  const STRANGERS: readonly (readonly [string, Sealer])[] = [
    ["another secret", new Sealer([NEW], SCOPE)],
    ["another issuer", new Sealer([OLD], { ...SCOPE, issuer: "https://id.example.org" })],
    ["another client", new Sealer([OLD], { ...SCOPE, clientId: "edge2" })],
    ["another route", new Sealer([OLD], { ...SCOPE, routes: "/a" })],
    ["parts that join alike", new Sealer([OLD], { ...SCOPE, clientId: 'edge","server', routes: "" })],
  ];
  test.each(STRANGERS)("opens for none with %s", (_, stranger) => {
    expect(stranger.open("session", "h", sealer.seal("session", "h", Buffer.from("text")))).toBeNull();
  });

  test("opens for its host and kind alone", () => {
    const sealed = sealer.seal("session", "h", Buffer.from("text"));
    expect(sealer.open("session", "i", sealed)).toBeNull();
    expect(sealer.open("attempt", "h", sealed)).toBeNull();
  });

  test("opens while its secret is among those that there are", () => {
    const both = new Sealer([NEW, OLD], SCOPE);
    expect(both.open("session", "h", sealer.seal("session", "h", Buffer.from("text")))?.toString()).toBe("text");
    expect(
      new Sealer([NEW], SCOPE).open("session", "h", both.seal("session", "h", Buffer.from("text")))?.toString(),
    ).toBe("text");
    expect(sealer.open("session", "h", both.seal("session", "h", Buffer.from("text")))).toBeNull();
  });

  test("with a bit turned, a byte more or less, or in another spelling is none", () => {
    const sealed = sealer.seal("session", "h", Buffer.from("a text of some length"));
    const bytes = Buffer.from(sealed, "base64url");
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const turned = Buffer.from(bytes);
      turned[bit >> 3]! ^= 1 << (bit & 7);
      expect(sealer.open("session", "h", turned.toString("base64url"))).toBeNull();
    }
    for (let length = 0; length < sealed.length; length++)
      expect(sealer.open("session", "h", sealed.slice(0, length))).toBeNull();
    for (const other of [
      `${sealed}A`,
      `${sealed}=`,
      ` ${sealed}`,
      `${sealed}\n`,
      bytes.toString("base64"),
      `${sealed}!`,
    ]) {
      if (other !== sealed) expect(sealer.open("session", "h", other)).toBeNull();
    }
  });

  test("of any bytes is none", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => sealer.open("session", "h", text) === null));
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        return sealer.open("session", "h", Buffer.from(bytes).toString("base64url")) === null;
      }),
    );
  });
});
