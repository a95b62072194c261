// docs/functions.md#isolation
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const MODULES = join(import.meta.dir, "../vectors/functions");
const source = (name: string): string => readFileSync(join(MODULES, name), "utf8");
const version = (text: string): string => `export default { fetch: () => new Response("${text}") };\n`;
const NAMES = ["loop", "exit", "leak", "queue", "calm"];
const gateway = await startGateway({
  config: {
    server: { workers: 2, shutdown_timeout: "1s" },
    functions: { memory: "64MiB", concurrency: 2, queue: 2 },
  },
  routes: [
    ...NAMES.map((name) => ({ type: "function", prefix: `/${name}`, module: `./${name}.ts`, timeout: "1s" })),
    { type: "function", prefix: "/patient", module: "./shared.ts", timeout: "120s" },
    { type: "function", prefix: "/hasty", module: "./shared.ts", timeout: "1s" },
    { type: "function", prefix: "/versions", module: "./versions.ts" },
    { type: "function", prefix: "/slow", module: "./slow.ts" },
    { type: "respond", prefix: "/other", body: "untouched" },
  ],
  files: {
    ...Object.fromEntries(NAMES.map((name) => [`${name}.ts`, source("answers.ts")])),
    "shared.ts": source("answers.ts"),
    "greeting.ts": source("greeting.ts"),
    "versions.ts": version("one"),
    "slow.ts": "export default { async fetch() { await Bun.sleep(300); return new Response('old'); } };\n",
  },
});
afterAll(() => stopAll(gateway));

const ask = (path: string): Promise<Reply> => gateway.once(request(`GET ${path}`));

/** Asks two routes that have nothing to do with it, while something goes on. @returns what they gave beside 200 */
async function beside(work: Promise<unknown>): Promise<unknown[]> {
  const odd: unknown[] = [];
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  do {
    for (const path of ["/other/x", "/calm/hello"]) {
      const { status } = await ask(path);
      if (status !== 200) odd.push([path, status]);
    }
  } while (!isOver);
  return odd;
}

describe("a module that misbehaves", () => {
  test("in an endless loop gets 504, and its thread is replaced", async () => {
    const looping = ask("/loop/loop");
    expect(await beside(looping)).toEqual([]);
    expect((await looping).status).toBe(504);
    await gateway.log(
      "function_thread_ended",
      ({ module, reason }) => String(module).endsWith("loop.ts") && reason === "stuck",
    );
    expect((await ask("/loop/hello")).text).toBe("hello");
  });

  test("requests that wait behind the loop are served by the next thread, or told so", async () => {
    const looping = ask("/loop/loop");
    const waiting = Array.from({ length: 3 }, () => ask("/loop/hello"));
    expect((await looping).status).toBe(504);
    for (const { status } of await Promise.all(waiting)) expect([200, 502, 503, 504]).toContain(status);
    await eventually(async () => expect((await ask("/loop/hello")).text).toBe("hello"));
  });

  test("that ends its thread at each request gets 502 each time", async () => {
    const exits = (async () => {
      for (let i = 0; i < 5; i++) expect((await ask("/exit/exit")).status).toBe(502);
    })();
    expect(await beside(exits)).toEqual([]);
    await exits;
    expect((await ask("/exit/hello")).text).toBe("hello");
  });

  test("in an endless loop loses its thread after the time of the route that it was asked at, whatever another route gives it", async () => {
    expect((await ask("/hasty/loop")).status).toBe(504);
    await gateway.log(
      "function_thread_ended",
      ({ module, reason }) => String(module).endsWith("shared.ts") && reason === "stuck",
    );
    await eventually(async () => expect((await ask("/patient/hello")).text).toBe("hello"));
  });

  test("that takes memory without end loses its thread", async () => {
    const leaking = ask("/leak/leak");
    expect(await beside(leaking)).toEqual([]);
    expect([502, 504]).toContain((await leaking).status);
    await gateway.log("function_thread_ended", ({ module }) => String(module).endsWith("leak.ts"));
    await eventually(async () => expect((await ask("/leak/hello")).text).toBe("hello"));
  });

  test("has so many requests at once, so many wait, and the others get 503", async () => {
    // Each of two data workers has its share: one request at once, and one that waits.
    const all = await Promise.all(Array.from({ length: 12 }, () => ask("/queue/never")));
    const statuses = all.map(({ status }) => status);
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThanOrEqual(8);
    expect(statuses.filter((status) => status === 504).length).toBeGreaterThanOrEqual(2);
    expect((await ask("/queue/hello")).text).toBe("hello");
  });
});

describe("a reload", () => {
  const reload = (): void => gateway.signal("SIGHUP");

  test("takes new code for new requests; old ones end on the old", async () => {
    const old = ask("/slow/x");
    expect((await ask("/versions/x")).text).toBe("one");
    writeFileSync(join(gateway.folder, "versions.ts"), version("two"));
    writeFileSync(join(gateway.folder, "slow.ts"), version("new"));
    reload();
    await eventually(async () => expect((await ask("/versions/x")).text).toBe("two"));
    await eventually(async () => expect((await ask("/slow/x")).text).toBe("new"));
    expect((await old).text).toBe("old");
  });

  test("with a module that cannot be loaded leaves its earlier version", async () => {
    writeFileSync(join(gateway.folder, "versions.ts"), "export default {;\n");
    reload();
    await gateway.log("function_load_failed", ({ module }) => String(module).endsWith("versions.ts"));
    expect((await ask("/versions/x")).text).toBe("two");
    writeFileSync(join(gateway.folder, "versions.ts"), version("three"));
    reload();
    await eventually(async () => expect((await ask("/versions/x")).text).toBe("three"));
  });
});
