// docs/dashboard.md, docs/tools.md#status, #top: modules of functions and hooks
import { afterAll, describe, expect, test } from "bun:test";
import type { LiveModule, LiveState } from "../../src/features/dashboard/live-state.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { EDGE_BINARY, startGateway, upstream } from "../harness/gateway.ts";
import { LiveStream } from "../harness/live-stream.ts";
import { request } from "../harness/raw-client.ts";
import { runProcess } from "../harness/run-process.ts";
import { stopAll } from "../harness/teardown.ts";

/** What a file may be called. */
const ODD = "a\u001b[2J\u202e\"'{}=,%<img src=x onerror=window.xss=1>.ts";
const MODULE = "export default { async fetch(request) { const { pathname } = new URL(request.url);\n";
const shop = `${MODULE} if (pathname.endsWith("throw")) throw new Error("x"); if (pathname.endsWith("exit")) process.exit(1);
 if (pathname.endsWith("slow")) await Bun.sleep(1500); return new Response("ok"); } };\n`;
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { workers: 2 }, functions: { concurrency: 2, queue: 8 }, internal_api: { socket: "./edge.sock" } },
  routes: [
    { type: "function", prefix: "/shop", module: "./functions/shop.ts", cache: false },
    { type: "function", prefix: "/admin", module: "./admin/shop.ts", cache: false },
    { type: "function", prefix: "/odd", module: `./${ODD}`, cache: false },
    { type: "function", prefix: "/broken", module: "./broken.ts", cache: false },
    upstream("/hooked", origin, { hooks: "./hook.ts", cache: false }),
  ],
  files: {
    "functions/shop.ts": shop,
    "admin/shop.ts": shop,
    [ODD]: shop,
    "hook.ts": "export default { onRequest() {} };\n",
    "broken.ts": "export default {;\n",
  },
});
const plain = await startGateway({
  config: { internal_api: { socket: "./edge.sock" } },
  routes: [upstream("/node", origin)],
});
afterAll(() => stopAll(gateway, plain, origin));

const ask = (path: string) => gateway.once(request(`GET ${path}`));
const run = (args: readonly string[], cwd: string) =>
  runProcess([EDGE_BINARY, ...args], { cwd, env: { PATH: process.env.PATH ?? "" }, timeout: 20_000 });

describe("modules of functions and hooks", () => {
  test("are in the live stream, each by a name of its own, with calls, failures, times, queue, threads and restarts", async () => {
    const stream = await LiveStream.open(`http://127.0.0.1:${gateway.port}`);
    await stream.until<LiveState>(({ history }) => history !== undefined);
    for (let i = 0; i < 10; i++) expect((await ask("/shop/x")).status).toBe(200);
    expect((await ask("/shop/throw")).status).toBe(500);
    expect((await ask("/admin/exit")).status).toBe(502);
    expect((await ask("/odd/x")).status).toBe(200);
    expect((await ask("/broken/x")).status).toBe(500);
    expect((await ask("/hooked/x")).status).toBe(200);
    const of = (state: LiveState, name: string): LiveModule => state.modules.find((one) => one.name === name)!;
    const state = await stream.until<LiveState>(
      (one) =>
        of(one, "functions/shop.ts").calls === 11 &&
        of(one, "functions/shop.ts").latency !== null &&
        of(one, "admin/shop.ts").ends === 1 &&
        of(one, "admin/shop.ts").threads === 1 &&
        of(one, ODD).calls === 1 &&
        of(one, "broken.ts").calls === 1 &&
        of(one, "hook.ts").calls === 1,
    );
    expect(state.modules.map(({ name }) => name).sort()).toEqual(
      ["admin/shop.ts", ODD, "broken.ts", "functions/shop.ts", "hook.ts"].sort(),
    );
    expect(of(state, "functions/shop.ts")).toMatchObject({ failed: 1, queued: 0, threads: 1, ends: 0 });
    expect(of(state, "admin/shop.ts")).toMatchObject({ calls: 1, failed: 1 });
    expect(of(state, "broken.ts")).toMatchObject({ failed: 1, threads: 0 });
    const slow = Array.from({ length: 6 }, () => ask("/shop/slow"));
    const full = await stream.until<LiveState>((one) => of(one, "functions/shop.ts").queued > 0);
    expect(of(full, "functions/shop.ts").queued).toBeLessThanOrEqual(4);
    for (const { status } of await Promise.all(slow)) expect(status).toBe(200);
    await stream.until<LiveState>((one) => of(one, "functions/shop.ts").queued === 0);
    stream.close();
  }, 60_000);

  test("two of one name are two series of /metrics, and an odd name breaks no line", async () => {
    await ask("/shop/x");
    await ask("/admin/x");
    await eventually(async () => {
      expect(await gateway.metric("gateway_function_threads", { module: "functions/shop.ts" })).toBe(1);
      expect(
        await gateway.metric("gateway_function_calls_total", { module: "admin/shop.ts", outcome: "ok" }),
      ).toBeGreaterThan(0);
    });
    const { text } = await gateway.once(request("GET /metrics"));
    const series = text.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
    const names = series.map((line) => line.slice(0, line.lastIndexOf(" ")));
    expect(new Set(names).size).toBe(names.length);
  });

  test("are in edge status and edge top, and no name moves the cursor or adds a line", async () => {
    const status = await run(["status"], gateway.folder);
    expect([status.code, status.stdout]).toEqual([
      1,
      expect.stringContaining("✗ 1 module without a thread: broken.ts\n"),
    ]);
    expect(status.stdout).toMatch(/\nFUNCTIONS \(5\) +CALLS +FAILED +WAITING +THREADS +RESTARTS +HEAP\n/);
    const top = await run(["top"], gateway.folder);
    expect([top.code, top.stdout]).toEqual([0, expect.stringMatching(/\nFUNCTIONS \(5\) +CALLS\/S /)]);
    for (const { stdout } of [status, top]) {
      expect(stdout).toMatch(/\nfunctions\/shop\.ts /);
      expect(stdout).toContain("a?[2J?\"'{}=,%<img src=x onerror=window.xss=1>.ts ");
      expect(stdout).not.toMatch(/[\u001b\u202e]/);
    }
  }, 60_000);

  test("a gateway without any has no list of them", async () => {
    for (const command of ["status", "top"]) {
      const { code, stdout } = await run([command], plain.folder);
      expect([code, stdout]).toEqual([0, expect.not.stringContaining("FUNCTIONS")]);
    }
    const stream = await LiveStream.open(`http://127.0.0.1:${plain.port}`);
    expect((await stream.until<LiveState>(() => true)).modules).toEqual([]);
    stream.close();
  }, 60_000);
});
