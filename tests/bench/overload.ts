// A gateway at twice its capacity: do its requests of high priority go through as in calm, does anything grow, and when is calm back?
// docs/pressure.md#measured. Run by scripts/compare-pressure. The gateway has a processor of its own, so that it is the one that is short.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseMetrics, sumOf } from "../harness/metrics-text.ts";
import { freePort } from "../harness/ports.ts";

const SECONDS = Number(process.argv[2] ?? 10);
const EDGE = process.env.EDGE_BINARY ?? join(import.meta.dir, "../../edge");
/** Offered in calm, and in need, as parts of the capacity. */
const CALM = 0.4;
const NEED = 2;
/** Of the capacity, and never more. */
const HIGH = 0.2;
const PATIENCE_MS = 2000;
const BACK_MS = 2000;

/** Responses that cost the gateway more than they cost the clients, which share a processor with the origin: each is compressed. */
const TEXT = JSON.stringify(Array.from({ length: 2400 }, (_, id) => ({ id, name: `n${Math.sin(id)}`, at: id * 7919 })));

interface Seen {
  readonly sent: number;
  readonly good: number;
  readonly p99: number;
}

const origin = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: () => new Response(TEXT, { headers: { "Content-Type": "application/json" } }),
});
const folder = mkdtempSync(join(tmpdir(), "edge-overload-"));
const port = freePort();
const route = (name: string) =>
  `- {type: upstream, prefix: /${name}, target: "http://127.0.0.1:${origin.port}", retries: {attempts: 0}, priority: ${name}}\n`;
writeFileSync(
  join(folder, "config.yaml"),
  `server: {port: ${port}, host: 127.0.0.1, workers: 1, access_log: {enabled: false}, compression: {enabled: true}, overload: {}}\n`,
);
writeFileSync(join(folder, "routes.yaml"), ["high", "normal", "low"].map(route).join(""));

async function ask(name: string, signal?: AbortSignal): Promise<boolean> {
  const response = await fetch(`http://127.0.0.1:${port}/${name}/x`, {
    headers: { "Accept-Encoding": "gzip" },
    decompress: false,
    ...(signal === undefined ? {} : { signal }),
  });
  await response.arrayBuffer();
  return response.status === 200;
}

/** Requests a second that it serves if it has as many at once as it likes. */
async function capacity(): Promise<number> {
  let done = 0;
  const until = performance.now() + 3000;
  const one = async (): Promise<void> => {
    while (performance.now() < until) if (await ask("high")) done++;
  };
  await Promise.all(Array.from({ length: 24 }, one));
  return done / 3;
}

/** Sends requests at an even pace. @returns those of high priority */
async function offer(perSecond: number, highPerSecond: number, seconds: number): Promise<Seen> {
  const times: number[] = [];
  let [sent, good] = [0, 0];
  const one = async (name: string, dueMs: number): Promise<void> => {
    const isHigh = name === "high";
    if (isHigh) sent++;
    const isGood = await ask(name, AbortSignal.timeout(PATIENCE_MS)).catch(() => false);
    if (!isHigh || !isGood) return;
    good++;
    times.push(performance.now() - dueMs);
  };
  const from = performance.now();
  const running: Promise<void>[] = [];
  let [others, high] = [0, 0];
  for (let passedMs = 0; passedMs < seconds * 1000; passedMs = performance.now() - from) {
    for (; high < (passedMs * highPerSecond) / 1000; high++) running.push(one("high", performance.now()));
    for (; others < (passedMs * (perSecond - highPerSecond)) / 1000; others++)
      running.push(one(others % 2 === 0 ? "low" : "normal", performance.now()));
    await Bun.sleep(1);
  }
  await Promise.all(running);
  times.sort((a, b) => a - b);
  return { sent, good, p99: times[Math.floor(times.length * 0.99)] ?? Number.POSITIVE_INFINITY };
}

async function level(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return sumOf(parseMetrics(text), "gateway_overload_level", {});
}

const child = Bun.spawn(["taskset", "-c", "0", EDGE, "serve"], {
  cwd: folder,
  stdio: ["ignore", "ignore", "inherit"],
});
const residentMb = (): number =>
  Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, "latin1"))?.[1]) / 1024);
try {
  while (!(await ask("high").catch(() => false))) {
    if (child.exitCode !== null) throw new Error("edge has ended");
    await Bun.sleep(25);
  }
  const most = await capacity();
  const high = most * HIGH;
  await offer(most * CALM, high, 3);
  const calm = await offer(most * CALM, high, SECONDS);
  await offer(most * NEED, high, 3);
  const before = residentMb();
  const need = await offer(most * NEED, high, SECONDS);
  const highest = await level();
  const from = performance.now();
  const lull = offer(most * CALM, high, 4);
  let backMs = Number.POSITIVE_INFINITY;
  while (performance.now() - from < 4000 && backMs === Number.POSITIVE_INFINITY) {
    if ((await level()) === 0) backMs = performance.now() - from;
    else await Bun.sleep(50);
  }
  await lull;
  const after = residentMb();
  const success = need.good / need.sent;
  const slower = need.p99 / calm.p99;
  console.log(`Capacity ${Math.round(most)}/s; ${Math.round(high)}/s of high priority in all of it.\n`);
  console.log("| | offered/s | good of high | p99 of high |\n|---|---:|---:|---:|");
  for (const [name, share, { sent, good, p99 }] of [
    ["calm", CALM, calm],
    ["twice the capacity", NEED, need],
  ] as const)
    console.log(
      `| ${name} | ${Math.round(most * share)} | ${((100 * good) / sent).toFixed(2)} % | ${p99.toFixed(1)} ms |`,
    );
  console.log(
    `\ngood of high: ${(success * 100).toFixed(2)} % (at least 99.9); p99 / calm: ${slower.toFixed(2)} (at most 3); ` +
      `sheds at level ${highest}; calm after ${Math.round(backMs)} ms (at most ${BACK_MS}); memory ${before} MB, then ${after} MB`,
  );
  const isGood = success >= 0.999 && slower <= 3 && highest > 0 && backMs <= BACK_MS && after <= before * 1.2;
  process.exitCode = isGood ? 0 : 1;
} finally {
  child.kill();
  await child.exited;
  rmSync(folder, { recursive: true, force: true });
  await origin.stop(true);
}
