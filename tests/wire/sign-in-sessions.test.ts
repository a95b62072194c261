import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { CookieClient } from "../harness/cookie-client.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { FakeProvider } from "../harness/fake-provider.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { longTest } from "../harness/long-lane.ts";

// docs/authentication.md#sessions
const OLD = "the old secret, of thirty-two letters";
const NEW = "the new secret, of thirty-two letters";
const origin = EchoOrigin.start();
origin.on("/user", (call) => call.reply("200 OK", [], call.request.fields.get("x-user") ?? ""));
const PROGRAM = { headers: { accept: "application/json" } };
let provider: FakeProvider;
const running: Gateway[] = [];

beforeEach(() => {
  provider = FakeProvider.start();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((gateway) => gateway.stop()));
  await provider.stop();
});
afterAll(() => origin.stop());

async function start(more: object = {}, server: object = {}): Promise<{ gateway: Gateway; site: string }> {
  const { issuer, clientId, clientSecret } = provider;
  const own = { issuer, client_id: clientId, client_secret: clientSecret, cookie_secret: OLD, ...more };
  const gateway = await startGateway({
    config: {
      server: { shutdown_timeout: "200ms", ...server, auth: { oidc: { ...own, headers: { "X-User": "email" } } } },
    },
    routes: [upstream("/open", origin, { auth: false }), upstream("/", origin)],
  });
  running.push(gateway);
  return { gateway, site: `http://localhost:${gateway.port}` };
}

function sessionOf(client: CookieClient): string {
  return client.cookies("localhost").find(([name]) => /^edge-oidc-[0-9a-f]{10}$/.test(name))?.[1] ?? "";
}

/** Until the access token of a session that has just begun has ended. */
async function untilDue(): Promise<void> {
  await Bun.sleep(provider.expiresInS * 1000 + 50);
}

describe("a session with many groups", () => {
  const MANY = Array.from({ length: 300 }, (_, n) => `/departments/engineering/team-${n}`);
  const allow = { groups: ["/departments/engineering/team-299"] };

  test("is judged by all of them, and goes on in more than one cookie where it has to", async () => {
    const ids = Array.from({ length: 110 }, () => crypto.randomUUID());
    provider.user = { ...provider.user, groups: [...MANY, ...ids] };
    const { site, gateway } = await start({ allow });
    const client = new CookieClient();
    expect((await client.go(`${site}/user`)).text).toBe("alice@example.com");
    expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(200);
    const names = client.cookies("localhost").map(([name]) => name);
    expect(names.filter((name) => name.startsWith("edge-oidc-")).length).toBeGreaterThan(1);
    expect(gateway.logs.json.filter(({ event }) => event === "session_cut")).toEqual([]);
    // No part of it goes to an origin.
    expect((await client.get(`${site}/echo`, PROGRAM)).text).not.toContain("edge-oidc-");
    await client.go(`${site}/.edge/oidc/logout`);
    expect(client.cookies("localhost").filter(([, value]) => value !== "")).toEqual([]);
  });

  test("that has no room for all of them lets in who may come, and the log says what was cut", async () => {
    const ids = Array.from({ length: 400 }, () => crypto.randomUUID());
    provider.user = { ...provider.user, groups: [...ids, ...MANY] };
    const { site, gateway } = await start({ allow });
    const client = new CookieClient();
    expect((await client.go(`${site}/user`)).text).toBe("alice@example.com");
    const line = await gateway.log("what was cut", ({ event }) => event === "session_cut");
    expect(String(line.claims).split(" ")).toContain("groups");
    provider.user = { ...provider.user, groups: ids };
    const other = new CookieClient();
    expect((await other.go(`${site}/user`)).status).toBe(403);
  });
});

describe("a session whose access token has ended", () => {
  test("is renewed, once for all requests that come at the same time, with what the provider says now", async () => {
    provider.expiresInS = 1;
    const { site } = await start();
    const client = new CookieClient();
    await client.go(`${site}/user`);
    const before = sessionOf(client);
    await untilDue();
    provider.user = { ...provider.user, email: "alice@new.example.com" };
    provider.expiresInS = 3600;
    const old = new CookieClient();
    old.jar.set("localhost", new Map(client.jar.get("localhost")));
    const all = await Promise.all(Array.from({ length: 8 }, () => client.get(`${site}/user`, PROGRAM)));
    expect(all.map(({ status, text }) => [status, text])).toEqual(Array(8).fill([200, "alice@new.example.com"]));
    expect(provider.count("/token")).toBe(2);
    expect(sessionOf(client)).not.toBe(before);
    // Under its old cookie it is known for a while, and the client gets the new one.
    expect((await old.get(`${site}/user`, PROGRAM)).text).toBe("alice@new.example.com");
    expect(sessionOf(old)).toBe(sessionOf(client));
    await client.get(`${site}/user`, PROGRAM);
    expect(provider.count("/token")).toBe(2);
  });

  test("is over where the provider says no", async () => {
    provider.expiresInS = 1;
    const { gateway, site } = await start();
    const client = new CookieClient();
    await client.go(`${site}/user`);
    provider.endSessions();
    await untilDue();
    expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(401);
    expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(401);
    expect(provider.count("/token")).toBe(2);
    const asked = await client.get(`${site}/user`);
    expect(asked.status).toBe(302);
    expect(sessionOf(client)).toBe("");
    const line = await gateway.log("the failure", ({ event }) => event === "sign_in_failed");
    expect(line).toMatchObject({ step: "renewal", reason: "the provider says invalid_grant" });
    expect(await gateway.metric("gateway_sign_in_failures_total", { step: "renewal" })).toBe(1);
  });

  test("is over where the provider speaks of another user, or cannot be trusted", async () => {
    for (const habits of [
      { idToken: { sub: "u-7" } },
      { breaksSignature: true },
      { idToken: { iss: "https://evil.test" } },
    ]) {
      provider.habits = {};
      provider.expiresInS = 1;
      const { site } = await start();
      const client = new CookieClient();
      await client.go(`${site}/user`);
      await untilDue();
      provider.habits = habits;
      expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(401);
    }
  }, 30_000);

  test("goes on while the provider is away, without a wait for each request", async () => {
    provider.expiresInS = 1;
    const { site } = await start();
    const client = new CookieClient();
    await client.go(`${site}/user`);
    await untilDue();
    await provider.goAway();
    for (let i = 0; i < 5; i++) expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(200);
    provider.comeBack();
    expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(200);
    expect(provider.count("/token")).toBe(1);
  });

  test("goes on while the provider does not get ahead: one request waits, for five seconds at most", async () => {
    provider.expiresInS = 1;
    const { site } = await start();
    const client = new CookieClient();
    await client.go(`${site}/user`);
    await untilDue();
    provider.habits = { delayMs: 60_000 };
    const began = Date.now();
    expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(200);
    expect(Date.now() - began).toBeLessThan(9000);
    const next = Date.now();
    expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(200);
    expect(Date.now() - next).toBeLessThan(2000);
  }, 30_000);

  test("goes on where there is no refresh token", async () => {
    provider.expiresInS = 1;
    provider.habits = { tokens: { refresh_token: undefined } };
    const { site } = await start();
    const client = new CookieClient();
    await client.go(`${site}/user`);
    await untilDue();
    expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(200);
    expect(provider.count("/token")).toBe(1);
  });

  test("keeps a refresh token that is not replaced", async () => {
    provider.expiresInS = 1;
    provider.rotatesRefreshTokens = false;
    const { site } = await start();
    const client = new CookieClient();
    await client.go(`${site}/user`);
    for (let i = 0; i < 2; i++) {
      await untilDue();
      provider.habits = { tokens: { refresh_token: undefined } };
      expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(200);
    }
    expect(provider.count("/token")).toBe(3);
  });

  longTest(
    "is renewed again half a minute after the provider was away",
    async () => {
      provider.expiresInS = 1;
      const { site } = await start();
      const client = new CookieClient();
      await client.go(`${site}/user`);
      await untilDue();
      await provider.goAway();
      expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(200);
      provider.comeBack();
      await Bun.sleep(31_000);
      expect((await client.get(`${site}/user`, PROGRAM)).status).toBe(200);
      expect(provider.count("/token")).toBe(2);
    },
    60_000,
  );
});

describe("workers", () => {
  longTest(
    "leave the renewal of a session to one of them while its access token is good",
    async () => {
      provider.expiresInS = 10;
      const { site } = await start({}, { workers: 3 });
      const client = new CookieClient();
      await client.go(`${site}/user`);
      await Bun.sleep(8200);
      const cookies = new Map(client.jar.get("localhost"));
      const all = Array.from({ length: 24 }, async () => {
        const one = new CookieClient({ headers: { connection: "close" } });
        one.jar.set("localhost", new Map(cookies));
        return (await one.get(`${site}/user`, PROGRAM)).status;
      });
      expect(new Set(await Promise.all(all))).toEqual(new Set([200]));
      expect(provider.count("/token")).toBe(2);
    },
    60_000,
  );
});

describe("gateways with the same secret", () => {
  test("know each other's sessions; of two secrets the first seals and both open", async () => {
    const [one, both, last] = [
      await start(),
      await start({ cookie_secret: [NEW, OLD] }),
      await start({ cookie_secret: NEW }),
    ];
    const client = new CookieClient();
    await client.go(`${one.site}/user`);
    expect((await client.get(`${both.site}/user`, PROGRAM)).status).toBe(200);
    expect((await client.get(`${last.site}/user`, PROGRAM)).status).toBe(401);
    const other = new CookieClient();
    await other.go(`${both.site}/user`);
    expect((await other.get(`${last.site}/user`, PROGRAM)).status).toBe(200);
    expect((await other.get(`${one.site}/user`, PROGRAM)).status).toBe(401);
  });

  test("let in by what the configuration says now", async () => {
    const [one, strict] = [await start(), await start({ allow: { email: "bob@example.com" } })];
    const client = new CookieClient();
    await client.go(`${one.site}/user`);
    expect((await client.get(`${strict.site}/user`)).status).toBe(403);
  });
});

describe("a provider that is away", () => {
  let site = "";
  let gateway: Gateway;
  beforeEach(async () => {
    ({ gateway, site } = await start());
  });

  test("is told of on a page, and routes without auth go on", async () => {
    await provider.goAway();
    const page = await new CookieClient().go(`${site}/user`);
    expect(page.status).toBe(503);
    expect(page.text).toContain("The sign-in service does not respond.");
    expect(page.headers.get("retry-after")).toBe("5");
    expect((await new CookieClient().get(`${site}/open`)).status).toBe(200);
    expect(await gateway.log("why", ({ event }) => event === "sign_in_failed")).toMatchObject({ step: "login" });
    provider.comeBack();
    await Bun.sleep(2100);
    expect((await new CookieClient().go(`${site}/user`)).status).toBe(200);
  });

  test("or slow holds its own requests alone, and no more than 64", async () => {
    provider.habits = { delayMs: 60_000 };
    const began = Date.now();
    const all = Promise.all(Array.from({ length: 80 }, () => new CookieClient().get(`${site}/user`)));
    for (let i = 0; i < 5; i++) expect((await new CookieClient().get(`${site}/open`)).status).toBe(200);
    expect(Date.now() - began).toBeLessThan(4000);
    const statuses = (await all).map(({ status, text }) => `${status} ${/Too many/.test(text) ? "many" : "away"}`);
    expect(Date.now() - began).toBeLessThan(12_000);
    expect(statuses.filter((one) => one === "503 many")).toHaveLength(16);
    expect(statuses.filter((one) => one === "503 away")).toHaveLength(64);
    provider.habits = {};
    await Bun.sleep(2100);
    expect((await new CookieClient().go(`${site}/user`)).status).toBe(200);
  }, 30_000);

  test("or says another issuer, or names endpoints in clear text elsewhere, is not believed", async () => {
    const evil = "http://evil.test/authorize";
    for (const metadata of [
      { issuer: "https://evil.test" },
      { authorization_endpoint: evil },
      { authorization_endpoint: undefined },
    ]) {
      provider.habits = { metadata };
      const other = await start();
      const page = await new CookieClient().go(`${other.site}/user`);
      expect([JSON.stringify(metadata), page.status]).toEqual([JSON.stringify(metadata), 502]);
      expect(page.headers.get("location")).toBeNull();
    }
  }, 30_000);
});
