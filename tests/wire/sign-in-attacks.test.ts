import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { CookieClient } from "../harness/cookie-client.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { FakeProvider, type ProviderHabits } from "../harness/fake-provider.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/security.md#sessions
const SECRET = "sessions are sealed with this secret, say";
const provider = FakeProvider.start();
const other = FakeProvider.start();
const origin = EchoOrigin.start();
let reached = 0;
origin.on("/user", (call) => {
  reached++;
  call.reply(
    "200 OK",
    ["Cache-Control: public, max-age=60", "Content-Type: text/plain"],
    call.request.fields.get("x-user") ?? "",
  );
});
origin.on("/private", (call) => {
  reached++;
  call.reply(
    "200 OK",
    ["Cache-Control: max-age=60", "Content-Type: text/plain"],
    call.request.fields.get("x-user") ?? "",
  );
});
let gateway: Gateway;
let site = "";

function oidc(from: FakeProvider, more: object = {}): object {
  const { issuer, clientId, clientSecret } = from;
  const own = { issuer, client_id: clientId, client_secret: clientSecret, cookie_secret: SECRET, ...more };
  return { oidc: { headers: { "X-User": "email" }, ...own } };
}

beforeAll(async () => {
  gateway = await startGateway({
    config: { server: { auth: oidc(provider), cache: { enabled: true }, waf: { enabled: true, mode: "enforce" } } },
    routes: [
      upstream("/app", origin),
      upstream("/own", origin, { auth: oidc(provider) }),
      upstream("/client", origin, { auth: oidc(provider, { client_id: "another" }) }),
      upstream("/issuer", origin, { auth: oidc(other) }),
      upstream("/secret", origin, { auth: oidc(provider, { cookie_secret: SECRET.toUpperCase() }) }),
      upstream("/both", origin, { auth: { any: [oidc(other), oidc(provider)] } }),
      upstream("/open", origin, { auth: false }),
      upstream("/", origin),
    ],
  });
  site = `http://localhost:${gateway.port}`;
});
afterAll(async () => {
  await stopAll(gateway, origin);
  await Promise.all([provider.stop(), other.stop()]);
});
const USER = provider.user;
afterEach(() => {
  provider.habits = {};
  other.habits = {};
  provider.user = USER;
});

const CALLBACK = "/.edge/oidc/callback";

/** Where the provider leads back to, asked for by nobody yet, and the client that has begun the sign-in. */
async function begun(path = "/app"): Promise<{ client: CookieClient; way: string }> {
  const client = new CookieClient();
  return { client, way: await client.until(site + path, site + CALLBACK) };
}

async function signedIn(path = "/app"): Promise<{ client: CookieClient; name: string; value: string }> {
  const client = new CookieClient();
  await client.go(`${site}${path}`);
  const [name, value] = client.cookies("localhost").find(([one]) => /^edge-oidc-[0-9a-f]{10}$/.test(one))!;
  return { client, name, value };
}

async function statusWith(path: string, cookie: string): Promise<number> {
  return (
    await gateway.once(request(`GET ${path}`, ["Host: localhost", "Accept: application/json", `Cookie: ${cookie}`]))
  ).status;
}

async function lastReason(): Promise<string> {
  const line = await gateway.log("a failure", ({ event }) => event === "sign_in_failed");
  return String(line.reason);
}

describe("a provider's response that cannot be trusted gives no session", () => {
  const now = Math.floor(Date.now() / 1000);
  const ROWS: readonly (readonly [string, ProviderHabits, number])[] = [
    ["a broken signature", { breaksSignature: true }, 502],
    ["alg none", { header: { alg: "none" } }, 502],
    ["a signature with the client's secret", { header: { alg: "HS256" } }, 502],
    ["an unknown key", { header: { kid: "k2" } }, 502],
    ["another issuer's token", { idToken: { iss: "https://evil.test" } }, 502],
    ["another client's token", { idToken: { aud: "another" } }, 502],
    ["several audiences without azp", { idToken: { aud: ["edge", "another"], azp: "another" } }, 502],
    ["another nonce", { idToken: { nonce: "x" } }, 502],
    ["no nonce", { idToken: { nonce: undefined } }, 502],
    ["a token that is over", { idToken: { exp: now - 3600, iat: now - 7200 } }, 502],
    ["a token of the future", { idToken: { nbf: now + 3600 } }, 502],
    ["no subject", { idToken: { sub: undefined } }, 502],
    ["no ID token", { tokens: { id_token: undefined } }, 502],
    ["no token that is one", { tokens: { id_token: "x" } }, 502],
    ["another issuer on the way back", { callback: { iss: "https://evil.test" } }, 502],
    ["no issuer on the way back", { callback: { iss: undefined } }, 502],
    ["a token endpoint that says no", { callback: { code: "x" } }, 403],
    [
      "an error on the way back",
      { callback: { code: undefined, error: "access_denied", error_description: "<script>" } },
      403,
    ],
    [
      "a redirect in place of tokens",
      { intercept: (path) => (path === "/token" ? Response.redirect(`${provider.issuer}/x`, 302) : null) },
      502,
    ],
    [
      "a response that does not end",
      { intercept: (path) => (path === "/token" ? new Response("x".repeat(1e6)) : null) },
      502,
    ],
    ["a page in place of tokens", { intercept: (path) => (path === "/token" ? new Response("<p>") : null) }, 502],
    [
      "an error of the server",
      { intercept: (path) => (path === "/token" ? new Response("", { status: 500 }) : null) },
      503,
    ],
  ];
  test.each(ROWS)("%s", async (_, habits, status) => {
    provider.habits = habits;
    const client = new CookieClient();
    const page = await client.go(`${site}/app/wanted?x="><script>`);
    expect([page.status, new URL(page.url).pathname]).toEqual([status, CALLBACK]);
    expect(page.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(page.headers.get("cache-control")).toBe("no-store");
    expect(page.text).not.toContain("<script>");
    expect(page.text).toContain('href="/app/wanted?x=%22%3E%3Cscript%3E"');
    expect(page.text).toContain(page.headers.get("x-request-id")!);
    expect(client.cookies("localhost")).toEqual([]);
    const line = await gateway.log(
      "the failure",
      (one) => one.event === "sign_in_failed" && one.request_id === page.headers.get("x-request-id"),
    );
    expect(line).toMatchObject({ step: "callback", issuer: provider.issuer });
    expect(JSON.stringify(line)).not.toMatch(/eyJ|script/);
    provider.habits = {};
    expect((await client.go(`${site}/app`)).status).toBe(200);
  });
});

describe("a state", () => {
  test("counts once, and so does a code", async () => {
    const { client, way } = await begun();
    const jar = new Map(client.jar.get("localhost")!);
    const first = await client.get(way);
    expect([first.status, first.headers.get("location")]).toEqual([302, "/app"]);
    expect((await client.get(way)).status).toBe(400);
    client.jar.set("localhost", jar);
    expect((await client.get(way)).status).toBe(400);
  });

  test("is good in the browser that began alone (login CSRF)", async () => {
    const { way } = await begun();
    const victim = new CookieClient();
    await victim.get(`${site}/app`);
    const page = await victim.get(way);
    expect(page.status).toBe(400);
    expect(page.text).toContain("was begun in another browser");
    expect(victim.cookies("localhost").some(([name]) => /^edge-oidc-[0-9a-f]{10}$/.test(name))).toBe(false);
  });

  test("of one sign-in does not go with the cookie of another", async () => {
    const one = await begun("/app/1");
    const two = await begun("/app/2");
    const [, value] = two.client.cookies("localhost")[0]!;
    const [name] = one.client.cookies("localhost")[0]!;
    one.client.jar.set("localhost", new Map([[name, value]]));
    expect((await one.client.get(one.way)).status).toBe(400);
  });

  test.each([
    "",
    "?",
    "?state=",
    "?state=x",
    "?code=a&state=0123456789.abcdefghijklmn.x",
    "?error=x",
    "?state=a&state=b",
  ])("is asked for: %s", async (query) => {
    const { client } = await begun();
    expect((await client.get(site + CALLBACK + query)).status).toBe(400);
  });

  test("comes once: parameters that are repeated are no sign-in", async () => {
    const { client, way } = await begun();
    expect((await client.get(`${way}&code=x`)).status).toBe(502);
  });

  test("of a sign-in at another provider is none (mix-up)", async () => {
    const { client, way } = await begun("/issuer");
    const honest = new URL(way);
    honest.searchParams.set("iss", provider.issuer);
    expect((await client.get(honest.href)).status).toBe(502);
    // Both are there at one path: each state finds its own.
    const both = await begun("/issuer/x");
    expect((await both.client.get(both.way)).headers.get("location")).toBe("/issuer/x");
  });

  test("begins a session of its own, whatever cookie the browser has (fixation)", async () => {
    const { name, value } = await signedIn();
    const victim = new CookieClient();
    victim.jar.set("localhost", new Map([[name, value]]));
    const way = await new CookieClient().until(`${site}/own`, site + CALLBACK);
    expect((await victim.get(way)).status).toBe(400);
    const again = await signedIn();
    expect(again.value).not.toBe(value);
  });
});

test("where a route has two providers, a sign-in is finished once, by its own", async () => {
  const client = new CookieClient();
  expect((await client.go(`${site}/both/x`)).url).toBe(`${site}/both/x`);
});

describe("a cookie of a session", () => {
  test("counts for its scope alone", async () => {
    const { name, value } = await signedIn();
    expect(await statusWith("/app", `${name}=${value}`)).toBe(200);
    const tags = new Map<string, string>();
    for (const path of ["/own", "/client", "/issuer", "/secret"]) {
      const client = new CookieClient();
      await client.get(site + path);
      const tag = client.cookies("localhost")[0]![0].split("-")[2]!;
      tags.set(path, tag);
      expect([path, await statusWith(path, `${name}=${value}`)]).toEqual([path, 401]);
      expect([path, await statusWith(path, `edge-oidc-${tag}=${value}`)]).toEqual([path, 401]);
    }
    expect(new Set([...tags.values()]).size).toBe(4);
  });

  test("counts for its host alone", async () => {
    const { name, value } = await signedIn();
    const lines = (host: string) => [`Host: ${host}`, "Accept: application/json", `Cookie: ${name}=${value}`];
    for (const host of ["127.0.0.1", "localhost.evil.test", "evil.test", "[::1]"])
      expect([host, (await gateway.once(request("GET /app", lines(host)))).status]).toEqual([host, 401]);
    for (const host of ["localhost", "LOCALHOST", "localhost.", "localhost:1234"])
      expect([host, (await gateway.once(request("GET /app", lines(host)))).status]).toEqual([host, 200]);
  });

  test("is none where a sign-in is meant, and the other way round", async () => {
    const { client, way } = await begun();
    const [attempt, sealed] = client.cookies("localhost")[0]!;
    const session = await signedIn();
    expect(await statusWith("/app", `${session.name}=${sealed}`)).toBe(401);
    client.jar.set("localhost", new Map([[attempt, session.value]]));
    expect((await client.get(way)).status).toBe(400);
  });

  test("with any byte changed, left out or added is none", async () => {
    const { name, value } = await signedIn();
    const changed = [
      0,
      1,
      15,
      16,
      17,
      30,
      Math.floor(value.length / 2),
      value.length - 22,
      value.length - 2,
      value.length - 1,
    ].flatMap((at) =>
      ["A", "B", "-", "_", "=", "%", "é"].map((sign) => value.slice(0, at) + sign + value.slice(at + 1)),
    );
    const others = [
      "",
      "A",
      value.slice(1),
      value.slice(0, -1),
      value.slice(0, -4),
      `${value}A`,
      `${value}AAAA`,
      `${value}=`,
      `"${value}"`,
    ];
    const all = [
      ...changed,
      ...others,
      value.replace(/-/g, "+").replace(/_/g, "/"),
      `${value} x`,
      value + value,
      value.toLowerCase(),
    ];
    const counted = new Set(all.filter((one) => one !== value && one !== `"${value}"`));
    const client = await gateway.connect();
    for (const one of counted) {
      const lines = ["Host: localhost", "Accept: application/json", `Cookie: ${name}=${one}`];
      expect([one, (await client.exchange(request("GET /app", lines))).status]).toEqual([one, 401]);
    }
    client.close();
    expect(await statusWith("/app", `${name}=${value}`)).toBe(200);
  });

  test("counts beside others of its name that are none", async () => {
    const { name, value } = await signedIn();
    expect(await statusWith("/app", `${name}=x; ${name}=${value}`)).toBe(200);
    expect(await statusWith("/app", `__Host-${name}=${value}`)).toBe(401);
    expect(await statusWith("/app", `x${name}=${value}; ${name}x=${value}`)).toBe(401);
  });
});

describe("where a sign-in comes back to", () => {
  const PATHS: readonly (readonly [string, string])[] = [
    ["/app/x?a=b&c=%2F%0d%0a", "/app/x?a=b&c=%2F%0d%0a"],
    ["//evil.test/", "/evil.test/"],
    ["///evil.test", "/evil.test"],
    ["/\\evil.test", "/evil.test"],
    ["/\\/evil.test", "/evil.test"],
    ["/app/\\evil", "/app/%5Cevil"],
    ["/app/../../evil.test", "/app/../../evil.test"],
    ["/.//evil.test", "/.//evil.test"],
    ["/%09/evil.test", "/%09/evil.test"],
    ["/%2F%2Fevil.test", "/%2F%2Fevil.test"],
    ["/app?next=//evil.test", "/app?next=//evil.test"],
    [`http://localhost/app`, "/app"],
    ["http://localhost//evil.test", "/evil.test"],
    ["/@evil.test", "/@evil.test"],
    ["/:80", "/:80"],
    [`/app/${"x".repeat(600)}`, "/"],
  ];
  test.each(PATHS)("is a path of the same origin: %s", async (target, wanted) => {
    // The first request is sent as it is: a client that is a browser would mend it.
    const lines = [`Host: localhost:${gateway.port}`, "Accept: text/html"];
    const asked = target.replace("http://localhost", `http://localhost:${gateway.port}`);
    const reply = await gateway.once(request(`GET ${asked}`, lines));
    if (reply.status === 403 || reply.status === 400) return;
    expect(reply.status).toBe(302);
    const client = new CookieClient();
    const [pair = ""] = reply.fields.get("set-cookie")!.split(";");
    client.jar.set("localhost", new Map([[pair.slice(0, pair.indexOf("=")), pair.slice(pair.indexOf("=") + 1)]]));
    const way = await client.until(reply.fields.get("location")!, site + CALLBACK);
    const back = await client.get(way);
    expect(back.headers.get("location")).toBe(wanted);
    expect(new URL(wanted, site).origin).toBe(site);
  });

  test("is not its own path", async () => {
    for (const path of ["/.edge/oidc/logout?x", CALLBACK]) {
      const client = new CookieClient();
      const page = await client.go(site + path);
      expect([path, page.status === 302]).toEqual([path, false]);
    }
  });
});

describe("what a user gets", () => {
  test("is no other user's, from the cache", async () => {
    const alice = new CookieClient();
    await alice.go(`${site}/app`);
    provider.user = { sub: "u-2", email: "bob@example.com" };
    const bob = new CookieClient();
    await bob.go(`${site}/app`);
    for (let i = 0; i < 2; i++) {
      expect((await alice.get(`${site}/app/private`)).text).toBe("alice@example.com");
      expect((await bob.get(`${site}/app/private`)).text).toBe("bob@example.com");
    }
    expect((await new CookieClient().get(`${site}/app/private`)).status).toBe(302);
    expect((await new CookieClient().get(`${site}/app/user`)).status).toBe(302);
  });

  test("has no field that a client says for itself", async () => {
    const { client } = await signedIn();
    for (const name of ["X-User", "x-user", "X_User"]) {
      const forged = { headers: { [name]: "root@example.com" } };
      expect((await client.get(`${site}/app/private?${name}`, forged)).text).toBe("alice@example.com");
      expect((await client.get(`${site}/open/private?${name}`, forged)).text).toBe("");
    }
  });

  test("reaches no origin without a session", async () => {
    const before = reached;
    for (const path of ["/app/user?1", "//app/user?2", "/open/../app/user?3", "/app/./user?4", "/%61pp/user?5"]) {
      const reply = await gateway.once(request(`GET ${path}`, ["Accept: application/json"]));
      expect([path, reply.status]).toEqual([path, path.includes("..") ? 403 : 401]);
    }
    expect(reached).toBe(before);
  });
});

test("cookies of sessions pass the firewall, whatever their bytes", async () => {
  for (let i = 0; i < 20; i++) {
    const { name, value } = await signedIn(`/app/${i}`);
    expect(await statusWith("/app", `${name}=${value}`)).toBe(200);
  }
});

test("the log has no cookie, token, code or secret", async () => {
  const { name, value } = await signedIn();
  await statusWith("/app", `${name}=${value}`);
  await Bun.sleep(300);
  const text = gateway.lastWords();
  expect(text).not.toContain(value.slice(0, 20));
  expect(text).not.toContain(provider.clientSecret);
  expect(await lastReason()).not.toContain("eyJ");
});
