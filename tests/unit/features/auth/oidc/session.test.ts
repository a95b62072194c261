import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { OpenSessions } from "../../../../../src/features/auth/oidc/open-sessions.ts";
import { Sealer } from "../../../../../src/features/auth/oidc/sealer.ts";
import { keptClaims, packSession, type Session, unpackSession } from "../../../../../src/features/auth/oidc/session.ts";

// docs/authentication.md#sessions
const SESSION: Session = {
  id: "id",
  sinceS: 1,
  renewAtS: 2,
  goodUntilS: 3,
  refreshToken: "refresh",
  idToken: "id.token.x",
  claims: { email: "a@b", sub: "u", groups: ["x", "y"], name: "N", nick: "n" },
};

describe("a session in a cookie", () => {
  test("is what was packed", () => {
    expect(unpackSession(packSession(SESSION, ["email"]))).toEqual(SESSION);
  });

  test("gives up the ID token, then claims that are not named, then the refresh token", () => {
    const packed = (more: Partial<Session>) => unpackSession(packSession({ ...SESSION, ...more }, ["groups"]));
    expect(packed({ idToken: "x".repeat(3000) })).toEqual({ ...SESSION, idToken: "" });
    const claims = { ...SESSION.claims, nick: "n".repeat(200) };
    const long = packed({ idToken: "x".repeat(3000), refreshToken: "r".repeat(2700), claims });
    expect(long).toMatchObject({ refreshToken: "r".repeat(2700), idToken: "" });
    expect(Object.keys(long.claims)).toEqual(["email", "sub", "groups", "name"]);
    const huge = packed({ refreshToken: "r".repeat(3000) });
    expect(huge).toMatchObject({ refreshToken: "", renewAtS: 0, goodUntilS: 0 });
    expect(Object.keys(huge.claims)).toEqual(["email", "sub", "groups"]);
  });

  test("has room in a cookie, whatever is in it", () => {
    const text = fc.string({ unit: "binary", maxLength: 1500 });
    const claims = fc.dictionary(text, text, { maxKeys: 20 });
    fc.assert(
      fc.property(claims, text, text, (own, refreshToken, idToken) => {
        const packed = packSession({ ...SESSION, claims: own, refreshToken, idToken }, Object.keys(own).slice(0, 3));
        const sealed = new Sealer(["s".repeat(32)], { issuer: "i", clientId: "c", routes: "r" }).seal(
          "session",
          "h",
          packed,
        );
        expect(sealed.length + "__Host-edge-oidc-0123456789".length).toBeLessThan(4096);
      }),
    );
  });
});

describe("claims", () => {
  test("are kept as plain values and lists, nested ones under their path, those of tokens not", () => {
    const given = {
      iss: "i",
      aud: "a",
      exp: 1,
      nonce: "n",
      sub: "u",
      email: "a@b",
      email_verified: true,
      admin: true,
      age: 7,
      none: null,
      realm_access: { roles: ["x", 1, "y"], deep: { er: "z" } },
      "realm_access.roles": "own",
      long: "x".repeat(2000),
    };
    expect(keptClaims(given, ["admin", "aud"])).toEqual({
      admin: true,
      aud: "a",
      sub: "u",
      email: "a@b",
      age: 7,
      "realm_access.deep.er": "z",
      "realm_access.roles": "own",
    });
    expect(Object.keys(keptClaims(given, ["admin"]))[0]).toBe("admin");
  });

  test("named like what objects have are claims like others, or none", () => {
    const given = JSON.parse('{"__proto__": {"x": "y"}, "constructor": "c", "toString": "t", "sub": "u"}') as Record<
      string,
      unknown
    >;
    const kept = keptClaims(given, ["hasOwnProperty", "x"]);
    expect(kept).toEqual({ sub: "u", constructor: "c", toString: "t" } as never);
    expect(Object.getPrototypeOf(kept)).toBe(Object.prototype);
  });
});

describe("sessions of a worker", () => {
  const sealer = new Sealer(["s".repeat(32)], { issuer: "i", clientId: "c", routes: "r" });
  const settings = { allow: { email: [], groups: [], claims: [] }, fields: [], sessionTtlMs: 60_000 };
  const word = { claims: { sub: "u" }, idToken: "", refreshToken: "r", expiresInS: 3600 };

  test("end after session_ttl, whether they were opened before or not, renewed or not", () => {
    let nowMs = 1_000_000_000;
    const now = () => nowMs;
    const sessions = new OpenSessions(settings, sealer, now);
    const begun = sessions.begin(word, "h");
    nowMs += 30_000;
    const renewed = sessions.renew(begun, word);
    expect(sessions.open(begun.value, "h")?.next?.became).toBe(renewed);
    expect(new OpenSessions(settings, sealer, now).open(renewed.value, "h")?.session.id).toBe(begun.session.id);
    nowMs += 30_000;
    for (const each of [sessions, new OpenSessions(settings, sealer, now)]) {
      expect(each.open(begun.value, "h")).toBeNull();
      expect(each.open(renewed.value, "h")).toBeNull();
    }
  });

  test("are each of their own, and asked for anew a while before the token ends", () => {
    const sessions = new OpenSessions(settings, sealer, () => 5_000_000);
    const [one, two] = [sessions.begin(word, "h"), sessions.begin(word, "h")];
    expect(one.session.id).not.toBe(two.session.id);
    expect(one.session).toMatchObject({ sinceS: 5000, renewAtS: 5000 + 3540, goodUntilS: 5000 + 3600 });
    expect(sessions.begin({ ...word, expiresInS: 10 }, "h").session).toMatchObject({ renewAtS: 5008 });
    expect(sessions.begin({ ...word, refreshToken: "" }, "h").session).toMatchObject({ renewAtS: 0 });
    expect(sessions.begin({ ...word, expiresInS: 0 }, "h").session).toMatchObject({ renewAtS: 0 });
  });

  test("that no longer fit are opened again from their cookies", () => {
    const sessions = new OpenSessions(settings, sealer, () => 5_000_000);
    const first = sessions.begin(word, "h");
    for (let i = 0; i < 2100; i++) sessions.begin(word, "h");
    const again = sessions.open(first.value, "h");
    expect(again).not.toBe(first);
    expect(again?.session).toEqual(first.session);
  });
});
