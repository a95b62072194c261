// docs/authentication.md#api-keys
import { afterAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

const hashOf = (key: string) => `sha256:${createHash("sha256").update(key).digest("hex")}`;
const slow = await Bun.password.hash("slow-key", { algorithm: "argon2id", memoryCost: 64, timeCost: 1 });
const origin = EchoOrigin.start();
const mirror = EchoOrigin.start();
origin.on("/cached/x", (call) => call.reply("200 OK", ["Cache-Control: public, max-age=60"], "ok"));
const api_key = { keys_file: "keys", query: "api_key", headers: { "X-User": "name" } };
const gateway = await startGateway({
  config: { server: { workers: 2, cache: { enabled: true } } },
  files: {
    keys: `# programs\nshop:${hashOf("key-of-shop")}\n\nb\u00fccher:${hashOf("key-of-books").toUpperCase().replace("SHA256", "sha256")}\r\nslow:${slow}\n`,
  },
  routes: [
    upstream("/api", origin, { auth: { api_key }, mirror: { target: mirror.url } }),
    upstream("/cached", origin, { strip_prefix: false, auth: { api_key } }),
    upstream("/own", origin, { auth: { api_key: { keys: { me: hashOf("mine") }, header: "Authorization" } } }),
    upstream("/kept", origin, {
      auth: { api_key: { keys: { me: hashOf("mine") }, query: "k" }, keep_authorization: true },
    }),
    upstream("/any", origin, {
      auth: { any: [{ api_key: { ...api_key, headers: {} } }, { basic: { users: { alice: slow } } }] },
      headers: { request: { set: { "X-Who": "{auth.user}" } } },
    }),
    upstream("/open", origin),
  ],
});
afterAll(() => stopAll(gateway, origin, mirror));

const get = (path: string, ...lines: string[]) => gateway.once(request(`GET ${path}`, lines));
const status = async (path: string, ...lines: string[]) => (await get(path, ...lines)).status;

describe("an API key", () => {
  test("lets in by a field or a parameter, and does not go on", async () => {
    const { headers, target } = json<Echo>(await get("/api/a?b=c", "X-API-Key: key-of-shop", "X-User: root"));
    expect([headers["x-user"], headers["x-api-key"], target]).toEqual(["shop", undefined, "/a?b=c"]);
    for (const [path, sent] of [
      ["/api/a?api_key=key-of-shop", "/a"],
      ["/api/a?b=c&api_key=key-of-shop", "/a?b=c"],
      ["/api/a?api_key=key-of-shop&b=c", "/a?b=c"],
      ["/api/a?api%5Fkey=key-of-shop&b=c", "/a?b=c"],
      // Whichever place decides, neither goes on.
      ["/api/a?api_key=wrong&b=c", "/a?b=c"],
    ] as const) {
      const lines = path.includes("wrong") ? ["X-API-Key: key-of-shop"] : [];
      expect(json<Echo>(await get(path, ...lines)).target).toBe(sent);
    }
    expect(json<Echo>(await get("/open?api_key=key-of-shop")).target).toBe("/?api_key=key-of-shop");
  });

  test("says who it is: in fields as UTF-8, and as the user", async () => {
    const { headers } = json<Echo>(await get("/api", "X-API-Key: key-of-books"));
    expect(Buffer.from(String(headers["x-user"]), "latin1").toString("utf8")).toBe("b\u00fccher");
    expect(json<Echo>(await get("/any", "X-API-Key: key-of-shop")).headers["x-who"]).toBe("shop");
    const basic = `Authorization: Basic ${Buffer.from("alice:slow-key").toString("base64")}`;
    const { headers: others, target } = json<Echo>(await get("/any?api_key=wrong&x", basic));
    expect([others["x-who"], target]).toEqual(["alice", "/?x"]);
  });

  test.each([
    ["/api", "X-None: 1"],
    ["/api", "X-API-Key: wrong"],
    ["/api", "X-API-Key:"],
    ["/api", `X-API-Key: ${hashOf("key-of-shop")}`],
    ["/api", "X-API-Key: KEY-OF-SHOP"],
    ["/api?api_key=", "X-None: 1"],
    ["/api?api_key=key-of-shop&api_key=key-of-shop", "X-None: 1"],
    ["/api", `X-API-Key: ${"k".repeat(2000)}`],
    ["/own", "X-API-Key: mine"],
    ["/own", "Authorization: Basic mine"],
  ])("%s with %s is 401", async (path, line) => {
    const before = origin.requests.length;
    const reply = await get(path, line);
    expect(reply.status).toBe(401);
    expect(json(reply)).toMatchObject({ error: "401 Unauthorized" });
    expect(reply.fields.get("www-authenticate")).toContain("ApiKey");
    expect(origin.requests.length).toBe(before);
  });

  test("twice in the head is none", async () => {
    expect(await status("/api", "X-API-Key: key-of-shop", "X-API-Key: key-of-shop")).toBe(401);
  });

  test("may be Authorization: Bearer, and goes on with keep_authorization, but never in the query", async () => {
    expect(json<Echo>(await get("/own", "Authorization: Bearer mine")).headers.authorization).toBeUndefined();
    const kept = json<Echo>(await get("/kept?k=mine&a", "X-API-Key: mine"));
    expect([kept.headers["x-api-key"], kept.target]).toEqual(["mine", "/?a"]);
  });

  test("kept as argon2id is checked where passwords are, with a bound for guesses", async () => {
    expect(await status("/api", "X-API-Key: slow-key")).toBe(200);
    const many = await Promise.all(Array.from({ length: 8 }, () => status("/api", "X-API-Key: slow-key")));
    expect(new Set(many)).toEqual(new Set([200]));
    const guesses: number[] = [];
    for (let i = 0; i < 40 && !guesses.includes(429); i++) guesses.push(await status("/api", `X-API-Key: guess-${i}`));
    expect(guesses).toContain(401);
    expect(guesses.at(-1)).toBe(429);
    expect(await status("/api", "X-API-Key: key-of-shop")).toBe(200);
  });

  test("is no part of the cache's key, of a mirror's request and of any line of the log", async () => {
    for (const key of ["key-of-shop", "key-of-books"]) {
      const reply = await get(`/cached/x?api_key=${key}`);
      expect(reply.text).toBe("ok");
    }
    const stored = origin.requests.filter(({ target }) => target.startsWith("/cached/x"));
    expect(new Set(stored.map(({ target }) => target))).toEqual(new Set(["/cached/x"]));
    await eventually(() => expect(mirror.requests.length).toBeGreaterThan(3));
    expect(mirror.requests.some(({ target }) => target.includes("key-of"))).toBe(false);
    await gateway.log("an access line", ({ path }) => path === "/cached/x");
    expect(JSON.stringify(gateway.logs.json)).not.toContain("key-of-shop");
  });

  test("holds over HTTP/2", async () => {
    const client = await H2Client.connect(gateway.port);
    const ask = async (path: string) => (await client.reply(client.headers(head("GET", path)))).status;
    const seen = [await ask("/api?api_key=key-of-shop"), await ask("/kept?k=no"), await ask("/kept?k=mine")];
    expect(seen).toEqual([200, 401, 200]);
    client.close();
  });

  test("is taken up when its file is replaced; a broken file leaves the keys as they are", async () => {
    const put = (text: string) => {
      writeFileSync(join(gateway.folder, "keys.new"), text);
      renameSync(join(gateway.folder, "keys.new"), join(gateway.folder, "keys"));
    };
    put(`next:${hashOf("next-key")}\n`);
    await eventually(async () => {
      for (let i = 0; i < 8; i++) expect(await status("/api", "X-API-Key: next-key")).toBe(200);
    });
    expect(await status("/api", "X-API-Key: key-of-shop")).toBe(401);
    put(`next:${hashOf("third-key")}\nbroken\n`);
    const line = await gateway.log("list_reload false", ({ event, ok }) => event === "list_reload" && ok === false);
    expect(line).toMatchObject({ list: "keys", error: expect.stringContaining("line 2: expected NAME:sha256:HEX") });
    expect(await status("/api", "X-API-Key: next-key")).toBe(200);
  });
});

test("edge passwd --api-key makes a key that is let in", async () => {
  const { code, stdout, stderr } = await runProcess([EDGE_BINARY, "passwd", "--api-key", "shop"], { timeout: 30_000 });
  expect(code).toBe(0);
  expect(stdout).toBe(`shop:${hashOf(stderr.trim())}\n`);
  expect(stderr.trim()).toMatch(/^edge_[\w-]{43}$/);
});

test("edge check finds what is wrong with keys, and repeats none", async () => {
  const check = async (auth: object, keys = "") => {
    writeFileSync(join(gateway.folder, "check-keys"), keys);
    writeFileSync(
      join(gateway.folder, "check.yaml"),
      JSON.stringify([{ type: "respond", prefix: "/", body: "x", auth: { api_key: auth } }]),
    );
    const { code, stdout, stderr } = await runProcess([EDGE_BINARY, "check", "--routes", "check.yaml"], {
      cwd: gateway.folder,
      timeout: 60_000,
    });
    return `${code} ${stdout}${stderr}`;
  };
  expect(await check({})).toMatch(/^1 .*needs keys_file or keys/s);
  expect(await check({ keys: { a: "plain-text-key" } })).toMatch(/^1 .*expected sha256:/s);
  expect(await check({ keys: { a: "plain-text-key" } })).not.toContain("plain-text-key");
  expect(await check({ keys: { a: hashOf("x") }, headers: { "X-User": "sub" } })).toMatch(/^1 .*expected name/s);
  expect(await check({ keys: { a: hashOf("x") }, header: "Host" })).toMatch(/^1 .*the gateway's own/s);
  expect(await check({ keys_file: "check-keys" }, `a:${hashOf("x")}\nb:sha256:12\nc:${hashOf("x")}\n`)).toMatch(
    /^1 .*line 2: expected 64 hexadecimal digits.*line 3: the same key/s,
  );
  expect(await check({ keys_file: "check-keys" }, `a:${hashOf("x")}\n`)).toMatch(/^0 /);
});
