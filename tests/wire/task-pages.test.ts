import { afterEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { runConvertIngress } from "../../src/cli/convert-ingress.ts";
import { convert } from "../harness/conversions.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { FastCgiOrigin } from "../harness/fastcgi-origin.ts";
import { responseOf } from "../harness/fastcgi-records.ts";
import type { Gateway } from "../harness/gateway.ts";
import { json, request } from "../harness/raw-client.ts";
import { exampleOf, recipeOf, startRecipe } from "../harness/recipe.ts";
import { exchangeFrom } from "../harness/source-address.ts";

// Pages by task (docs/apps.md and its neighbours): their files do what the pages say.

const NODE = "http://127.0.0.1:3000";
const ATTACK = "?q=%27%20OR%201=1--";
const running: { stop(): unknown }[] = [];

afterEach(async () => {
  for (const each of running.splice(0).reverse()) await each.stop();
});

function origin(): EchoOrigin {
  const started = EchoOrigin.start();
  running.push(started);
  return started;
}

async function gatewayOf(
  page: string,
  heading: string,
  places: Record<string, string>,
  files: Record<string, string> = {},
): Promise<Gateway> {
  const gateway = await startRecipe(page, heading, places, files);
  running.push(gateway);
  return gateway;
}

const statusOf = async (gateway: Gateway, target: string, fields: readonly string[] = []) =>
  (await gateway.once(request(`GET ${target}`, fields))).status;
const echoOf = async (gateway: Gateway, target: string, fields: readonly string[] = []) =>
  json<Echo>(await gateway.once(request(`GET ${target}`, fields)));

async function upgrades(gateway: Gateway, target: string): Promise<boolean> {
  const client = await gateway.connect();
  client.send(
    request(`GET ${target}`, [
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ]),
  );
  const { status } = await client.reply();
  client.close();
  return status === 101;
}

describe("in front of", () => {
  test("Node.js: the firewall, WebSockets, the client's address", async () => {
    const gateway = await gatewayOf("apps.md", "Node.js", { [NODE]: origin().url });
    expect(await statusOf(gateway, `/a${ATTACK}`)).toBe(403);
    expect(await upgrades(gateway, "/socket")).toBe(true);
    const { headers } = await echoOf(gateway, "/a", ["X-Forwarded-For: 192.0.2.1", "X-Forwarded-Proto: https"]);
    expect([headers["x-forwarded-for"], headers["x-forwarded-proto"]]).toEqual(["127.0.0.1", "http"]);
  });

  test("Next.js: hashed files come from the disk", async () => {
    const files = { ".next/static/chunks/a-1f.js": "let a;" };
    const gateway = await gatewayOf("apps.md", "Next.js", { [NODE]: origin().url }, files);
    const reply = await gateway.once(request("GET /_next/static/chunks/a-1f.js"));
    expect([reply.text, reply.fields.get("cache-control")]).toEqual(["let a;", expect.stringContaining("immutable")]);
    expect((await echoOf(gateway, "/shop")).target).toBe("/shop");
  });

  test("Django: files of users are saved, not shown", async () => {
    const files = { "static/a.css": "a{}", "media/u.html": "<p>" };
    const gateway = await gatewayOf("apps.md", "Django", { "http://127.0.0.1:8000": origin().url }, files);
    expect(await statusOf(gateway, "/static/a.css")).toBe(200);
    expect((await gateway.once(request("GET /media/u.html"))).fields.get("content-disposition")).toBe("attachment");
    expect((await echoOf(gateway, "/admin/")).target).toBe("/admin/");
  });

  test("Rails: assets from the disk, the cable by WebSocket", async () => {
    const files = { "public/assets/a-1f.css": "a{}" };
    const up = origin().on("/up", (call) => call.reply("200 OK", [], "up"));
    const gateway = await gatewayOf("apps.md", "Rails", { [NODE]: up.url }, files);
    expect(await statusOf(gateway, "/assets/a-1f.css")).toBe(200);
    expect(await upgrades(gateway, "/socket")).toBe(true);
  });

  test("WordPress: scripts run, uploads do not, guesses are bounded", async () => {
    const php = FastCgiOrigin.start();
    running.push(php);
    for (const path of ["/wp-login.php", "/index.php", "/wp-admin/post.php"])
      php.on(path, (call) => call.send(responseOf("Content-Type: text/plain\r\n\r\nran")));
    const files = Object.fromEntries(
      ["index.php", "wp-login.php", "xmlrpc.php", "wp-admin/post.php", "wp-content/uploads/x.php", "a.css"].map(
        (path) => [`wordpress/${path}`, "<?php"],
      ),
    );
    const gateway = await gatewayOf("apps.md", "WordPress", { "fastcgi://127.0.0.1:9000": php.url }, files);
    expect(await statusOf(gateway, "/index.php")).toBe(200);
    expect(await statusOf(gateway, "/wp-content/uploads/x.php")).toBe(404);
    expect(await statusOf(gateway, "/xmlrpc.php")).toBe(403);
    expect(await statusOf(gateway, "/a.css")).toBe(200);
    expect(await statusOf(gateway, `/wp-admin/post.php${ATTACK}`)).toBe(200);
    const guesses: number[] = [];
    for (let i = 0; i < 11; i++) guesses.push(await statusOf(gateway, "/wp-login.php"));
    expect([guesses[0], guesses.at(-1)]).toEqual([200, 429]);
  });

  test("Nextcloud: files of any size and content, calendars are found", async () => {
    const gateway = await gatewayOf("apps.md", "Nextcloud", { "http://127.0.0.1:8081": origin().url });
    const found = await gateway.once(request("GET /.well-known/carddav"));
    expect([found.status, found.fields.get("location")]).toEqual([301, expect.stringContaining("/remote.php/dav/")]);
    const body = "<?php system('id'); ?>".repeat(1000);
    const put = request("PUT /remote.php/dav/files/a", [`Content-Length: ${body.length}`], body);
    expect(json<Echo>(await gateway.once(put)).length).toBe(body.length);
    expect(await statusOf(gateway, `/apps${ATTACK}`)).toBe(403);
  });

  test("Gitea: packs pass, pages are protected", async () => {
    const gateway = await gatewayOf("apps.md", "Gitea", { [NODE]: origin().url });
    const body = "' OR 1=1--";
    const push = request("POST /ann/site/git-receive-pack", [`Content-Length: ${body.length}`], body);
    expect((await gateway.once(push)).status).toBe(200);
    expect((await echoOf(gateway, "/ann/site/info/refs?service=git-upload-pack")).target).toBe(
      "/ann/site/info/refs?service=git-upload-pack",
    );
    expect(await statusOf(gateway, `/explore${ATTACK}`)).toBe(403);
  });

  test("Grafana: queries pass", async () => {
    const gateway = await gatewayOf("apps.md", "Grafana", { "http://127.0.0.1:3001": origin().url });
    expect((await echoOf(gateway, `/api/ds/query${ATTACK}`)).target).toStartWith("/api/ds/query");
    expect(await statusOf(gateway, `/login${ATTACK}`)).toBe(403);
  });
});

describe("behind", () => {
  const FORWARDED = ["X-Forwarded-For: 203.0.113.9", "X-Forwarded-Proto: https"];

  test.each<[string, string, Record<string, string>]>([
    ["Cloudflare", "172.64.0.0/13", {}],
    ["A load balancer that speaks HTTP", "10.0.0.0/16", { "drain_delay: 15s": "drain_delay: 0s" }],
  ])("%s: edge sees the visitor", async (heading, network, quick) => {
    const places = { [NODE]: origin().url, [network]: "127.0.0.0/8", ...quick };
    const gateway = await gatewayOf("behind.md", heading, places);
    const { headers } = await echoOf(gateway, "/", FORWARDED);
    expect(headers["x-real-ip"]).toBe("203.0.113.9");
    expect(headers["x-forwarded-proto"]).toBe("https");
  });

  test("a load balancer for TCP: the PROXY header names the visitor", async () => {
    const balancer = "127.0.0.2";
    const places = { [NODE]: origin().url, "10.0.0.0/16": balancer };
    const gateway = await gatewayOf("behind.md", "A load balancer for TCP", places);
    const visit = `PROXY TCP4 203.0.113.9 198.51.100.1 1234 80\r\n${request("GET /", ["Connection: close"])}`;
    expect(await exchangeFrom(balancer, gateway.port, visit)).toContain('"x-real-ip":"203.0.113.9"');
  });
});

describe("from another gateway: the page has what edge convert makes of its example, and it serves", () => {
  const HOST = ["Host: shop.example.com"];

  test.each([
    ["nginx", "nginx.conf", "/old"],
    ["caddy", "Caddyfile", "/old"],
    ["haproxy", "haproxy.cfg", "/old"],
    ["traefik", "dynamic.yml", ""],
  ] as const)("%s", async (product, name, moved) => {
    const page = `migrate-${product}.md`;
    const { config, routes } = recipeOf(page, "Before and after");
    const converted = convert(product, name, exampleOf(page, "Before and after"));
    expect(parse(converted.config)).toEqual(parse(config));
    expect(parse(converted.routes)).toEqual(parse(routes));
    const places = Object.fromEntries([3001, 3002].map((port) => [`http://127.0.0.1:${port}`, origin().url]));
    const gateway = await gatewayOf(page, "Before and after", places);
    expect((await echoOf(gateway, "/a?x=1", HOST)).target).toBe("/a?x=1");
    expect(await statusOf(gateway, "/admin/x", HOST)).toBe(403);
    if (moved !== "") {
      const { status, fields } = await gateway.once(request(`GET ${moved}`, HOST));
      expect([status, fields.get("location")]).toEqual([301, expect.stringMatching(/\/new$/)]);
    }
  });

  test("ingress-nginx", () => {
    const page = readFileSync(join(import.meta.dir, "../../docs/kubernetes-ingress.md"), "utf8");
    const [before, after] = [...page.matchAll(/^```text\n([\s\S]*?)^```/gm)].slice(-2).map(([, text]) => text!);
    const folder = mkdtempSync(join(tmpdir(), "edge-ingress-"));
    running.push({ stop: () => rmSync(folder, { recursive: true }) });
    const file = join(folder, "shop.yaml");
    writeFileSync(file, before!);
    let out = "";
    const io = { out: (text: string) => (out += text), err: () => {} };
    expect(runConvertIngress([file], io)).toBe(0);
    expect(out).toBe(after!);
  });
});

test("compose: the service is the target", async () => {
  const gateway = await gatewayOf("docker.md", "Files", { "http://app:3000": origin().url });
  expect((await echoOf(gateway, "/a")).target).toBe("/a");
});

describe("crawlers for AI", () => {
  const BROWSER = [
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept: text/html",
  ];

  test.each(["Block by name", "Block pretenders too"])("%s", async (heading) => {
    const gateway = await gatewayOf("ai-crawlers.md", heading, { [NODE]: origin().url });
    expect(await statusOf(gateway, "/", ["User-Agent: Mozilla/5.0 (compatible; gptbot/1.2)"])).toBe(403);
    expect(await statusOf(gateway, "/", [...BROWSER, "Accept-Language: en"])).toBe(200);
    expect((await gateway.once(request("GET /robots.txt"))).text).toContain("User-agent: ClaudeBot\n");
  });
});

describe("the log", () => {
  const lines = (gateway: Gateway) =>
    gateway.logs.json.filter((line) => line.status !== undefined && line.path !== "/health");

  test("shortens addresses and leaves out who asked", async () => {
    const gateway = await gatewayOf("log-privacy.md", "Shorten addresses", { [NODE]: origin().url });
    await gateway.once(request("GET /a?token=secret", ["User-Agent: me"]));
    await eventually(() => expect(lines(gateway)).toHaveLength(1));
    const [line] = lines(gateway);
    expect(line!.client_ip).toBe("127.0.0.0");
    expect(JSON.stringify(line)).not.toMatch(/secret|user_agent/);
  });

  test("keeps errors alone", async () => {
    const broken = origin().on("/broken", (call) => call.reply("500 Internal Server Error"));
    broken.on("/health-records/x", (call) => call.reply("500 Internal Server Error"));
    const gateway = await gatewayOf("log-privacy.md", "Keep only errors", { [NODE]: broken.url });
    for (const path of ["/a", "/health-records/x", "/broken"]) await gateway.once(request(`GET ${path}`));
    await eventually(() => expect(lines(gateway).map((line) => line.path)).toEqual(["/broken"]));
  });
});
