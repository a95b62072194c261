// functions.cron at running gateways. A schedule is due at whole minutes, so that this waits for one: scripts/test --long. docs/functions.md#schedules
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readdirSync, readlinkSync } from "node:fs";
import { eventually } from "../harness/eventually.ts";
import { startGateway } from "../harness/gateway.ts";
import type { LogLine } from "../harness/line-collector.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { REDIS, RedisServer } from "../harness/redis-server.ts";

const MINUTE_MS = 90_000;

const MODULES = {
  "good.ts": `import { rm } from "node:fs/promises";
export default {
  async scheduled(event, env, ctx) {
    ctx.waitUntil(Bun.sleep(20).then(() => ctx.log.info("waited", typeof rm)));
    if (event.type !== "scheduled" || event.scheduledTime % 60_000 !== 0) throw new Error("event");
    ctx.log.info(env.TOKEN + " " + event.cron + " " + ("PATH" in process.env));
  },
};
`,
  "throws.ts": `export default {\n  scheduled() {\n    throw new RangeError("no room");\n  },\n};\n`,
  "loops.ts": "export default { scheduled() { for (;;); } };\n",
  "exits.ts": "export default { scheduled() { process.exit(4); } };\n",
};

const optionsOf = (store: string) => ({
  config: {
    cluster: { store },
    functions: {
      env: { TOKEN: "t0p" },
      cron: Object.keys(MODULES).map((name) => ({ schedule: "* * * * *", module: `./${name}`, timeout: "2s" })),
    },
  },
  files: MODULES,
  routes: [],
});

describe.skipIf(!IS_LONG || REDIS === null)("schedules", () => {
  let redis: RedisServer;
  beforeAll(async () => {
    redis = await RedisServer.start();
  });
  afterAll(() => redis.stop());

  test(
    "one gateway of two makes each run; what a run does costs nothing but itself",
    async () => {
      const gateways = await Promise.all([startGateway(optionsOf(redis.url)), startGateway(optionsOf(redis.url))]);
      const runs: LogLine[] = [];
      const resultOf = async (name: string): Promise<LogLine> => {
        const isRun = (line: LogLine) => line.event === "function_scheduled" && String(line.module).endsWith(name);
        return Promise.race(gateways.map((gateway) => gateway.logs.until(name, isRun, MINUTE_MS)));
      };
      try {
        for (const name of Object.keys(MODULES)) runs.push(await resultOf(name));
        const [good, throws, loops, exits] = runs;
        expect(good).toMatchObject({ ok: true, result: "ok", schedule: "* * * * *" });
        expect(throws).toMatchObject({ ok: false, result: "error", error: "RangeError: no room" });
        expect(throws!.stack).toMatch(/throws\.ts:3:\d+/);
        expect(loops).toMatchObject({ ok: false, result: "timeout" });
        expect(exits).toMatchObject({ ok: false, result: "died" });
        const counts = await Promise.all(
          ["ok", "elsewhere"].map(async (result) => {
            const each = gateways.map((one) =>
              one.metric("gateway_scheduled_runs_total", { module: "good.ts", result }),
            );
            return (await Promise.all(each)).reduce((sum, count) => sum + count, 0);
          }),
        );
        expect(counts).toEqual([1, 1]);
        const said = gateways.flatMap((one) => one.logs.json).filter((line) => line.event === "function_log");
        expect(said.map((line) => line.message).toSorted()).toEqual(["t0p * * * * * false", "waited function"]);
        for (const gateway of gateways)
          expect((await gateway.once("GET /health HTTP/1.1\r\nHost: a\r\n\r\n")).status).toBe(200);
      } finally {
        await Promise.all(gateways.map((gateway) => gateway.stop()));
      }
    },
    2 * MINUTE_MS,
  );
});

describe.skipIf(!IS_LONG)("a run of a schedule", () => {
  test(
    "leaves no file open, and does not hold up the end of the process",
    async () => {
      const cron = ["leaks", "loops"].map((name) => ({
        schedule: "* * * * *",
        module: `./${name}.ts`,
        timeout: "55s",
      }));
      const gateway = await startGateway({
        config: { functions: { cron } },
        files: {
          "leaks.ts": `import { openSync } from "node:fs";
            export default { scheduled(event, env, ctx) {
              let opened = 0;
              try { for (; opened < 1000; opened++) openSync("/etc/passwd"); } catch (error) { ctx.log.info(opened + " " + error.code); }
            } };`,
          "loops.ts": MODULES["loops.ts"],
        },
        routes: [],
      });
      const isLeak = (line: LogLine) => line.event === "function_scheduled" && String(line.module).endsWith("leaks.ts");
      expect(await gateway.logs.until("the run", isLeak, MINUTE_MS)).toMatchObject({ ok: true });
      const said = gateway.logs.json.find(({ event }) => event === "function_log");
      expect(said!.message).toMatch(/^\d+ EMFILE$/);
      await eventually(() => expect(openFiles(gateway.pid).filter((file) => file === "/etc/passwd")).toEqual([]));
      // The other one still runs.
      gateway.signal("SIGTERM");
      expect(await gateway.exited()).toBe(0);
      await gateway.stop().catch(() => {});
    },
    2 * MINUTE_MS,
  );
});

/** What the descriptors of a process refer to. proc(5) */
function openFiles(pid: number): string[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((fd) => {
    try {
      return [readlinkSync(`${folder}/${fd}`)];
    } catch {
      return [];
    }
  });
}
