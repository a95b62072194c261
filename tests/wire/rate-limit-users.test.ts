import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/guards.md#rate-limits
const hash = (await Bun.password.hash("open sesame", { algorithm: "bcrypt", cost: 4 })).replace("$2b$", "$2y$");
const origin = EchoOrigin.start();
origin.on("/stored", (call) =>
  call.send(
    "HTTP/1.1 200 OK\r\nCache-Control: public, max-age=60\r\nX-RateLimit-Limit: 7\r\nContent-Length: 2\r\n\r\nok",
  ),
);
const auth = { basic: { users: { alice: hash, bob: hash } } };
const byUser = { requests: 3, window: "2h", key: "user" };
const gateway = await startGateway({
  config: { server: { workers: 2, trusted_proxies: ["127.0.0.1"], cache: { enabled: true } } },
  files: { "f/page.txt": "the page" },
  routes: [
    upstream("/users", origin, { auth, rate_limit: byUser }),
    upstream("/open", origin, { rate_limit: byUser }),
    upstream("/told", origin, { rate_limit: { requests: 3, window: "1h", headers: true } }),
    upstream("/untold", origin, { rate_limit: "30r/h" }),
    upstream("/wide", origin, { rate_limit: { requests: 1, window: "2h", ipv6_prefix: 48 } }),
    { type: "static", prefix: "/files", dir: "f", rate_limit: { requests: 50, window: "1m", headers: true } },
  ],
});
afterAll(() => stopAll(gateway, origin));

let clients = 0;
function newClient(): string {
  clients++;
  return `203.0.113.${clients}`;
}

function ask(client: string, path: string, lines: readonly string[] = []): Promise<Reply> {
  return gateway.once(request(`GET ${path}`, [`X-Forwarded-For: ${client}`, ...lines]));
}

async function statuses(count: number, ask: (i: number) => Promise<Reply>): Promise<number[]> {
  const found: number[] = [];
  for (let i = 0; i < count; i++) found.push((await ask(i)).status);
  return found;
}

function as(user: string, password = "open sesame"): string {
  return `Authorization: Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`;
}

describe("key: user", () => {
  test("counts a user's requests from all addresses, and each user's alone", async () => {
    expect(await statuses(5, () => ask(newClient(), "/users/echo", [as("alice")]))).toEqual([200, 200, 200, 429, 429]);
    expect(await statuses(4, () => ask("198.51.100.1", "/users/echo", [as("bob")]))).toEqual([200, 200, 200, 429]);
  });

  test("does not count what auth refuses: nobody empties a user's bucket without the password", async () => {
    const refused = await ask(newClient(), "/users/echo", [as("alice", "wrong")]);
    expect(refused.status).toBe(401);
    expect((await ask(newClient(), "/users/echo")).status).toBe(401);
  });

  test("is the address where no one is asked who it is, whatever a client says", async () => {
    const client = newClient();
    const says = (i: number) => [`Remote-User: u${i}`, `X-User: u${i}`, as(`u${i}`), `X-Forwarded-User: u${i}`];
    expect(await statuses(4, (i) => ask(client, "/open/echo", says(i)))).toEqual([200, 200, 200, 429]);
    expect((await ask(newClient(), "/open/echo", says(0))).status).toBe(200);
  });

  test("refuses before anything reaches the origin, and says when to come again", async () => {
    const before = origin.requests.length;
    const reply = await ask(newClient(), "/users/echo", [as("alice")]);
    expect(reply.status).toBe(429);
    expect(Number(reply.fields.get("retry-after"))).toBeGreaterThan(0);
    expect(origin.requests.length).toBe(before);
  });
});

describe("fields", () => {
  const POLICY = '"default";q=3;w=3600';

  test("say on each response what is left, on the refusal too", async () => {
    const client = newClient();
    for (const left of [2, 1, 0]) {
      const { fields, status } = await ask(client, "/told/echo");
      expect(status).toBe(200);
      expect(fields.get("ratelimit-policy")).toBe(POLICY);
      expect(fields.get("ratelimit")).toMatch(new RegExp(`^"default";r=${left};t=1(1\\d\\d|200)$`));
    }
    const refused = await ask(client, "/told/echo");
    expect(refused.status).toBe(429);
    expect(refused.fields.get("ratelimit-policy")).toBe(POLICY);
    const [, seconds] = /^"default";r=0;t=(\d+)$/.exec(refused.fields.get("ratelimit") ?? "") ?? [];
    expect(refused.fields.get("retry-after")).toBe(String(seconds));
  });

  test("are those of the client that asks, out of the cache as well, and the origin's own stay", async () => {
    for (const client of [newClient(), newClient()]) {
      for (const left of [2, 1]) {
        const { fields } = await ask(client, "/told/stored");
        expect(fields.get("ratelimit")).toContain(`;r=${left};`);
        expect(fields.get("x-ratelimit-limit")).toBe("7");
      }
    }
    expect((await ask(newClient(), "/told/stored")).fields.get("x-cache")).toBe("HIT");
  });

  test("are on files, 304 and 404, and over HTTP/2", async () => {
    const client = newClient();
    const file = await ask(client, "/files/page.txt");
    expect(file.fields.get("ratelimit-policy")).toBe('"default";q=50;w=60');
    const etag = file.fields.get("etag") ?? "";
    const unchanged = await ask(client, "/files/page.txt", [`If-None-Match: ${etag}`]);
    expect([unchanged.status, unchanged.fields.get("ratelimit")?.slice(0, 14)]).toEqual([304, '"default";r=48']);
    expect((await ask(client, "/files/none.txt")).fields.get("ratelimit")).toContain(";r=47;");
    const h2 = await H2Client.connect(gateway.port);
    const reply = await h2.request(head("GET", "/files/page.txt", [["x-forwarded-for", client]]));
    expect(reply.fields.get("ratelimit")).toContain(";r=46;");
    h2.close();
  });

  test("are not there where they are not asked for", async () => {
    const { fields } = await ask(newClient(), "/untold/echo");
    expect([fields.has("ratelimit"), fields.has("ratelimit-policy")]).toEqual([false, false]);
  });
});

test("ipv6_prefix is what counts as one client", async () => {
  expect((await ask("2001:db8:7:1::1", "/wide/echo")).status).toBe(200);
  expect((await ask("2001:db8:7:ffff::1", "/wide/echo")).status).toBe(429);
  expect((await ask("2001:db8:8::1", "/wide/echo")).status).toBe(200);
});
