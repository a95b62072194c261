// The memory of the cache stays within max_bytes, whatever sizes are stored.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { longTest } from "../harness/long-lane.ts";
import { expectGrowthBelow, residentBytes } from "../harness/memory.ts";
import { request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";

const MAX_BYTES = 64 * 1024 * 1024;
/** What the process takes for connections, code and garbage while it serves large answers, cached or not. */
const SERVING_BYTES = 48 * 1024 * 1024;
const REQUESTS = 1500;

const cached = await CachedGateway.start({ max_bytes: MAX_BYTES, max_entries: 5000 });
afterAll(() => cached.stop());

test("random sizes up to max_payload_size leave it at max_bytes and a tenth", async () => {
  const random = new SeededRandom(7);
  const body = Buffer.alloc(1_048_576, "m");
  cached.origin.otherwise((call) => {
    const size = Number(new URLSearchParams(call.request.target.split("?")[1]).get("size"));
    call.reply(
      "200 OK",
      call.request.target.startsWith("/warm") ? ["Cache-Control: no-store"] : [],
      body.subarray(0, size),
    );
  });
  const client = await cached.gateway.connect();
  const ask = async (path: string, i: number): Promise<void> => {
    const size = random.integer(1, 1_048_576);
    const reply = await client.exchange(request(`GET ${path}/${i}?size=${size}`));
    expect(reply.body.byteLength).toBe(size);
  };
  for (let i = 0; i < 200; i++) await ask("/warm", i);
  const before = residentBytes(cached.gateway);
  for (let i = 0; i < REQUESTS; i++) await ask("/stored", i);
  const metrics = (await cached.get("/metrics")).text;
  const bytes = Number(/^gateway_cache_bytes (\d+)$/m.exec(metrics)?.[1]);
  expect(bytes).toBeGreaterThan(MAX_BYTES * 0.9);
  expect(bytes).toBeLessThanOrEqual(MAX_BYTES);
  await expectGrowthBelow(cached.gateway, before, MAX_BYTES * 1.1 + SERVING_BYTES);
  client.close();
}, 60_000);

const FULL_BYTES = 256 * 1024 * 1024;
const BOUND_BYTES = FULL_BYTES * 1.3 + 60e6;
/** What the thread of the disk and its index may take. */
const DISK_THREAD_BYTES = 30e6;

/** The most memory that a process has had. */
function peakBytes(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1024;
}

for (const withDisk of [false, true]) {
  longTest(
    `the process takes 1.3 times max_bytes and 60 MB at most${withDisk ? ", and 30 MB with a disk" : ""}`,
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "edge-cache-memory-"));
      const disk = withDisk ? { disk: { path: join(folder, "store"), max_bytes: "1GiB" } } : {};
      const full = await CachedGateway.start(
        { max_bytes: FULL_BYTES, max_entries: 5000, ...disk },
        { workers: 2, access_log: { enabled: false } },
      );
      try {
        const random = new SeededRandom(7);
        const body = Buffer.alloc(1_048_576, "m");
        full.origin.otherwise((call) => {
          const size = Number(new URLSearchParams(call.request.target.split("?")[1]).get("size"));
          call.reply("200 OK", ["Cache-Control: max-age=600"], body.subarray(0, size));
        });
        let next = 0;
        const sizes = Array.from({ length: 2000 }, () => random.integer(1, 1_048_576));
        const askOn = async (rounds: number): Promise<void> => {
          const client = await full.gateway.connect();
          for (let i = next++; i < sizes.length * rounds; i = next++) {
            const size = sizes[i % sizes.length]!;
            const reply = await client.exchange(request(`GET /${i % sizes.length}?size=${size}`));
            expect(reply.body.byteLength).toBe(size);
          }
          client.close();
        };
        // The second round asks for what has made way in memory, which the disk has.
        await Promise.all(Array.from({ length: 16 }, () => askOn(withDisk ? 2 : 1)));
        expect(peakBytes(full.gateway.pid)).toBeLessThanOrEqual(BOUND_BYTES + (withDisk ? DISK_THREAD_BYTES : 0));
      } finally {
        await full.stop();
        rmSync(folder, { recursive: true, force: true });
      }
    },
    120_000,
  );
}
