// The chaos run: `bun tests/soak/chaos.ts [--minutes 5] [--clients 32] [--seed N]`. Three origins are killed, stopped,
// restarted and slowed down at random under load, with health checks and retries on. Idempotent requests must succeed at
// 99.99 %, nothing may be answered twice or hang, no POST may run twice, a WebSocket through a fourth origin must live on.
import { parseArgs } from "node:util";
import { type Gateway, startGateway } from "../harness/gateway.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { keepAsking, keepSocket, noSightings, type Sightings } from "./chaos-clients.ts";
import { ChaosOrigin, type Mischief, makeTrouble } from "./chaos-origins.ts";

const TOTAL_MS = 5000;
/** Beyond the gateway's own limit of time; a request that takes longer hangs. */
const PATIENCE_MS = TOTAL_MS + 2000;
const WANTED_RATIO = 0.9999;

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "5" },
    clients: { type: "string", default: "32" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
  },
});

const runs = new Map<string, number>();
const countRun = (path: string) => void runs.set(path, (runs.get(path) ?? 0) + 1);
const origins = ["a", "b", "c"].map((name) => new ChaosOrigin(name, countRun));
const untouched = new ChaosOrigin("untouched", () => {});
await Promise.all([...origins, untouched].map((origin) => origin.untilUp()));
const gateway = await startGateway({
  config: { server: { workers: 2, access_log: { enabled: false } } },
  routes: [
    {
      type: "upstream",
      prefix: "/n",
      targets: origins.map(({ url }) => ({ url })),
      health_check: { path: "/health", interval: "250ms", timeout: "500ms", unhealthy_threshold: 2 },
      circuit_breaker: { failure_threshold: 5, open_duration: "1s" },
      retries: { attempts: 2 },
      timeouts: { connect: "500ms", response_header: "1s", total: `${TOTAL_MS}ms` },
    },
    { type: "upstream", prefix: "/ws", target: untouched.url },
  ],
});

const seen = noSightings();
const mischiefs = new Map<Mischief, number>();
const started = performance.now();
const endsAt = started + Number(values.minutes) * 60_000;
const isOver = () => performance.now() >= endsAt || gateway.hasExited;
const progress = setInterval(() => console.error(summary(seen)), 10_000);
const [echoes] = await Promise.all([
  keepSocket(gateway.port, isOver),
  makeTrouble(
    origins,
    new SeededRandom(Number(values.seed)),
    isOver,
    (one) => void mischiefs.set(one, (mischiefs.get(one) ?? 0) + 1),
  ),
  ...Array.from({ length: Number(values.clients) }, (_, i) => keepAsking(gateway.port, i, PATIENCE_MS, isOver, seen)),
]);
clearInterval(progress);
// What the origins wrote last may still be on its way.
await Bun.sleep(500);
const isGood = report(gateway, echoes);
for (const origin of [...origins, untouched]) origin.end();
await gateway.stop();
process.exit(isGood ? 0 : 1);

function report(gate: Gateway, echoCount: number): boolean {
  const duplicates = [...runs.values()].filter((count) => count > 1).length;
  const ratio = seen.succeeded / seen.idempotent;
  const events = (name: string) => gate.logs.json.filter((line) => line.event === name).length;
  const memory = gate.memory();
  console.log(
    JSON.stringify(
      {
        seed: Number(values.seed),
        seconds: Math.round((performance.now() - started) / 1000),
        mischiefs: Object.fromEntries(mischiefs),
        idempotent: { requests: seen.idempotent, succeeded: seen.succeeded, ratio: Math.floor(ratio * 1e6) / 1e6 },
        failures: Object.fromEntries(seen.failures),
        posts: { requests: seen.posts, succeeded: seen.postsSucceeded, run_twice: duplicates },
        foreign_answers: seen.foreign,
        hangs: seen.hangs,
        slowest_ms: Math.round(seen.slowestMs),
        websocket_echoes: echoCount,
        breakers_opened: events("breaker_open"),
        unhealthy: events("upstream_unhealthy"),
        exceptions: events("exception") + events("worker_died"),
        resident_mb: memory === null ? null : Math.round(memory.resident / 2 ** 20),
      },
      null,
      2,
    ),
  );
  const isClean = duplicates + seen.foreign + seen.hangs + events("exception") + events("worker_died") === 0;
  return isClean && ratio >= WANTED_RATIO && echoCount > 0 && !gate.hasExited;
}

function summary({ idempotent, succeeded, posts, hangs, failures }: Sightings): string {
  const failed = [...failures].map(([what, count]) => `${count} × ${what}`).join(", ") || "none";
  return `${succeeded}/${idempotent} idempotent, ${posts} POSTs, ${hangs} hangs, failures: ${failed}`;
}
