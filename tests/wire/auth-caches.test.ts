// No user gets another's page, by whatever they are told apart. docs/security.md#cache-and-identity
import { afterAll, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { startGateway, upstream } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

const SECRET = "0123456789abcdef0123456789abcdef";
const hash = await Bun.password.hash("pw", { algorithm: "bcrypt", cost: 4 });
let served = 0;
const origin = ScriptedOrigin.start();
origin.otherwise((call) => {
  const said = new URLSearchParams(call.request.target.split("?")[1]).get("say") ?? "max-age=60";
  return call.reply("200 OK", [`Cache-Control: ${said}`], `${call.request.fields.get("x-who")} ${++served}`);
});
const service = ScriptedOrigin.start();
service.otherwise((call) => {
  const user = /session=(\w+)/.exec(call.request.fields.get("cookie") ?? "")?.[1];
  return user === undefined
    ? call.reply("401 Unauthorized", [], "")
    : call.reply("200 OK", [`Remote-User: ${user}`], "");
});
const named = { headers: { request: { set: { "X-Who": "{auth.user}" } } } };
const jwt = { secret: SECRET, from: ["header", "cookie:token", "query:token"] };
const gateway = await startGateway({
  config: { server: { workers: 1, cache: { enabled: true } } },
  routes: [
    upstream("/basic", origin, { ...named, auth: { basic: { users: { alice: hash, bob: hash } } } }),
    upstream("/kept", origin, {
      ...named,
      auth: { basic: { users: { alice: hash, bob: hash } }, keep_authorization: true },
    }),
    upstream("/jwt", origin, { ...named, auth: { jwt } }),
    upstream("/forward", origin, { ...named, auth: { forward: { url: `${service.url}/` } } }),
    upstream("/any", origin, { ...named, auth: { any: [{ basic: { users: { alice: hash, bob: hash } } }, { jwt }] } }),
  ],
});
afterAll(() => stopAll(gateway, origin, service));

function token(sub: string): string {
  const parts = [
    { alg: "HS256", typ: "JWT" },
    { sub, exp: Math.floor(Date.now() / 1000) + 600 },
  ];
  const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
  return `${text}.${createHmac("sha256", SECRET).update(text).digest("base64url")}`;
}

const basic = (user: string) => `Authorization: Basic ${Buffer.from(`${user}:pw`).toString("base64")}`;
const WAYS: readonly (readonly [string, string, (user: string) => string])[] = [
  ["a password", "/basic", basic],
  ["a password that goes on", "/kept", basic],
  ["a token in Authorization", "/jwt", (user) => `Authorization: Bearer ${token(user)}`],
  ["a token in a cookie", "/jwt", (user) => `Cookie: token=${token(user)}`],
  ["a service's verdict by cookie", "/forward", (user) => `Cookie: session=${user}`],
  ["the first of several methods", "/any", basic],
  ["the second of several methods", "/any", (user) => `Cookie: token=${token(user)}`],
];

describe.each(WAYS)("%s", (what, path, line) => {
  const place = `${path}/${what.replaceAll(/\W/g, "-")}`;
  const get = (query: string, ...lines: readonly string[]): Promise<Reply> =>
    gateway.once(request(`GET ${place}?say=${query}`, lines));
  const whose = async (query: string, user: string) => (await get(query, line(user))).text.split(" ")[0];

  test("keeps pages apart, one after the other and at the same time", async () => {
    for (const user of ["alice", "bob", "alice"]) expect(await whose("max-age=60", user)).toBe(user);
    for (const user of ["alice", "bob"]) expect(await whose("s-maxage=60", user)).toBe(user);
    const users = Array.from({ length: 20 }, (_, i) => (i % 2 === 0 ? "alice" : "bob"));
    expect(await Promise.all(users.map((user) => whose("max-age=60,x", user)))).toEqual(users);
  });

  test("shares what says public, with those who may come in", async () => {
    expect(await whose("public,max-age=60", "alice")).toBe("alice");
    const hit = await get("public,max-age=60", line("bob"));
    expect([hit.text.split(" ")[0], hit.fields.get("x-cache")]).toEqual(["alice", "HIT"]);
    expect((await get("public,max-age=60")).status).toBe(401);
  });

  test("a stale public page is renewed for its user, and no further", async () => {
    const query = "public,max-age=1,stale-while-revalidate=60";
    expect(await whose(query, "alice")).toBe("alice");
    await Bun.sleep(1100);
    expect(await whose(query, "bob")).toBe("alice");
    expect((await get(query)).status).toBe(401);
  });
});

test("a token in the query is part of the key", async () => {
  for (const user of ["alice", "bob", "alice"]) {
    const reply = await gateway.once(request(`GET /jwt/q?token=${token(user)}`));
    expect([reply.text.split(" ")[0], reply.fields.get("x-cache")]).toEqual([user, "MISS"]);
  }
});
