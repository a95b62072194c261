// docs/operations.md#replacing-the-binary: what is stored goes to the process that takes over, and what is taken out meanwhile is not
// served by it.
import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { eventually } from "../harness/eventually.ts";
import { request } from "../harness/raw-client.ts";
import { isGone, untilGone } from "../harness/run-process.ts";

const PATIENCE_MS = 60_000;
const cached = await CachedGateway.start({ max_payload_size: 400_000 }, { workers: 2, shutdown_timeout: "30s" });
const pids: number[] = [cached.gateway.pid];
afterAll(() => {
  for (const pid of pids.slice(1)) if (!isGone(pid)) process.kill(pid, "SIGKILL");
  cached.gateway.kill();
  cached.origin.stop();
});

/** Replaces the process that serves. @returns the old one's id */
async function replace(): Promise<number> {
  const old = pids.at(-1)!;
  process.kill(old, "SIGUSR2");
  const isNew = (pid: unknown): boolean => typeof pid === "number" && !pids.includes(pid);
  const line = await cached.gateway.logs.until(
    "the successor",
    ({ event, pid }) => event === "listening" && isNew(pid),
    PATIENCE_MS,
  );
  pids.push(line.pid as number);
  return old;
}

const ask = async (path: string) => {
  const { text, fields } = await cached.get(path);
  return [text, fields.get("x-cache")];
};

test(
  "responses go from process to process, with their age, variants and tags",
  async () => {
    const large = "0123456789".repeat(30_000);
    cached.answers("/small", "Cache-Control: max-age=600", 'ETag: "s"', "Cache-Tag: a");
    cached.on("/large", (call) => call.reply("200 OK", ["Cache-Control: max-age=600"], large));
    await cached.get("/small");
    await cached.get("/small", ["Accept-Encoding: gzip"]);
    await cached.get("/large");
    await Bun.sleep(1100);
    for (let round = 0; round < 2; round++) {
      await untilGone(await replace(), PATIENCE_MS);
      const hit = await cached.get("/small");
      expect([hit.text, hit.fields.get("x-cache"), hit.fields.get("etag")]).toEqual(["answer 1", "HIT", '"s"']);
      expect(Number(hit.fields.get("age"))).toBeGreaterThanOrEqual(1);
      expect(hit.fields.get("cache-status")).toMatch(/^edge; hit; ttl=5\d\d$/);
      expect((await cached.get("/small", ["Accept-Encoding: gzip"])).text).toBe("answer 2");
      expect((await cached.get("/small", ['If-None-Match: "s"'])).status).toBe(304);
      expect((await ask("/large"))[0] === large).toBe(true);
    }
    expect([cached.seen("/small"), cached.seen("/large")]).toEqual([2, 1]);
    const purged = await cached.send("POST /internal/api/cache/purge", [], '{"tag":"a"}');
    expect(purged.text).toBe('{"purged":2}');
    expect(
      readdirSync(tmpdir()).filter((name) => name.startsWith("edge-cache-") && !name.startsWith("edge-cache-disk-")),
    ).toEqual([]);
  },
  PATIENCE_MS,
);

test(
  "what the old process takes out after that is not served by the new one",
  async () => {
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    cached.on("/changed", async (call) => {
      if (call.request.method === "POST") await held;
      call.reply("200 OK", ["Cache-Control: max-age=600"], `seen ${cached.seen("/changed")}`);
    });
    await cached.get("/changed");
    const writer = await cached.gateway.connect();
    writer.send(request("POST /changed", [], "x"));
    await cached.origin.until("the write", () => (cached.seen("/changed") === 2 ? true : undefined));
    const old = await replace();
    expect(await ask("/changed")).toEqual(["seen 1", "HIT"]);
    release();
    expect((await writer.reply()).status).toBe(200);
    await eventually(async () => expect((await ask("/changed"))[0]).toBe("seen 3"));
    await untilGone(old, PATIENCE_MS);
    writer.close();
  },
  PATIENCE_MS,
);
