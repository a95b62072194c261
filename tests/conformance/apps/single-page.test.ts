import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Gateway } from "../../harness/gateway.ts";
import { startRecipe } from "../../harness/recipe.ts";
import { Application } from "./application.ts";

const NODE = Bun.which("node");
const PACKAGES = join(import.meta.dir, "../../../.bun/body-readers");
const isHere = NODE !== null && existsSync(join(PACKAGES, "node_modules/express"));
if (!isHere)
  console.log("skipped: an application of one page needs node and express (scripts/install-peers, from npm)");

const PAGE = '<!doctype html><script type="module" src="/assets/app-3f9c.js"></script><main id="app"></main>\n';
const SCRIPT = "document.title = 'shop';\n";

describe.skipIf(!isHere)("an application of one page with its API", () => {
  let api: Application;
  let gateway: Gateway;

  beforeAll(async () => {
    api = await Application.start({
      path: "/api/orders",
      command: (port) => [NODE!, join(import.meta.dir, "shop-api.cjs"), PACKAGES, String(port)],
    });
    const files = { "dist/index.html": PAGE, "dist/assets/app-3f9c.js": SCRIPT, "dist/robots.txt": "User-agent: *\n" };
    gateway = await startRecipe(
      "recipes.md",
      "Single-page application with an API",
      { "http://127.0.0.1:3000": api.url },
      files,
    );
  }, 90_000);
  afterAll(async () => {
    await gateway?.stop();
    await api?.stop();
  }, 30_000);

  const navigation = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
  const call = (path: string, more: RequestInit = {}) =>
    fetch(`http://127.0.0.1:${gateway.port}${path}`, { redirect: "manual", ...more });

  test.each(["/", "/orders", "/orders/17?tab=notes", "/docs/v1.2"])("%s is the page, never kept", async (path) => {
    const response = await call(path, { headers: navigation });
    expect([response.status, await response.text()]).toEqual([200, PAGE]);
    expect(response.headers.get("content-type")).toStartWith("text/html");
    if (path !== "/") expect(response.headers.get("cache-control")).toBe("no-cache");
  });

  test("scripts are kept for ever, and one that is not there is no page", async () => {
    const script = await call("/assets/app-3f9c.js");
    expect([script.status, await script.text()]).toEqual([200, SCRIPT]);
    expect(script.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect((await call("/assets/app-0000.js")).status).toBe(404);
    expect((await call("/missing.js", { headers: { Accept: "*/*" } })).status).toBe(404);
    expect(await (await call("/robots.txt")).text()).toBe("User-agent: *\n");
  });

  test("the API gets its own paths, bodies, client and host", async () => {
    const body = JSON.stringify({ item: 'it\'s a "chair" <em>& more</em>', price: 12 });
    const made = await call("/api/orders", { method: "POST", body, headers: { "Content-Type": "application/json" } });
    expect([made.status, made.headers.get("location")]).toEqual([201, "/api/orders/19"]);
    expect(await (await call("/api/orders")).json()).toHaveLength(2);
    const host = `127.0.0.1:${gateway.port}`;
    const who = await (await call("/api/who?x=1", { headers: { "X-Forwarded-For": "192.0.2.66" } })).json();
    expect(who).toEqual({ ip: "127.0.0.1", host: host.split(":")[0], url: "/api/who?x=1" });
    const session = await call("/api/session");
    expect([session.status, session.headers.get("location")]).toEqual([302, "/orders/17"]);
    expect(session.headers.get("set-cookie")).toBe("sid=s-1; Path=/; HttpOnly; SameSite=Lax");
    expect((await call("/api/nothing", { headers: navigation })).status).toBe(404);
  });

  test("attacks on either are refused", async () => {
    const statuses = ["/?q=%3Cscript%3Ealert(1)%3C/script%3E", "/api/orders?id=1%27%20OR%20%271%27=%271"].map(
      async (path) => (await call(path)).status,
    );
    expect(await Promise.all(statuses)).toEqual([403, 403]);
  });
});
