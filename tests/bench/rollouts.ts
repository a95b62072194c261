// Ten rollouts on real sockets at once: good versions, versions with twice the errors, and versions that take 1.5 times as long.
// docs/pressure.md#the-test. Run by scripts/compare-pressure.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CanaryStanding } from "../../src/core/canary-standing.ts";
import { freePort } from "../harness/ports.ts";
import { runPaced } from "./paced-run.ts";

/** Requests a second of each route. A step lasts as many requests as five minutes of a service with 40 a second. */
const PER_SECOND = Number(process.argv[2] ?? 300);
const EVERY_S = 40;
const LIMIT_S = 900;
const EDGE = process.env.EDGE_BINARY ?? join(import.meta.dir, "../../edge");
const ERRORS = 0.01;

const KINDS = [
  ...Array.from({ length: 4 }, () => ({ kind: "good", errors: ERRORS, slowness: 1, ends: "promoted" })),
  ...Array.from({ length: 3 }, () => ({ kind: "twice the errors", errors: 2 * ERRORS, slowness: 1, ends: "aborted" })),
  ...Array.from({ length: 3 }, () => ({ kind: "1.5 times as slow", errors: ERRORS, slowness: 1.5, ends: "aborted" })),
] as const;

function normal(): number {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}

/** A version of a service: half of its responses take 20 ms, one in a hundred 64 ms. */
function version(errors: number, slowness: number) {
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch() {
      await Bun.sleep(20 * slowness * Math.exp(0.5 * normal()));
      return new Response("x", { status: Math.random() < errors ? 500 : 200 });
    },
  });
}

const old = version(ERRORS, 1);
const fresh = KINDS.map(({ errors, slowness }) => version(errors, slowness));
const folder = mkdtempSync(join(tmpdir(), "edge-rollouts-"));
const port = freePort();
const routes = fresh.map(
  (one, i) =>
    `- {type: upstream, prefix: /r${i}, target: "http://127.0.0.1:${old.port}", retries: {attempts: 0}, ` +
    `canary: {target: "http://127.0.0.1:${one.port}", every: ${EVERY_S}s, sticky: false}}\n`,
);
writeFileSync(
  join(folder, "config.yaml"),
  `server: {port: ${port}, host: 127.0.0.1, workers: 1, access_log: {enabled: false}}\n`,
);
writeFileSync(join(folder, "routes.yaml"), routes.join(""));
const child = Bun.spawn([EDGE, "serve"], { cwd: folder, stdio: ["ignore", "ignore", "inherit"] });

async function standings(): Promise<readonly CanaryStanding[]> {
  const response = await fetch(`http://127.0.0.1:${port}/internal/api/canaries`);
  const { canaries } = (await response.json()) as { canaries: readonly CanaryStanding[] };
  return KINDS.map((_, i) => canaries.find(({ route }) => route === `/r${i}`)!);
}

/** Loads a route until its rollout is over. */
async function load(i: number, untilMs: number): Promise<void> {
  const plan = {
    port,
    path: `/r${i}/x`,
    connections: 40,
    benignPerSecond: PER_SECOND,
    attacksPerSecond: 0,
    seconds: 5,
  };
  while (performance.now() < untilMs) {
    await runPaced(plan);
    if ((await standings())[i]!.state !== "running") return;
  }
}

try {
  while (!(await standings().catch(() => null))) {
    if (child.exitCode !== null) throw new Error("edge has ended");
    await Bun.sleep(25);
  }
  const untilMs = performance.now() + LIMIT_S * 1000;
  await Promise.all(KINDS.map((_, i) => load(i, untilMs)));
  console.log("| new version | ends | share of all requests that it got | hurt | p99 old and new | evidence |");
  console.log("|---|---|---:|---:|---:|---:|");
  let misses = 0;
  for (const [i, one] of (await standings()).entries()) {
    const { kind, ends } = KINDS[i]!;
    const { state, reason, requests, errors, old_requests, p99_ms, old_p99_ms } = one;
    const all = requests + old_requests;
    // More errors than the old version would have had; or requests that were answered late.
    const hurt = kind === "1.5 times as slow" ? requests / 100 : Math.max(0, errors - requests * ERRORS);
    if (state !== ends || (ends === "aborted" && hurt / all > 0.01)) misses++;
    console.log(
      `| ${kind} | ${state} ${reason} | ${((100 * requests) / all).toFixed(1)} % | ${((100 * hurt) / all).toFixed(3)} % | ` +
        `${old_p99_ms} and ${p99_ms} ms | ${one.errors_evidence} and ${one.latency_evidence} |`,
    );
  }
  console.log(`\n${KINDS.length - misses} of ${KINDS.length} as they should`);
  process.exitCode = misses === 0 ? 0 : 1;
} finally {
  child.kill();
  await child.exited;
  rmSync(folder, { recursive: true, force: true });
  for (const one of [old, ...fresh]) await one.stop(true);
}
