// The memory of the cache stays within max_bytes, whatever sizes are stored.
import { afterAll, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
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
