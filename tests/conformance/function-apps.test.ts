// Modules that were written for other runtimes, and frameworks of npm, as modules of functions, unchanged. docs/functions.md#compatibility
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { stopAll } from "../harness/teardown.ts";

const APPS = ["hono", "itty-router", "h3", "workers", "deno", "bun"] as const;
type App = (typeof APPS)[number];

let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway({
    config: { functions: { env: { GREETING: "hello" } } },
    routes: APPS.map((name) => ({
      type: "function",
      host: `${name}.test`,
      prefix: "/app",
      module: join(import.meta.dir, "function-apps", `${name}.ts`),
    })),
  });
});
afterAll(() => stopAll(gateway));

function ask(app: App, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Host", `${app}.test`);
  return fetch(`http://127.0.0.1:${gateway.port}/app${path}`, { redirect: "manual", ...init, headers });
}

const postJson = (app: App, path: string, body: unknown) =>
  ask(app, path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

describe.each(["hono", "itty-router", "h3"] as const)("%s", (app) => {
  test("routes with parameters and queries", async () => {
    expect(await (await ask(app, "/")).text()).toBe("hello");
    expect(await (await ask(app, "/api/items/7?q=a%20b")).json()).toEqual({ id: "7", q: "a b" });
  });

  test("bodies of JSON", async () => {
    const response = await postJson(app, "/api/items", { name: "cup" });
    expect([response.status, await response.json()]).toEqual([201, { got: { name: "cup" } }]);
  });

  test("its own page for what is not there, and for what throws", async () => {
    expect((await ask(app, "/nothing")).status).toBe(404);
    expect((await ask(app, "/boom")).status).toBe(500);
  });
});

describe("Hono", () => {
  test("middleware: CORS and passwords", async () => {
    const preflight = { method: "OPTIONS", headers: { Origin: "https://shop.example.com" } };
    const response = await ask("hono", "/api/items/1", preflight);
    expect(response.headers.get("Access-Control-Allow-Origin")).toBe("https://shop.example.com");
    expect((await ask("hono", "/admin/page")).status).toBe(401);
    const headers = { Authorization: `Basic ${btoa("admin:secret")}` };
    expect(await (await ask("hono", "/admin/page", { headers })).text()).toBe("in");
  });

  test("an upload, events, work after the response, its own error page", async () => {
    const body = new FormData();
    body.set("file", new File(["text of the file"], "a.txt"));
    const uploaded = await ask("hono", "/upload", { method: "POST", body });
    expect(await uploaded.json()).toEqual({ name: "a.txt", size: 16, text: "text of the file" });
    const events = await ask("hono", "/events");
    expect(events.headers.get("Content-Type")).toStartWith("text/event-stream");
    expect(await events.text()).toBe("data: 1\nid: 1\n\ndata: 2\nid: 2\n\ndata: 3\nid: 3\n\n");
    expect(await (await ask("hono", "/later")).text()).toBe("later");
    expect(await (await ask("hono", "/boom")).text()).toBe("caught boom");
    expect(await (await ask("hono", "/nothing")).text()).toBe("hono has no such page");
  });
});

describe("a module of Cloudflare Workers", () => {
  test("has variables by env, and ctx", async () => {
    const response = await ask("workers", "/");
    expect(await response.text()).toBe("hello");
    expect([response.headers.get("X-Host"), response.headers.get("X-Method")]).toEqual(["workers.test", "GET"]);
  });

  test("hands a body on as it is, of any length", async () => {
    const body = new Uint8Array(3_000_000).map((_, i) => i * 7);
    const response = await ask("workers", "/echo", { method: "POST", body });
    expect(Buffer.compare(await response.bytes(), body)).toBe(0);
  });

  test("rewrites HTML, sets two cookies, redirects", async () => {
    expect(await (await ask("workers", "/rewrite")).text()).toBe("<h1>hello</h1>");
    const cookies = await ask("workers", "/cookies");
    expect([cookies.status, cookies.headers.getSetCookie()]).toEqual([204, ["a=1", "b=2"]]);
    const redirect = await ask("workers", "/redirect");
    expect([redirect.status, redirect.headers.get("Location")]).toEqual([302, "https://example.com/"]);
  });
});

test("a module of Deno", async () => {
  expect(await (await ask("deno", "/a/b?c")).text()).toBe("GET /app/a/b");
});

test("a module of Bun", async () => {
  const body = new FormData();
  body.set("a", "1");
  body.set("b", new File(["x"], "x.txt"));
  const response = await ask("bun", "/", { method: "POST", body });
  expect(await response.json()).toEqual({ fields: ["a", "b"], hash: 2_363_233_923 });
});
