// Stores answers of random sizes for some minutes, purges and invalidates among them, and says how the memory stands:
// bun tests/soak/cache-soak.ts [minutes]. The process must not take more than max_bytes and a tenth beside what it takes
// to serve, and what it holds must add up.
import { CachedGateway } from "../harness/cached-gateway.ts";
import { RawClient, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";

const MAX_BYTES = 128 * 1024 * 1024;
const MAX_PAYLOAD = 1_048_576;
const CLIENTS = 8;
const WARM_MS = 5000;

const minutes = Number(process.argv[2] ?? 5);
const cached = await CachedGateway.start({ max_bytes: MAX_BYTES, max_entries: 20_000 }, { workers: 2 });
const body = Buffer.alloc(MAX_PAYLOAD, "s");
cached.origin.otherwise((call) => {
  const size = Number(/size=(\d+)/.exec(call.request.target)?.[1] ?? 1);
  const control = call.request.target.startsWith("/warm") ? ["Cache-Control: no-store"] : [];
  call.reply("200 OK", control, body.subarray(0, size));
});

let wrong = 0;
await serve("/warm", WARM_MS);
const before = resident();
const until = Date.now() + minutes * 60_000;
while (Date.now() < until) {
  await serve("/stored", Math.min(15_000, until - Date.now()));
  const metrics = (await cached.get("/metrics")).text;
  const held = Number(/^gateway_cache_bytes (\d+)$/m.exec(metrics)?.[1]);
  const grown = resident() - before;
  process.stdout.write(`cache ${mib(held)} MiB, process +${mib(grown)} MiB, wrong answers ${wrong}\n`);
  if (held > MAX_BYTES) wrong++;
}
const limit = MAX_BYTES * 1.1;
const grown = resident() - before;
process.stdout.write(
  `max_bytes ${mib(MAX_BYTES)} MiB and a tenth is ${mib(limit)} MiB; the process grew by ${mib(grown)} MiB\n`,
);
await cached.stop();
process.exit(wrong === 0 && grown <= limit ? 0 : 1);

/** Lets all clients ask for a while. */
async function serve(prefix: string, forMs: number): Promise<void> {
  const end = Date.now() + forMs;
  await Promise.all(Array.from({ length: CLIENTS }, (_, i) => ask(prefix, i, end)));
}

async function ask(prefix: string, seed: number, end: number): Promise<void> {
  const random = new SeededRandom(seed + Math.floor(end));
  const client = await RawClient.connect(cached.gateway.port);
  while (Date.now() < end) {
    const number = random.integer(0, 4000);
    const size = 1 + ((number * 7919) % MAX_PAYLOAD);
    const method = random.chance(0.01) ? "DELETE" : "GET";
    const reply = await client.exchange(request(`${method} ${prefix}/${number}?size=${size}`));
    if (reply.body.byteLength !== size) wrong++;
  }
  client.close();
}

function resident(): number {
  return cached.gateway.memory()?.resident ?? 0;
}

function mib(bytes: number): number {
  return Math.round(bytes / 1024 / 1024);
}
