// docs/functions.md#what-it-costs: who comes first where processors are short. The kernel tells in /proc, on Linux alone.
import { afterAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const STEP = 10;
const gateway = await startGateway({
  config: { server: { workers: 1 }, functions: { memory: "64MiB" } },
  routes: [
    { type: "function", prefix: "/loop", module: "./loop.ts", timeout: "3s" },
    { type: "function", prefix: "/large", module: "./large.ts" },
    { type: "function", prefix: "/calm", module: "./calm.ts" },
  ],
  files: {
    "loop.ts": "export default { fetch() { for (;;); } };\n",
    "large.ts":
      "const all = [];\nexport default { fetch() { for (let i = 0; i < 400_000; i++) all.push({ i }); return new Response(); } };\n",
    "calm.ts": "export default { fetch: () => new Response() };\n",
  },
});
afterAll(() => stopAll(gateway));

const ask = (path: string) => gateway.once(request(`GET ${path}`));

/** How nice each thread is, by name. proc_pid_stat(5) */
function threads(): { name: string; nice: number }[] {
  const tasks = `/proc/${gateway.pid}/task`;
  return readdirSync(tasks).flatMap((tid) => {
    try {
      const stat = readFileSync(`${tasks}/${tid}/stat`, "latin1");
      const end = stat.lastIndexOf(")");
      return [{ name: stat.slice(stat.indexOf("(") + 1, end), nice: Number(stat.slice(end + 2).split(" ")[16]) }];
    } catch {
      return [];
    }
  });
}

const ours = (): number[] => threads().flatMap(({ name, nice }) => (name === "Worker" ? [nice] : []));
const usual = process.platform === "linux" ? Number(readFileSync("/proc/self/stat", "latin1").split(" ")[18]) : 0;
const behind = Math.min(19, usual + STEP);

test.skipIf(process.platform !== "linux")("a thread that stands still comes after all others", async () => {
  expect((await ask("/calm")).status).toBe(200);
  expect(ours()).not.toContain(behind);
  const looping = ask("/loop");
  await eventually(() => expect(ours().filter((nice) => nice === behind)).toHaveLength(1));
  expect((await looping).status).toBe(504);
  // Its successor is like any other.
  await eventually(() => expect(ours()).not.toContain(behind));
});

test.skipIf(process.platform !== "linux")("so does one that has taken much memory, and serves on", async () => {
  expect((await ask("/large")).status).toBe(200);
  await eventually(() => expect(ours().filter((nice) => nice === behind)).toHaveLength(1));
  expect((await ask("/large")).status).toBe(200);
  expect(ours().filter((nice) => nice === usual).length).toBeGreaterThan(1);
});

test.skipIf(process.platform !== "linux")("and what collects garbage for all, once it has begun", async () => {
  await eventually(() => {
    const collectors = threads().filter(({ name }) => name === "HeapHelper" || name === "JSCWarmUp");
    expect(collectors.length).toBeGreaterThan(0);
    expect(collectors.map(({ nice }) => nice)).toEqual(collectors.map(() => behind));
  });
});
