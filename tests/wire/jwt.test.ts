import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { SignJWT } from "jose";
import jsonwebtoken from "jsonwebtoken";
import { TestAuthority } from "../harness/certificate.ts";
import { type Echo, EchoOrigin, echo } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";
import {
  issuerKey,
  keySetText,
  part,
  pem,
  publicJwk,
  secretToken,
  signature,
  token,
  usualClaims,
} from "../harness/token-issuer.ts";

// docs/authentication.md#tokens
const es256 = issuerKey("ES256", "e2");
const rs256 = issuerKey("RS256", "r2");
const KEYS = [
  es256,
  rs256,
  issuerKey("ES384", "e3"),
  issuerKey("ES512", "e5"),
  issuerKey("PS256", "p2"),
  issuerKey("RS512", "r5"),
  issuerKey("EdDSA", "ed"),
];
const short = issuerKey("RS256", "short", 1024);
const stranger = issuerKey("ES256", "e2");
const SECRET = "a secret of more than thirty-two bytes";
const authority = await TestAuthority.make("trusted");
const server = await authority.issue({ subject: "server", names: [{ type: "dns", value: "localhost" }] });
const port = freePort();
const origin = EchoOrigin.start();
let reached = 0;
origin.otherwise((call) => {
  reached++;
  return echo(call);
});
for (const [path, control] of [
  ["/mine", "max-age=60"],
  ["/everyones", "public, max-age=60"],
] as const) {
  origin.on(path, (call) => {
    reached++;
    call.send(
      `HTTP/1.1 200 OK\r\nCache-Control: ${control}\r\nContent-Length: ${String(reached).length}\r\n\r\n${reached}`,
    );
  });
}
const RULES = { issuer: "https://id.test", audience: ["api", "other"] };
const SET = { jwks_file: "jwks.json", ...RULES };
const gateway = await startGateway({
  config: {
    server: {
      workers: 1,
      tls: { port, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
      cache: { enabled: true },
      auth: { jwt: { ...SET, realm: "The API", headers: { "X-User": "sub", "X-Role": "role" } } },
    },
  },
  files: {
    "a.pem": server.cert,
    "a.key": server.key,
    "jwks.json": keySetText(...KEYS, short),
    "rsa.pem": pem(rs256.publicKey),
  },
  routes: [
    upstream("/node", origin),
    upstream("/kept", origin, { auth: { jwt: SET, keep_authorization: true } }),
    upstream("/claims", origin, {
      auth: { jwt: { ...SET, claims: { role: ["admin", "ops"], "realm.level": 7, scope: "orders:write" } } },
    }),
    upstream("/secret", origin, { auth: { jwt: { secret: SECRET, ...RULES } } }),
    upstream("/pem", origin, { auth: { jwt: { public_key_file: "rsa.pem", algorithms: ["RS256"], ...RULES } } }),
    upstream("/places", origin, {
      auth: { jwt: { ...SET, from: ["header:X-Token", "cookie:session", "query:token", "header"] } },
    }),
    upstream("/kept-places", origin, {
      auth: { jwt: { ...SET, from: ["cookie:session", "query:token", "header"] }, keep_authorization: true },
    }),
    upstream("/any", origin, { auth: { any: [{ jwt: SET }, { jwt: { secret: SECRET, ...RULES } }] } }),
    upstream("/open", origin, { auth: false }),
  ],
});
afterAll(() => stopAll(gateway, origin));

function bearer(value: string): string {
  return `Authorization: Bearer ${value}`;
}

async function statusOf(path: string, ...lines: readonly string[]): Promise<number> {
  return (await gateway.once(request(`GET ${path}`, lines))).status;
}

async function echoOf(path: string, ...lines: readonly string[]): Promise<Echo> {
  const reply = await gateway.once(request(`GET ${path}`, lines));
  expect(reply.status).toBe(200);
  return json<Echo>(reply);
}

describe("tokens let in", () => {
  test.each(KEYS.map((key) => [key.alg, key] as const))("%s, twice, over HTTP/1.1 and HTTP/2", async (_, key) => {
    const good = token(key);
    for (let i = 0; i < 2; i++) expect(await statusOf("/node/a", bearer(good))).toBe(200);
    const h2 = await H2Client.connect(gateway.port);
    const reply = await h2.request(head("GET", "/node/a", [["authorization", `bearer ${good}`]]));
    h2.close();
    expect(reply.status).toBe(200);
  });

  test("of jose, and of an implementation that shares nothing with it", async () => {
    const ofJose = await new SignJWT({ role: "x" })
      .setProtectedHeader({ alg: "ES256", kid: "e2" })
      .setIssuer("https://id.test")
      .setAudience(["x", "other"])
      .setExpirationTime("1h")
      .sign(es256.privateKey);
    expect(await statusOf("/node/a", bearer(ofJose))).toBe(200);
    const claims = { iss: "https://id.test", aud: "api", sub: "bob" };
    for (const [algorithm, key, kid] of [
      ["ES256", es256, "e2"],
      ["RS256", rs256, "r2"],
    ] as const) {
      const one = jsonwebtoken.sign(claims, pem(key.privateKey), { algorithm, keyid: kid, expiresIn: 60 });
      expect(await statusOf("/node/a", bearer(one))).toBe(200);
    }
    for (const algorithm of ["HS256"] as const)
      expect(await statusOf("/secret/a", bearer(jsonwebtoken.sign(claims, SECRET, { algorithm, expiresIn: 60 })))).toBe(
        200,
      );
  });

  test("without kid, where a key of that kind is there; from a PEM file, whatever kid says", async () => {
    expect(await statusOf("/node/a", bearer(token(es256, usualClaims(), { kid: undefined })))).toBe(200);
    expect(await statusOf("/pem/a", bearer(token(rs256)))).toBe(200);
  });

  test("with clocks that differ by less than the leeway", async () => {
    const now = Math.floor(Date.now() / 1000);
    expect(await statusOf("/node/a", bearer(token(es256, usualClaims({ exp: now - 20, nbf: now + 20 }))))).toBe(200);
  });

  test("by any of several methods", async () => {
    expect(await statusOf("/any/a", bearer(token(es256)))).toBe(200);
    expect(await statusOf("/any/a", bearer(secretToken(SECRET)))).toBe(200);
    expect(await statusOf("/any/a", bearer(secretToken("another secret of thirty-two bytes")))).toBe(401);
  });
});

describe("tokens are refused", () => {
  const now = Math.floor(Date.now() / 1000);
  const good = token(es256);
  const [protectedPart, payloadPart, signaturePart] = good.split(".") as [string, string, string];
  const none = (alg: string) => `${part({ alg, typ: "JWT" })}.${part(usualClaims())}.`;
  const publicPem = pem(rs256.publicKey);
  const attacker = issuerKey("RS256", "mine");
  const jwk = publicJwk(attacker);
  const withKey = (header: object) => token(attacker, usualClaims(), { kid: "r2", ...header });
  const doubled = `{"alg":"none","alg":"ES256","kid":"e2"}`;
  const ATTACKS: readonly (readonly [string, string])[] = [
    ...["none", "None", "NONE", "nOnE", "", "null"].map((alg) => [`alg ${alg || "empty"}`, none(alg)] as const),
    ["alg null", `${part('{"alg":null}')}.${payloadPart}.`],
    ["alg in a list", `${part('{"alg":["ES256"]}')}.${payloadPart}.${signaturePart}`],
    ["no alg", `${part("{}")}.${payloadPart}.${signaturePart}`],
    ["alg of a prototype", `${part('{"alg":"constructor"}')}.${payloadPart}.${signaturePart}`],
    ["none with a signature", `${part({ alg: "none" })}.${payloadPart}.${signaturePart}`],
    ["alg twice, none first", `${part(doubled)}.${payloadPart}.`],
    ["alg twice, none last", `${part('{"alg":"ES256","alg":"none","kid":"e2"}')}.${payloadPart}.`],
    ["HS256 with the public key as the secret", secretToken(publicPem)],
    ["the same, with kid", secretToken(publicPem, usualClaims(), { kid: "r2" })],
    ["the same, trimmed", secretToken(publicPem.trim(), usualClaims(), { kid: "r2" })],
    [
      "HS256 with the modulus",
      secretToken(Buffer.from(publicJwk(rs256).n!, "base64url"), usualClaims(), { kid: "r2" }),
    ],
    ["HS256 with an empty secret", secretToken("", usualClaims(), { kid: "r2" })],
    ["kid that leads to a file", token(attacker, usualClaims(), { kid: "../../../../dev/null" })],
    ["kid of a secret file", secretToken("", usualClaims(), { kid: "/dev/null" })],
    ["kid with SQL", token(attacker, usualClaims(), { kid: "x' UNION SELECT 'key'--" })],
    ["kid of a prototype", token(attacker, usualClaims(), { kid: "__proto__" })],
    ["kid that is a number", token(es256, usualClaims(), { kid: 7 })],
    ["kid that is an object", token(es256, usualClaims(), { kid: { e2: 1 } })],
    ["jku", withKey({ jku: `${origin.url}/jwks` })],
    ["x5u", withKey({ x5u: `${origin.url}/cert` })],
    ["jwk", withKey({ jwk })],
    ["jwk without kid", withKey({ jwk, kid: undefined })],
    ["x5c", withKey({ x5c: [Buffer.from("x").toString("base64")] })],
    ["crit", token(es256, usualClaims(), { crit: ["exp"], exp: 1 })],
    ["crit that is empty", token(es256, usualClaims(), { crit: [] })],
    ["b64", token(es256, usualClaims(), { b64: false, crit: ["b64"] })],
    ["a stranger's key of that name", token(stranger)],
    ["expired", token(es256, usualClaims({ exp: now - 60 }))],
    ["not yet", token(es256, usualClaims({ nbf: now + 60 }))],
    ["exp 0", token(es256, usualClaims({ exp: 0 }))],
    ["exp as text", token(es256, usualClaims({ exp: "9999999999" }))],
    ["exp too large for a date", token(es256, JSON.stringify(usualClaims()).replace(/"exp":\d+/, '"exp":1e400'))],
    [
      "exp of 20 digits",
      token(es256, JSON.stringify(usualClaims()).replace(/"exp":\d+/, '"exp":99999999999999999999')),
    ],
    ["exp null", token(es256, usualClaims({ exp: null }))],
    ["exp in a list", token(es256, usualClaims({ exp: [now + 60] }))],
    ["exp twice, the last one gone", token(es256, JSON.stringify(usualClaims()).replace(/}$/, `,"exp":${now - 600}}`))],
    ["nbf as text", token(es256, usualClaims({ nbf: "0" }))],
    ["another audience", token(es256, usualClaims({ aud: "apix" }))],
    ["no audience", token(es256, usualClaims({ aud: undefined }))],
    ["an audience in an object", token(es256, usualClaims({ aud: { api: true } }))],
    ["another issuer", token(es256, usualClaims({ iss: "https://id.test/" }))],
    ["a list of issuers", token(es256, usualClaims({ iss: ["https://id.test"] }))],
    ["no issuer", token(es256, usualClaims({ iss: undefined }))],
    ["a token in a token", token(es256, good, { cty: "JWT" })],
    ["a token in a token, unsaid", token(es256, good)],
    ["an encrypted one", `${part({ alg: "RSA-OAEP", enc: "A256GCM" })}.AAAA.AAAA.AAAA.AAAA`],
    ["a payload that is a list", token(es256, "[]")],
    ["a payload that is a text", token(es256, '"alice"')],
    ["a payload that is no JSON", token(es256, "{")],
    ["a header that is no JSON", `${part("{")}.${payloadPart}.${signaturePart}`],
    ["a header that is a list", `${part("[]")}.${payloadPart}.${signaturePart}`],
    ["one part", protectedPart],
    ["two parts", `${protectedPart}.${payloadPart}`],
    ["four parts", `${good}.${signaturePart}`],
    ["an empty payload", `${protectedPart}..${signaturePart}`],
    ["an empty signature", `${protectedPart}.${payloadPart}.`],
    ["padding", `${good}==`],
    ["padding of the header", `${protectedPart}=.${payloadPart}.${signaturePart}`],
    ["base64 that is not URL-safe", `${protectedPart}.${payloadPart}.${signaturePart.slice(0, -2)}+/`],
    ["a space within", `${protectedPart}. ${payloadPart}.${signaturePart}`],
    ["percent-encoding", good.replaceAll(".", "%2e")],
    ["quotes", `"${good}"`],
    ["a changed payload", `${protectedPart}.${part(usualClaims({ sub: "root" }))}.${signaturePart}`],
    ["a changed header", `${part({ alg: "ES256", kid: "e2", typ: "JWT", x: 1 })}.${payloadPart}.${signaturePart}`],
    ["a cut signature", good.slice(0, -4)],
    ["a longer signature", `${good}AAAA`],
    ["a signature of zeros", `${protectedPart}.${payloadPart}.${Buffer.alloc(64).toString("base64url")}`],
    [
      "a signature in DER",
      `${protectedPart}.${payloadPart}.${Buffer.from("3006020101020101", "hex").toString("base64url")}`,
    ],
    ["an RSA key of 1024 bits", token(short)],
    ...wrongKinds(),
    ["an empty token", ""],
    ["the word alone twice", "Bearer"],
    ["garbage", createHash("sha512").update("x").digest("base64url")],
  ];

  test.each(ATTACKS)("%s", async (_, value) => {
    const before = reached;
    const reply = await gateway.once(request("GET /node/a", [bearer(value)]));
    expect(reply.status).toBe(401);
    expect(reply.fields.get("www-authenticate")).toBe('Bearer realm="The API", error="invalid_token"');
    expect(json<object>(reply)).toEqual({ error: "401 Unauthorized", message: "credentials are needed" });
    expect(reached).toBe(before);
    expect(origin.requests.some(({ target }) => /jwks|cert/.test(target))).toBe(false);
  });

  test("without a token, and with another scheme: nothing is said but the scheme", async () => {
    for (const lines of [
      [],
      ["Authorization: Basic YTpi"],
      ["Authorization: Bearerx y"],
      ["X-Authorization: Bearer x"],
    ]) {
      const reply = await gateway.once(request("GET /node/a", lines));
      expect([reply.status, reply.fields.get("www-authenticate")]).toEqual([401, 'Bearer realm="The API"']);
    }
  });

  test("two tokens are none, the same one as well", async () => {
    expect(await statusOf("/node/a", bearer(good), bearer(good))).toBe(401);
    expect(await statusOf("/node/a", bearer(good), "Authorization: Basic YTpi")).toBe(401);
    expect(await statusOf("/places/a", `Cookie: session=${good}; session=${good}`)).toBe(401);
    expect(await statusOf(`/places/a?token=${good}&t%6fken=${good}`)).toBe(401);
  });

  test("long ones, unread", async () => {
    const long = `${"A".repeat(100_000)}.${payloadPart}.${signaturePart}`;
    expect([401, 431]).toContain(await statusOf("/node/a", bearer(long)));
    const h2 = await H2Client.connect(gateway.port);
    const reply = await h2.request(head("GET", "/node/a", [["authorization", `Bearer ${"A".repeat(9000)}`]]));
    h2.close();
    expect([401, 431]).toContain(reply.status);
    expect(await statusOf("/node/a", bearer(good))).toBe(200);
  });

  test("of a method's own keys by another method's", async () => {
    expect(await statusOf("/secret/a", bearer(good))).toBe(401);
    expect(await statusOf("/node/a", bearer(secretToken(SECRET)))).toBe(401);
    expect(await statusOf("/pem/a", bearer(secretToken(publicPem)))).toBe(401);
    expect(await statusOf("/pem/a", bearer(token({ ...rs256, alg: "PS256" })))).toBe(401);
  });

  test("counted and logged with a reason, never with the token", async () => {
    expect(await gateway.metric("gateway_auth_refusals_total", { status: "401" })).toBeGreaterThan(10);
    const line = await gateway.log(
      "a refusal",
      ({ event, reason }) => event === "auth_refused" && reason === "signature",
    );
    expect(line).toMatchObject({ auth: "jwt", status: 401, client_ip: "127.0.0.1" });
    const text = JSON.stringify(gateway.logs.lines);
    expect(text).not.toContain(protectedPart);
    expect(text).not.toContain(signaturePart);
  });
});

/** Tokens whose alg is of another kind than the key that they name. */
function wrongKinds(): (readonly [string, string])[] {
  return KEYS.flatMap((key) =>
    KEYS.filter(({ alg }) => alg !== key.alg).map(({ alg }) => {
      const data = `${part({ alg, kid: key.kid })}.${part(usualClaims())}`;
      return [`${alg} with the key for ${key.alg}`, `${data}.${signature(key, data).toString("base64url")}`] as const;
    }),
  );
}

describe("claims", () => {
  const fit = { role: "ops", realm: { level: 7 }, scope: "read orders:write" };

  test("that fit let in: a value, one of a list, a word of scope, within another", async () => {
    for (const more of [{}, { role: ["x", "admin"] }, { scope: ["orders:write"] }, { "realm.level": 7, realm: 1 }]) {
      expect(await statusOf("/claims/a", bearer(token(es256, usualClaims({ ...fit, ...more }))))).toBe(200);
    }
  });

  test.each([
    ["missing", { role: undefined }],
    ["another value", { role: "administrator" }],
    ["another case", { role: "Ops" }],
    ["a list without it", { role: ["x"] }],
    ["words in a claim that has none", { role: "admin ops" }],
    ["a list in a list", { role: [["ops"]] }],
    ["an object", { role: { ops: true } }],
    ["a part of a word", { scope: "orders:writes" }],
    ["another number", { realm: { level: 70 } }],
    ["of a prototype", { realm: [7] }],
  ])("%s: 403", async (_, more) => {
    const value = bearer(token(es256, usualClaims({ ...fit, ...more })));
    for (let i = 0; i < 2; i++) {
      const reply = await gateway.once(request("GET /claims/a", [value]));
      expect(reply.status).toBe(403);
      expect(reply.fields.get("www-authenticate")).toBe('Bearer realm="Restricted", error="insufficient_scope"');
    }
  });
});

describe("what the upstream sees", () => {
  const rolesOf = async (more: object) => (await echoOf("/node/echo", bearer(token(es256, usualClaims(more))))).headers;

  test("fields of claims, whatever the client says; not the token", async () => {
    const seen = await echoOf(
      "/node/echo",
      bearer(token(es256, usualClaims({ role: ["a", "b"] }))),
      "X-User: root",
      "x_user: root",
    );
    expect(seen.fields.filter(([name]) => /^x.(user|role)$/i.test(name))).toEqual([
      ["X-User", "alice"],
      ["X-Role", "a,b"],
    ]);
    expect(seen.headers).not.toHaveProperty("authorization");
    const open = await echoOf("/open/echo", "X-User: root", "X-Role: root", bearer("own"));
    expect(open.headers).not.toHaveProperty("x-user");
    expect(open.headers).not.toHaveProperty("x-role");
    expect(open.headers).toHaveProperty("authorization", "Bearer own");
  });

  test.each([
    ["line breaks", "a\r\nX-Admin: 1"],
    ["a null byte", "root\0"],
    ["outer space", " root"],
    ["too long", "r".repeat(5000)],
    ["null", null],
    ["nothing", ""],
  ])("%s: no field rather than half of one", async (_, role) => {
    const headers = await rolesOf({ role });
    expect(headers).not.toHaveProperty("x-role");
    expect(headers).not.toHaveProperty("x-admin");
  });

  test("numbers, objects as JSON, UTF-8, and no entry of a list that would read as two", async () => {
    expect(await rolesOf({ role: 7 })).toHaveProperty("x-role", "7");
    expect(await rolesOf({ role: { a: [1] } })).toHaveProperty("x-role", '{"a":[1]}');
    expect(await rolesOf({ role: ["a", "b,admin", "c"] })).toHaveProperty("x-role", "a,c");
    const utf8 = (await rolesOf({ role: "björn" }))["x-role"] as string;
    expect([utf8, Buffer.from(utf8, "latin1").toString("utf8")]).toContain("björn");
  });

  test("tokens are looked for in order, and all of them are taken off", async () => {
    const [a, b] = [token(es256, usualClaims({ sub: "a" })), token(es256, usualClaims({ sub: "b" }))];
    const bad = token(stranger);
    const all = [`X-Token: ${a}`, `Cookie: x=1; session=${b}; y=2`, bearer(bad)];
    const seen = await echoOf(`/places/echo?q=1&token=${bad}&r=2`, ...all);
    expect(seen.target).toBe("/echo?q=1&r=2");
    expect(seen.headers).toHaveProperty("cookie", "x=1; y=2");
    expect(seen.headers).not.toHaveProperty("authorization");
    expect(seen.headers).not.toHaveProperty("x-token");
    expect(await statusOf("/places/a", `X-Token: ${bad}`, `Cookie: session=${b}`)).toBe(401);
    expect(await statusOf(`/places/a?token=${b}`, `Cookie: session=${bad}`)).toBe(401);
  });

  test.each([
    ["?token=T", ""],
    ["?token=T&a=1", "?a=1"],
    ["?a=1&token=T", "?a=1"],
    ["?a=1&token=T&token=", "?a=1"],
    ["?%74oken=T", ""],
    ["?tokens=1&token=T#f", "?tokens=1"],
  ])("a token in the query: %s", async (query, left) => {
    const seen = await echoOf(`/places/echo${query.replace("T", token(es256))}`);
    expect(seen.target).toBe(`/echo${left}`);
  });

  test.each([
    ["session=T", undefined],
    ["session=T; a=1", "a=1"],
    ["a=1; session=T", "a=1"],
    ["a=1;session=T;b=2", "a=1;b=2"],
    ["session=; session=T", undefined],
  ])("a token in a cookie: %s", async (cookie, left) => {
    const seen = await echoOf("/places/echo", `Cookie: ${cookie.replace("T", token(es256))}`);
    expect(seen.headers.cookie).toBe(left as string);
  });

  test("neither log nor metrics hold a token that came in the query", async () => {
    const value = token(es256, usualClaims({ jti: "for the log" }));
    expect(await statusOf(`/places/logged?token=${value}`)).toBe(200);
    expect(await statusOf(`/places/refused?token=${token(stranger)}`)).toBe(401);
    await gateway.log("an access", ({ event, path }) => event === "access" && path === "/places/refused");
    expect(JSON.stringify(gateway.logs.lines)).not.toContain(value.split(".")[0]!);
  });

  test("a WebSocket with its token in the query", async () => {
    const lines = [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    const statusWith = async (value: string): Promise<string> => {
      const client = await gateway.connect();
      client.send(request(`GET /places/socket?token=${value}`, lines));
      const start = Buffer.from((await client.takeSome(12)) ?? "").toString("latin1", 0, 12);
      client.close();
      return start;
    };
    expect(await statusWith(token(es256))).toBe("HTTP/1.1 101");
    expect(await statusWith(token(stranger))).toBe("HTTP/1.1 401");
    expect(origin.requests.findLast(({ target }) => target.startsWith("/socket"))!.target).toBe("/socket");
  });

  test("cookies of HTTP/2 in several fields", async () => {
    const h2 = await H2Client.connect(gateway.port);
    const crumbs = (...all: readonly string[]) => all.map((one) => ["cookie", one] as const);
    const good = await h2.request(head("GET", "/places/echo", crumbs("a=1", `session=${token(es256)}`, "b=2")));
    const twice = await h2.request(
      head("GET", "/places/echo", crumbs(`session=${token(es256)}`, `session=${token(stranger)}`)),
    );
    h2.close();
    expect([good.status, twice.status]).toEqual([200, 401]);
    expect((JSON.parse(good.text) as Echo).headers.cookie).toBe("a=1; b=2");
  });

  test.each([
    ["/mine", false],
    ["/everyones", true],
  ])("a response that is stored is one user's alone unless it is public: %s", async (path, isShared) => {
    const ask = async (sub: string, place: "header" | "cookie" | "query"): Promise<string> => {
      const value = token(es256, usualClaims({ sub }));
      const lines = place === "header" ? [bearer(value)] : place === "cookie" ? [`Cookie: session=${value}`] : [];
      const reply = await gateway.once(
        request(`GET /places${path}${place === "query" ? `?token=${value}` : ""}`, lines),
      );
      expect(reply.status).toBe(200);
      return reply.text;
    };
    for (const place of ["header", "cookie", "query"] as const) {
      const [mine, yours] = [await ask("alice", place), await ask("bob", place)];
      expect(mine === yours).toBe(isShared);
    }
    expect(await statusOf(`/places${path}`)).toBe(401);
  });

  test("over HTTP/3", async () => {
    const h3 = await H3Client.connect(port);
    const good = await h3.ask("GET", "/node/echo", { authorization: `Bearer ${token(es256)}`, "x-user": "root" });
    const bad = await h3.ask("GET", "/node/echo", { authorization: `Bearer ${token(stranger)}` });
    h3.close();
    expect([good.status, bad.status]).toEqual([200, 401]);
    expect((JSON.parse(good.body.toString()) as Echo).headers).toMatchObject({ "x-user": "alice" });
  });

  test("keep_authorization keeps the token that was judged, and no other", async () => {
    const good = token(es256);
    const bad = token(stranger);
    expect((await echoOf("/kept/echo", bearer(good))).headers).toHaveProperty("authorization", `Bearer ${good}`);
    const seen = await echoOf(`/kept-places/echo?token=${bad}`, bearer(bad), `Cookie: session=${good}`);
    expect(seen.headers).toHaveProperty("cookie", `session=${good}`);
    expect(seen.headers).not.toHaveProperty("authorization");
    expect(seen.target).toBe("/echo");
    const other = await echoOf("/kept-places/echo", "Authorization: Basic YTpi", `Cookie: session=${good}`);
    expect(other.headers).toHaveProperty("authorization", "Basic YTpi");
  });
});
