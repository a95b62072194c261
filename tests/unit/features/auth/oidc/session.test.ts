import { describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { OpenSessions } from "../../../../../src/features/auth/oidc/open-sessions.ts";
import { Sealer } from "../../../../../src/features/auth/oidc/sealer.ts";
import {
  keptClaims,
  packSession,
  type SignInSession,
  unpackSession,
} from "../../../../../src/features/auth/oidc/session.ts";
import { SessionCookies } from "../../../../../src/features/auth/oidc/session-cookies.ts";

// docs/authentication.md#sessions
/** What a configuration names: claims by name, and the entries of lists by which users come in. */
const wanted = (names: readonly string[], entries: Record<string, readonly string[]> = {}) => ({
  names,
  entries: new Map(Object.entries(entries)),
});
const SESSION: SignInSession = {
  id: "id",
  sinceS: 1,
  renewAtS: 2,
  goodUntilS: 3,
  refreshToken: "refresh",
  idToken: "id.token.x",
  claims: { email: "a@b", sub: "u", groups: ["x", "y"], name: "N", nick: "n" },
};

/** What no compression makes smaller. */
const noise = (chars: number) => randomBytes(chars).toString("base64url").slice(0, chars);

describe("a session in its cookies", () => {
  const packed = (more: Partial<SignInSession>, named = wanted(["groups"])) => {
    const { bytes, cut } = packSession({ ...SESSION, ...more }, named);
    return { ...unpackSession(bytes), cut };
  };

  test("is what was packed", () => {
    expect(packed({})).toEqual({ ...SESSION, cut: [] });
  });

  test("gives up the ID token, then claims that are not named, then the refresh token", () => {
    expect(packed({ idToken: noise(6000) })).toEqual({ ...SESSION, idToken: "", cut: [] });
    const claims = { ...SESSION.claims, nick: noise(1000) };
    const refreshToken = noise(5500);
    const long = packed({ idToken: noise(3000), refreshToken, claims });
    expect(long).toMatchObject({ refreshToken, idToken: "", cut: ["nick"] });
    expect(Object.keys(long.claims)).toEqual(["email", "sub", "groups", "name"]);
    const huge = packed({ refreshToken: noise(7000) });
    expect(huge).toMatchObject({ refreshToken: "", renewAtS: 0, goodUntilS: 0 });
    expect(Object.keys(huge.claims)).toEqual(["email", "sub", "groups"]);
  });

  test("keeps a list of 300 groups, and of longer ones the entries by which the user may come in", () => {
    const groups = Array.from({ length: 300 }, (_, n) => `/departments/engineering/team-${n}`);
    expect(packed({ claims: { ...SESSION.claims, groups } })).toMatchObject({ claims: { groups }, cut: [] });
    const many = [...Array.from({ length: 400 }, () => noise(36)), "staff"];
    const named = wanted(["groups", "email"], { groups: ["admin", "staff"] });
    expect(packed({ claims: { ...SESSION.claims, groups: many } }, named)).toMatchObject({
      claims: { groups: ["staff"], email: "a@b" },
      refreshToken: "refresh",
      cut: ["groups", "name", "nick"],
    });
  });

  test("has room in two cookies, whatever is in it", () => {
    const text = fc.string({ unit: "binary", maxLength: 5000 });
    const claims = fc.dictionary(text, text, { maxKeys: 20 });
    const sealer = new Sealer(["s".repeat(32)], { issuer: "i", clientId: "c", routes: "r" });
    const cookies = new SessionCookies("0123456789");
    fc.assert(
      fc.property(claims, text, text, (own, refreshToken, idToken) => {
        const named = wanted(Object.keys(own).slice(0, 3));
        const { bytes } = packSession({ ...SESSION, claims: own, refreshToken, idToken }, named);
        const set = cookies.setSession(sealer.seal("session", "h", bytes), true, 60);
        expect(set.length).toBeLessThanOrEqual(2);
        const pairs = set.map((one) => one.slice(0, one.indexOf(";")));
        for (const pair of pairs) expect(pair.length).toBeLessThan(4096);
        expect(pairs.join("; ").length).toBeLessThan(6144);
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
    expect(keptClaims(given, wanted(["admin", "aud"]))).toEqual({
      admin: true,
      aud: "a",
      sub: "u",
      email: "a@b",
      age: 7,
      "realm_access.deep.er": "z",
      "realm_access.roles": "own",
    });
    expect(Object.keys(keptClaims(given, wanted(["admin"])))[0]).toBe("admin");
  });

  test("named like what objects have are claims like others, or none", () => {
    const given = JSON.parse('{"__proto__": {"x": "y"}, "constructor": "c", "toString": "t", "sub": "u"}') as Record<
      string,
      unknown
    >;
    const kept = keptClaims(given, wanted(["hasOwnProperty", "x"]));
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
