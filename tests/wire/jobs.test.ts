import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate, TestAuthority } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, runEdge } from "../harness/gateway.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { countries } from "../harness/mmdb.ts";
import { exchangeOnce, json, type Reply, request } from "../harness/raw-client.ts";
import { startRecipe } from "../harness/recipe.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { issuerKey, KeyServer, keySetText, token, usualClaims } from "../harness/token-issuer.ts";

// docs/jobs.md: its files do what it says of them.

const PAGE = "jobs.md";
const TARGET = "http://127.0.0.1:3000";
const running: { stop(): unknown }[] = [];

afterEach(async () => {
  for (const each of running.splice(0).reverse()) await each.stop();
});

async function gatewayOf(
  heading: string,
  places: Record<string, string>,
  files: Record<string, string | Uint8Array> = {},
): Promise<Gateway> {
  const gateway = await startRecipe(PAGE, heading, places, files);
  running.push(gateway);
  return gateway;
}

function startOrigin(): EchoOrigin {
  const origin = EchoOrigin.start();
  running.push(origin);
  return origin;
}

const echoed = (reply: Reply) => json<Echo>(reply);

describe("everyday jobs", () => {
  test("serve a site", async () => {
    const files = { "public/index.html": "start", "public/404.html": "not here", "public/a.css": "a{}" };
    const gateway = await gatewayOf("Serve a site", {}, files);
    const get = async (path: string) => {
      const { status, text } = await gateway.once(request(`GET ${path}`));
      return [status, text];
    };
    expect([await get("/"), await get("/a.css"), await get("/b")]).toEqual([
      [200, "start"],
      [200, "a{}"],
      [404, "not here"],
    ]);
  });

  test("serve a single-page application", async () => {
    const gateway = await gatewayOf("Serve a single-page application", {}, { "dist/index.html": "app" });
    expect((await gateway.once(request("GET /orders/17"))).text).toBe("app");
    expect((await gateway.once(request("GET /missing.js"))).status).toBe(404);
  });

  test("proxy below a prefix", async () => {
    const gateway = await gatewayOf("Proxy below a prefix", { [TARGET]: startOrigin().url });
    const targets = ["/api/users?a=1", "/app/users", "/old/users"].map(
      async (path) => echoed(await gateway.once(request(`GET ${path}`))).target,
    );
    expect(await Promise.all(targets)).toEqual(["/users?a=1", "/app/users", "/v1/users"]);
    const upgrade = request("GET /api/socket", [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]);
    const client = await gateway.connect();
    client.send(upgrade);
    expect((await client.reply()).status).toBe(101);
    client.close();
  });

  test("several servers", async () => {
    const [one, other] = [startOrigin(), startOrigin()];
    const gateway = await gatewayOf("Several servers", {
      "http://127.0.0.1:3001": one.url,
      "http://127.0.0.1:3002": other.url,
    });
    one.stop();
    for (let i = 0; i < 12; i++) expect((await gateway.once(request("GET /x"))).status).toBe(200);
  });

  test("HTTPS on your own machine", async () => {
    const port = freePort();
    const places = { [TARGET]: startOrigin().url, "port: 8443": `port: ${port}` };
    const gateway = await gatewayOf("HTTPS on your own machine", places);
    const root = (await runEdge(["trust", "--print"], {}, gateway.folder)).stdout;
    const tls = { ca: root, serverName: "app.localhost" };
    const reply = await fetch(`https://127.0.0.1:${port}/a`, { headers: { Host: "app.localhost" }, tls });
    expect([reply.status, await reply.text()]).toEqual([200, expect.stringContaining("/a")]);
  });

  test("HTTPS", async () => {
    const [{ cert, key }, port] = [await makeCertificate(), freePort()];
    const places = { [TARGET]: startOrigin().url, "port: 8443": `port: ${port}` };
    const gateway = await gatewayOf("HTTPS, and from http to https", places, { "cert.pem": cert, "key.pem": key });
    const moved = await gateway.once(request("GET /a?b=1"));
    expect([moved.status, moved.fields.get("location")]).toEqual([
      301,
      expect.stringMatching(/^https:\/\/[^/]+\/a\?b=1$/),
    ]);
    const secure = await fetch(`https://127.0.0.1:${port}/a`, { tls: { rejectUnauthorized: false } });
    expect(((await secure.json()) as Echo).headers["x-forwarded-proto"]).toBe("https");
  });

  test("redirects", async () => {
    const gateway = await gatewayOf("Redirects", { [TARGET]: startOrigin().url });
    const moved = async (head: string, host: string) => {
      const { status, fields } = await gateway.once(request(head, [`Host: ${host}`]));
      return [status, fields.get("location")];
    };
    expect(await moved("GET /a?b=1", "www.example.com")).toEqual([308, "https://example.com/a?b=1"]);
    expect(await moved("GET /blog/a", "example.com")).toEqual([301, "/news/a"]);
    expect((await moved("GET /a", "example.com"))[0]).toBe(200);
  });

  test("rewrites", async () => {
    const gateway = await gatewayOf("Rewrites", { [TARGET]: startOrigin().url });
    const target = async (path: string) => echoed(await gateway.once(request(`GET ${path}`))).target;
    expect(await target("/shop/a?x=1")).toBe("/v2/a?x=1");
    expect(await target("/item/lamp-17?x=1")).toBe("/items/17/lamp?x=1");
  });

  test("error pages and maintenance", async () => {
    const files = { "404.html": "none", "sorry.html": "sorry, {request_id}", "back-soon.html": "back soon" };
    const origin = startOrigin();
    const gateway = await gatewayOf("Error pages and maintenance", { [TARGET]: origin.url }, files);
    const page = async (path: string) => {
      const { status, text } = await gateway.once(request(`GET ${path}`, ["Accept: text/html"]));
      return [status, text];
    };
    expect(await page("/shop/a")).toEqual([503, "back soon"]);
    expect((await page("/a"))[0]).toBe(200);
    origin.stop();
    expect(await page("/a")).toEqual([502, expect.stringMatching(/^sorry, \S{36}$/)]);
    expect((await gateway.once(request("GET /a"))).text).toStartWith("{");
  });

  test("limits", async () => {
    const gateway = await gatewayOf("Limits", { [TARGET]: startOrigin().url });
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push((await gateway.once(request("GET /login"))).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    const body = "x".repeat(5_000_000);
    expect((await gateway.once(request("POST /a", [`Content-Length: ${body.length}`]))).status).toBe(413);
    expect(echoed(await gateway.once(request("POST /uploads/a", [], body))).length).toBe(body.length);
  });

  test("an API with tokens", async () => {
    const key = issuerKey("ES256", "k");
    const keys = new KeyServer(() => new Response(keySetText(key)));
    running.push(keys);
    const places = { [TARGET]: startOrigin().url, "https://id.example.com/.well-known/jwks.json": keys.url };
    const gateway = await gatewayOf("An API with tokens", places);
    const ask = (path: string, more: object) => {
      const claims = { iss: "https://id.example.com", aud: "https://api.example.com", ...more };
      return gateway.once(request(`GET ${path}`, [`Authorization: Bearer ${token(key, usualClaims(claims))}`]));
    };
    expect(echoed(await ask("/api/a", {})).headers).toMatchObject({ "x-user": "alice" });
    expect((await ask("/api/a", { aud: "another" })).status).toBe(401);
    expect((await ask("/api/admin/a", { role: "ops" })).status).toBe(200);
    expect((await ask("/api/admin/a", { role: "guest" })).status).toBe(403);
    expect((await gateway.once(request("GET /api/a"))).status).toBe(401);
  });

  test("a partner with a client certificate", async () => {
    const authority = await TestAuthority.make("partners");
    const [server, acme] = [
      await authority.issue({ subject: "localhost" }),
      await authority.issue({ subject: "acme" }),
    ];
    const port = freePort();
    const gateway = await gatewayOf(
      "A partner with a client certificate",
      { [TARGET]: startOrigin().url, "port: 8443": `port: ${port}` },
      { "cert.pem": server.cert, "key.pem": server.key, "partners-ca.pem": authority.cert },
    );
    expect((await gateway.once(request("GET /partner/a"))).status).toBe(403);
    const ask = (path: string, own: object) =>
      fetch(`https://127.0.0.1:${port}${path}`, { tls: { rejectUnauthorized: false, ...own } });
    expect([(await ask("/a", {})).status, (await ask("/partner/a", {})).status]).toEqual([200, 403]);
    const reply = await ask("/partner/a", { cert: acme.cert, key: acme.key });
    expect(((await reply.json()) as Echo).headers["x-partner"]).toBe("acme");
  });

  test("passwords", async () => {
    const hash = await Bun.password.hash("pw", { algorithm: "bcrypt", cost: 4 });
    const gateway = await gatewayOf("Passwords", { [TARGET]: startOrigin().url }, { users: `ann:${hash}\n` });
    const status = async (...lines: string[]) => (await gateway.once(request("GET /admin/a", lines))).status;
    expect([await status(), await status(`Authorization: Basic ${btoa("ann:pw")}`)]).toEqual([401, 200]);
  });

  test("a limit for one method", async () => {
    const gateway = await gatewayOf("A limit for one method", { [TARGET]: startOrigin().url });
    const statuses = [];
    for (let i = 0; i < 6; i++) statuses.push((await gateway.once(request("POST /login"))).status);
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
    expect((await gateway.once(request("GET /login"))).status).toBe(200);
  });

  test("countries", async () => {
    const files = { "country.mmdb": countries({ "127.0.0.1/32": "DE", "127.0.0.9/32": "US" }) };
    const gateway = await gatewayOf("Countries", { [TARGET]: startOrigin().url }, files);
    expect((await gateway.once(request("GET /"))).status).toBe(200);
    expect(statusOf(await exchangeFrom("127.0.0.9", gateway.port, request("GET /", ["Connection: close"])))).toBe(403);
  });

  test("AI crawlers", async () => {
    const gateway = await gatewayOf("AI crawlers", { [TARGET]: startOrigin().url });
    const status = async (path: string, agent: string) =>
      (await gateway.once(request(`GET ${path}`, [`User-Agent: ${agent}`]))).status;
    for (const path of ["/", "/shop/a", "/shop"])
      for (const agent of ["Mozilla/5.0 (compatible; GPTBot/1.2)", "claudebot", "badbot/1"])
        expect([path, agent, await status(path, agent)]).toEqual([path, agent, 403]);
    expect([await status("/shop", "Scrapy/2.11"), await status("/robots.txt", "GPTBot")]).toEqual([200, 200]);
    expect(await gateway.log("the refusal", (line) => line.fault === "agent_refused")).toMatchObject({ status: 403 });
  });

  test("scrapers", async () => {
    const gateway = await gatewayOf("Scrapers", { [TARGET]: startOrigin().url });
    const statusOf = async (path: string, agent: string) =>
      (await gateway.once(request(`GET ${path}`, [`User-Agent: ${agent}`]))).status;
    expect(await statusOf("/a", "curl/8.5.0")).toBe(200);
    expect(await statusOf("/a", "Scrapy/2.11")).toBe(403);
    expect(await statusOf("/a", "Mozilla/5.0 (compatible; UptimeRobot/2.0)")).toBe(200);
    expect(await statusOf("/search?q=a", "curl/8.5.0")).toBe(403);
    expect(await statusOf("/api/a", "Scrapy/2.11")).toBe(200);
    expect((await gateway.once(request("GET /robots.txt"))).text).toContain("User-agent: GPTBot\n");
  });

  test("cache", async () => {
    const gateway = await gatewayOf("Cache", { [TARGET]: startOrigin().url });
    const states = [];
    for (const path of ["/a", "/a", "/account", "/account"]) {
      states.push((await gateway.once(request(`GET ${path}`))).fields.get("x-cache"));
    }
    expect(states.slice(0, 2)).toEqual(["MISS", "HIT"]);
    expect(states.slice(2)).not.toContain("HIT");
  });

  test("compression", async () => {
    const origin = startOrigin();
    origin.on("/long", (call) => call.reply("200 OK", ["Content-Type: text/plain"], "all the same. ".repeat(500)));
    const gateway = await gatewayOf("Compression", { [TARGET]: origin.url });
    const encoding = async (path: string, accepts: string) =>
      (await gateway.once(request(`GET ${path}`, [`Accept-Encoding: ${accepts}`]))).fields.get("content-encoding");
    expect(await encoding("/long", "gzip")).toBe("gzip");
    expect(await encoding("/long", "gzip, br, zstd")).toBe("zstd");
    expect(await encoding("/account/long", "gzip")).toBeNull();
  });

  test("gRPC", async () => {
    const origin = await H2EchoOrigin.start();
    running.push(origin);
    const gateway = await gatewayOf("gRPC", { "127.0.0.1:50051": `127.0.0.1:${origin.port}` });
    expect((await gateway.once(request("GET /hello"))).status).toBe(200);
  });

  test("headers and CORS", async () => {
    const origin = startOrigin();
    const gateway = await gatewayOf("Headers and CORS", { [TARGET]: origin.url });
    const reply = await gateway.once(request("GET /", ["Cookie: a=b", "Origin: https://app.example.com"]));
    const { headers } = echoed(reply);
    expect([headers["x-team"], headers.cookie]).toEqual(["shop", undefined]);
    expect(reply.fields.get("cache-control")).toBe("no-store");
    expect(reply.fields.get("access-control-allow-origin")).toBe("https://app.example.com");
    expect(reply.fields.get("x-content-type-options")).toBe("nosniff");
  });

  test("API keys", async () => {
    const hash = new Bun.CryptoHasher("sha256").update("a-key").digest("hex");
    const gateway = await gatewayOf("API keys", { [TARGET]: startOrigin().url }, { keys: `shop:sha256:${hash}\n` });
    expect((await gateway.once(request("GET /api/a"))).status).toBe(401);
    const reply = await gateway.once(request("GET /api/a", ["X-API-Key: a-key"]));
    expect(echoed(reply).headers["x-user"]).toBe("shop");
  });

  test("thousands of redirects", async () => {
    const files = { "redirects.csv": "/old,/new,301\n/sale,https://shop.example.com/\n" };
    const gateway = await gatewayOf("Thousands of redirects", { [TARGET]: startOrigin().url }, files);
    const reply = await gateway.once(request("GET /old"));
    expect([reply.status, reply.fields.get("location")]).toEqual([301, "/new"]);
    expect(echoed(await gateway.once(request("GET /other"))).target).toBe("/other");
  });

  test("many tenants by a table", async () => {
    const [usual, own] = [startOrigin(), startOrigin()];
    const files = { "tenants.csv": `gw.test,${own.url}\n` };
    const gateway = await gatewayOf("Many tenants by a table", { [TARGET]: usual.url }, files);
    expect((await gateway.once(request("GET /"))).status).toBe(200);
    expect([usual.requests.length, own.requests.length]).toEqual([0, 1]);
  });

  test("secrets from files", async () => {
    const files = { "secrets/token": "a-long-random-token\n", "secrets/key": "k-4711\n" };
    const gateway = await gatewayOf("Secrets from files", { [TARGET]: startOrigin().url }, files);
    expect(echoed(await gateway.once(request("GET /"))).headers["x-api-key"]).toBe("k-4711");
    const status = (...lines: string[]) => gateway.once(request("GET /internal/api/status", lines));
    expect((await status()).status).toBe(401);
    expect((await status("Authorization: Bearer a-long-random-token")).status).toBe(200);
  });

  test("an application that names its own address", async () => {
    const origin = startOrigin();
    const fields = [`Location: ${origin.url}/cart`, "Set-Cookie: a=1; Path=/"];
    origin.on("/login", (call) => call.reply("302 Found", fields));
    const gateway = await gatewayOf("An application that names its own address", { [TARGET]: origin.url });
    const reply = await gateway.once(request("GET /shop/login"));
    expect([reply.fields.get("location"), reply.fields.get("set-cookie")]).toEqual([
      "/shop/cart",
      "a=1; Path=/shop/; Secure; SameSite=Lax",
    ]);
  });

  test("several addresses and UNIX sockets", async () => {
    const six = freePort();
    const gateway = await gatewayOf("Several addresses and UNIX sockets", {
      [TARGET]: startOrigin().url,
      "[::1]:8081": `[::1]:${six}`,
    });
    const ask = async (path: string, more: object) => (await fetch(`http://localhost${path}`, more)).text();
    const unix = join(gateway.folder, "http.sock");
    expect(await (await fetch(`http://[::1]:${six}/admin`)).text()).toBe("for all");
    expect((await gateway.once(request("GET /admin"))).text).toBe("for all");
    expect(await ask("/", { unix })).toBe("for all");
    expect(JSON.parse(await ask("/admin/a", { unix })).target).toBe("/a");
  });

  test("TCP", async () => {
    const [origin, port] = [startOrigin(), freePort()];
    const places = { "127.0.0.1:5432": `127.0.0.1:${port}`, "127.0.0.1:5434": `127.0.0.1:${origin.port}` };
    await gatewayOf("TCP", { ...places, "127.0.0.1:5433": `127.0.0.1:${freePort()}` });
    expect(echoed(await exchangeOnce(port, request("GET /through"))).target).toBe("/through");
  });

  test("your own code", async () => {
    const folder = mkdtempSync(join(tmpdir(), "edge-jobs-"));
    await runEdge(["new", "function", "hello"], {}, folder);
    const module = readFileSync(join(folder, "functions/hello.ts"), "utf8");
    rmSync(folder, { recursive: true });
    const gateway = await gatewayOf("Your own code", {}, { "functions/hello.ts": module });
    expect(json(await gateway.once(request("GET /hello?name=you")))).toMatchObject({ hello: "you" });
  });

  test("log files", async () => {
    const gateway = await gatewayOf("Log files", { [TARGET]: startOrigin().url });
    await gateway.once(request("GET /health-records/a"));
    await gateway.once(request("GET /a"));
    const file = join(gateway.folder, "log/access.log");
    const text = await eventually(() => {
      const written = readFileSync(file, "utf8");
      expect(written).toContain('"/a"');
      return written;
    });
    expect(text).toContain('"client_ip":"127.0.0.0"');
    expect(text).not.toContain("health-records");
  });

  test("by hand", async () => {
    const gateway = await gatewayOf("By hand", {
      "http://127.0.0.1:3001": startOrigin().url,
      "http://127.0.0.1:3002": startOrigin().url,
    });
    writeFileSync(join(gateway.folder, "edge.log"), "");
    const routes = join(gateway.folder, "routes.yaml");
    writeFileSync(routes, `${readFileSync(routes, "utf8")}- {type: respond, prefix: /new, body: new}\n`);
    const seen: Record<string, number> = {};
    for (const line of commandsOf("By hand")) {
      const run = await runEdge(line, {}, gateway.folder);
      expect([line, run.code, run.stderr]).toEqual([line, 0, ""]);
      seen[line.join(" ")] = (await gateway.once(request("GET /new"))).status;
    }
    expect(seen).toMatchObject({ "maintenance on": 503, reload: 200 });
    expect(echoed(await gateway.once(request("GET /new"))).target).toBe("/new");
  });

  test("a canary", async () => {
    const [stable, canary] = [startOrigin(), startOrigin()];
    const gateway = await gatewayOf("A canary", {
      "http://127.0.0.1:3001": stable.url,
      "http://127.0.0.1:3002": canary.url,
    });
    const before = canary.requests.length;
    await gateway.once(request("GET /", ["X-Canary: 1"]));
    expect(canary.requests.length).toBe(before + 1);
  });
});

/** The commands of a job, as its page shows them, each in words. */
function commandsOf(heading: string): string[][] {
  const section = readFileSync(join(import.meta.dir, "../../docs", PAGE), "utf8").split(`## ${heading}\n`)[1]!;
  const [, text = ""] = /```sh\n([\s\S]*?)```/.exec(section) ?? [];
  const lines = text.split("\n").flatMap((line) => /^edge ([^#]+)/.exec(line)?.[1] ?? []);
  return lines.map((line) => line.trim().split(" "));
}

/** The headings of a page of docs, and those that test files start a gateway with. */
function headingsOf(page: string, calls: RegExp, files: readonly string[]) {
  const text = readFileSync(join(import.meta.dir, "../../docs", page), "utf8");
  const there = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading!);
  const run = files.flatMap((file) => [...readFileSync(file, "utf8").matchAll(calls)].map(([, heading]) => heading!));
  return { there: there.sort(), run: run.sort() };
}

test("every job and every recipe of the pages is run", () => {
  const jobs = headingsOf(PAGE, /gatewayOf\(\s*"([^"]+)"/g, [import.meta.path]);
  expect(jobs.run).toEqual(jobs.there.filter((heading) => heading !== "Where the other jobs are"));
  const apps = join(import.meta.dir, "../conformance/apps");
  const files = readdirSync(apps).map((name) => join(apps, name));
  const recipes = headingsOf("recipes.md", /startRecipe\(\s*"recipes\.md",\s*"([^"]+)"/g, files);
  expect(recipes.run).toEqual(recipes.there);
});
