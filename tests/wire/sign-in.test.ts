import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { CookieClient, type Visited } from "../harness/cookie-client.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { FakeProvider } from "../harness/fake-provider.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/authentication.md#openid-connect
const SECRET = "sessions are sealed with this secret, say";
const provider = FakeProvider.start();
const origin = EchoOrigin.start();
const mirror = EchoOrigin.start();
const copies: { target: string; cookie: string }[] = [];
mirror.otherwise((call) => {
  copies.push({ target: call.request.target, cookie: call.request.fields.get("cookie") ?? "" });
  call.reply("200 OK", [], "");
});
let gateway: Gateway;
let site = "";

function cookieLine(client: CookieClient): string {
  return client
    .cookies("localhost")
    .map(([name, value]) => `${name}=${value}`)
    .join("; ");
}

function oidc(more: object = {}): object {
  const { issuer, clientId, clientSecret } = provider;
  return { oidc: { issuer, client_id: clientId, client_secret: clientSecret, cookie_secret: SECRET, ...more } };
}

beforeAll(async () => {
  gateway = await startGateway({
    config: {
      server: { auth: oidc({ headers: { "X-User": "email", "X-Groups": "groups" } }), cache: { enabled: true } },
    },
    routes: [
      upstream("/app", origin, {
        headers: { request: { set: { "X-Name": "{auth.claim.name}", "X-Who": "{auth.user}" } } },
      }),
      upstream("/open", origin, { auth: false }),
      upstream("/mirrored", origin, { mirror: { target: mirror.url } }),
      upstream("/staff", origin, { auth: oidc({ allow: { email: ["*@example.com"], groups: ["staff"] } }) }),
      upstream("/boss", origin, { auth: oidc({ allow: { claims: { "realm_access.roles": ["boss"] } } }) }),
      upstream("/same", origin, { auth: oidc({ logout_path: "/same" }) }),
      upstream("/left", origin, { auth: oidc({ logout_path: "/left/bye" }) }),
    ],
  });
  site = `http://localhost:${gateway.port}`;
});
afterAll(async () => {
  await stopAll(gateway, origin, mirror);
  await provider.stop();
});
const USER = provider.user;
afterEach(() => {
  provider.habits = {};
  provider.user = USER;
  provider.asked.length = 0;
});

function echoOf(visited: Visited): Echo {
  expect(visited.status).toBe(200);
  return JSON.parse(visited.text) as Echo;
}

describe("a user", () => {
  test("signs in and comes back to the page that was wanted, with its query", async () => {
    const client = new CookieClient();
    const page = await client.go(`${site}/app/orders/4711?sort=a%2Fb&x=1`);
    expect(page.url).toBe(`${site}/app/orders/4711?sort=a%2Fb&x=1`);
    const { target, headers } = echoOf(page);
    expect(target).toBe("/orders/4711?sort=a%2Fb&x=1");
    expect(headers).toMatchObject({ "x-user": "alice@example.com", "x-groups": "staff", "x-who": "alice@example.com" });
    expect(headers).not.toHaveProperty("cookie");
    expect(provider.asked).toEqual(["/.well-known/openid-configuration", "/authorize", "/token", "/jwks"]);
    await client.go(`${site}/app/next`);
    expect(provider.asked).toHaveLength(4);
    const line = await gateway.log("the page", ({ event, path }) => event === "sign_in_failed" || path === "/app/next");
    expect(line.event).not.toBe("sign_in_failed");
  });

  test("is asked for by a redirect that nothing keeps, with state, nonce and PKCE", async () => {
    const visited = await new CookieClient().get(`${site}/app`);
    expect(visited.status).toBe(302);
    expect(visited.headers.get("cache-control")).toBe("no-store");
    const url = new URL(visited.headers.get("location")!);
    expect(url.origin + url.pathname).toBe(`${provider.issuer}/authorize`);
    const { state, nonce, code_challenge, ...others } = Object.fromEntries(url.searchParams);
    expect([state, nonce, code_challenge].map((text) => text!.length >= 43)).toEqual([true, true, true]);
    expect(others).toEqual({
      response_type: "code",
      client_id: "edge",
      scope: "openid email profile",
      redirect_uri: `${site}/.edge/oidc/callback`,
      code_challenge_method: "S256",
    });
    const cookie = visited.headers.getSetCookie().join();
    expect(cookie).toMatch(/^edge-oidc-[0-9a-f]{10}-[0-9a-z]+=[\w-]+; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/);
  });

  const PROGRAMS: readonly (readonly [string, string, readonly string[]])[] = [
    ["a program", "GET /app", ["Accept: application/json"]],
    ["a client that says nothing", "GET /app", []],
    ["a form", "POST /app", ["Accept: text/html", "Content-Length: 0"]],
    ["a script's fetch", "GET /app", ["Accept: text/html", "Sec-Fetch-Mode: cors"]],
    ["an upgrade", "GET /app", ["Accept: text/html", "Connection: Upgrade", "Upgrade: websocket"]],
    ["a GET with a body", "GET /app", ["Accept: text/html", "Content-Length: 0", "Sec-Fetch-Mode: no-cors"]],
    ["HEAD", "HEAD /app", ["Accept: text/html"]],
  ];
  test.each(PROGRAMS)("is not asked for by %s: 401", async (_, start, lines) => {
    const reply = await gateway.once(request(start, lines));
    expect(reply.status).toBe(401);
    expect(reply.fields.get("set-cookie")).toBeNull();
    expect(provider.asked).toEqual([]);
  });

  test("signs in in several tabs at the same time", async () => {
    const client = new CookieClient();
    const callback = `${site}/.edge/oidc/callback`;
    const ways = [];
    for (const path of ["/app/1", "/app/2", "/app/3"]) ways.push(await client.until(site + path, callback));
    expect((await client.go(ways[1]!)).url).toBe(`${site}/app/2`);
    expect((await client.go(ways[0]!)).url).toBe(`${site}/app/1`);
    expect((await client.go(ways[2]!)).url).toBe(`${site}/app/3`);
  });

  test("has no more than three sign-ins under way: the oldest gives way", async () => {
    const client = new CookieClient();
    for (let i = 0; i < 6; i++) await client.get(`${site}/app/${i}`);
    expect(client.cookies("localhost", "edge-oidc-")).toHaveLength(3);
  });

  test("without some claims in the ID token is asked for by userinfo", async () => {
    provider.user = { sub: "u-9" };
    provider.habits = { userInfo: { email: "björn@example.com", name: "Björn" } };
    const { headers } = echoOf(await new CookieClient().go(`${site}/app`));
    const bytes = (text: string) => Buffer.from(text).latin1Slice();
    expect(headers).toMatchObject({ "x-user": bytes("björn@example.com"), "x-name": bytes("Björn") });
    expect(provider.count("/userinfo")).toBe(1);
  });

  test("whose address is not verified is known by sub", async () => {
    provider.user = { sub: "u-2", email: "root@example.com", email_verified: false };
    const { headers } = echoOf(await new CookieClient().go(`${site}/app`));
    expect(headers).toMatchObject({ "x-who": "u-2" });
    expect(headers).not.toHaveProperty("x-user");
  });
});

describe("who may come in", () => {
  const ROWS: readonly (readonly [string, string, object, number])[] = [
    ["an address and a group that fit", "/staff", {}, 200],
    ["another domain", "/staff", { email: "alice@evil.test" }, 403],
    ["a domain that ends likewise", "/staff", { email: "alice@notexample.com" }, 403],
    ["an address with two @", "/staff", { email: "x@evil.test@example.com" }, 403],
    ["a sub-domain", "/staff", { email: "alice@a.example.com" }, 403],
    ["another case", "/staff", { email: "Alice@EXAMPLE.com" }, 200],
    ["an address that is not verified", "/staff", { email_verified: false }, 403],
    ["no group", "/staff", { groups: undefined }, 403],
    ["another group", "/staff", { groups: ["staffers"] }, 403],
    ["one of several groups", "/staff", { groups: ["a", "staff"] }, 200],
    ["groups that are one text", "/staff", { groups: "staff" }, 200],
    ["a nested claim", "/boss", { realm_access: { roles: ["boss"] } }, 200],
    ["a nested claim that is another", "/boss", { realm_access: { roles: ["bosses"] } }, 403],
    ["no such claim", "/boss", {}, 403],
  ];
  test.each(ROWS)("%s", async (_, path, claims, status) => {
    provider.user = { ...USER, ...claims };
    const client = new CookieClient();
    const page = await client.go(site + path);
    expect(page.status).toBe(status);
    if (status === 200) return;
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.text).toContain('<a href="/.edge/oidc/logout">');
    expect(page.text).toContain(page.headers.get("x-request-id")!);
    const asProgram = await client.get(site + path, { headers: { accept: "application/json" } });
    expect([asProgram.status, JSON.parse(asProgram.text)]).toEqual([
      403,
      { error: "403 Forbidden", message: "You are signed in, but your account may not see this page." },
    ]);
  });
});

describe("signing out", () => {
  test("ends the session here and at the provider, and comes back to a page that says so", async () => {
    const client = new CookieClient();
    await client.go(`${site}/left`);
    const first = await client.get(`${site}/left/bye`);
    const url = new URL(first.headers.get("location")!);
    expect(url.pathname).toBe("/end");
    expect(url.searchParams.get("post_logout_redirect_uri")).toBe(`${site}/left/bye`);
    expect(url.searchParams.get("client_id")).toBe("edge");
    expect(url.searchParams.get("id_token_hint")!.split(".")).toHaveLength(3);
    expect(client.cookies("localhost")).toEqual([]);
    const last = await client.go(url.href);
    expect([last.status, last.url]).toEqual([200, `${site}/left/bye`]);
    expect(last.text).toContain("You are signed out");
    expect((await client.get(`${site}/left`)).status).toBe(302);
    // The client is not kept waiting for it.
    await eventually(() => expect(provider.count("/revoke")).toBe(1));
  });

  test("is at exactly its path, where a route's prefix is the same", async () => {
    const client = new CookieClient();
    expect((await client.go(`${site}/same/x`)).status).toBe(200);
    expect((await client.go(`${site}/same/y`)).status).toBe(200);
    expect((await client.go(`${site}/same`)).text).toContain("You are signed out");
    expect((await client.get(`${site}/same/x`)).status).toBe(302);
  });

  test("is not for other sites' pages", async () => {
    const client = new CookieClient();
    await client.go(`${site}/app`);
    const foreign = { headers: { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" } };
    expect((await client.get(`${site}/.edge/oidc/logout`, foreign)).status).toBe(403);
    expect((await client.get(`${site}/.edge/oidc/logout`, { headers: { "sec-purpose": "prefetch" } })).status).toBe(
      403,
    );
    expect((await client.get(`${site}/app`)).status).toBe(200);
  });

  test("works where the provider has no place for it", async () => {
    const lone = FakeProvider.start();
    lone.habits = { metadata: { end_session_endpoint: undefined, revocation_endpoint: undefined } };
    const { issuer, clientId, clientSecret } = lone;
    const own = { issuer, client_id: clientId, client_secret: clientSecret, cookie_secret: SECRET };
    const other = await startGateway({ config: { server: { auth: { oidc: own } } }, routes: [upstream("/", origin)] });
    const client = new CookieClient();
    const at = `http://localhost:${other.port}`;
    await client.go(`${at}/x`);
    const page = await client.go(`${at}/.edge/oidc/logout`);
    expect([page.url, page.status]).toEqual([`${at}/.edge/oidc/logout`, 200]);
    expect((await client.get(`${at}/x`)).status).toBe(302);
    await other.stop();
    await lone.stop();
  });
});

describe("routes without auth", () => {
  test("and mirrors of routes with it get no cookie of a session", async () => {
    const client = new CookieClient();
    await client.go(`${site}/mirrored`);
    await client.get(`${site}/mirrored/x`, { headers: { cookie: `a=1; ${cookieLine(client)}` } });
    await eventually(() =>
      expect(copies.filter(({ target }) => target === "/x")).toEqual([{ target: "/x", cookie: "a=1" }]),
    );
  });

  test("get neither the cookies of sessions nor those of sign-ins, and all others as they came", async () => {
    const client = new CookieClient();
    await client.get(`${site}/app/2`);
    await client.go(`${site}/app`);
    const own = client.cookies("localhost").map(([name, value]) => `${name}=${value}`);
    expect(own.length).toBeGreaterThan(1);
    const ROWS: readonly (readonly [string, string | undefined])[] = [
      [own.join("; "), undefined],
      [`a=1; ${own.join(";")}; b=2`, "a=1; b=2"],
      [`${own[0]};a=1;b=2`, "a=1;b=2"],
      [`a=1 ;  ${own[1]}`, "a=1"],
      [`a="x;y"; ${own[0]}; ${own[1]}; c=edge-oidc-`, 'a="x;y"; c=edge-oidc-'],
      ["a=1; b=2", "a=1; b=2"],
      ["__Host-edge-oidc-0123456789=x; a=__Host-edge-oidc-", "a=__Host-edge-oidc-"],
    ];
    for (const [i, [cookie, wanted]] of ROWS.entries()) {
      for (const path of ["/open", "/app"]) {
        const sent = path === "/app" ? `${cookie}; ${own.join("; ")}` : cookie;
        const { headers } = echoOf(await new CookieClient().get(`${site}${path}/${i}`, { headers: { cookie: sent } }));
        expect([path, cookie, headers.cookie]).toEqual([path, cookie, wanted!]);
      }
    }
  });
});
