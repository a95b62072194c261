/**
 * How long a large configuration takes: `bun tests/bench/many-routes.ts [routes] [targets] [match]`, 10,000 and 10 unless others are
 * given. It prints the time to the first answer, the time of a reload, the processor time of both, and resident memory. With the word
 * `match`, each route has one by header and expression, and the time of a look-up is printed as the table grows.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildRouter } from "../../src/features/route/build-router.ts";
import { RequestMatcher } from "../../src/features/route/request-matcher.ts";
import { RequestHead } from "../../src/message/request-head.ts";
import { RequestParser } from "../../src/proto/h1/request-parser.ts";
import { routeInit } from "../unit/features/route/route-inits.ts";

const EDGE = join(import.meta.dir, "..", "..", "edge");
const PORT = 19080;
const PATIENCE_MS = 120_000;

/** A routes file as a program would write it. */
function routesText(routes: number, targets: number): string {
  const lines = ["routes:"];
  for (let i = 0; i < routes; i++) {
    lines.push("- type: upstream", `  prefix: /svc${i}`);
    if (hasMatch) lines.push("  match:", "    header:", `      X-Team: /^team(${i}|x)$/`);
    lines.push("  targets:");
    for (let j = 1; j <= targets; j++) lines.push(`    - url: http://10.${(i >> 8) & 255}.${i & 255}.${j}:8080`);
  }
  return `${lines.join("\n")}\n`;
}

/** Processor time of a process so far, in milliseconds. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]!.split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

function memoryMib(pid: number): string {
  const text = readFileSync(`/proc/${pid}/status`, "latin1");
  const read = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(text)![1]) / 1024);
  return `resident ${read("VmRSS")} MiB, at most ${read("VmHWM")} MiB`;
}

async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  for (const startMs = performance.now(); performance.now() - startMs < PATIENCE_MS; await Bun.sleep(5)) {
    if (await holds()) return;
  }
  throw new Error(`never: ${what}`);
}

async function answers(): Promise<boolean> {
  return fetch(`http://127.0.0.1:${PORT}/health`).then(
    (reply) => reply.ok,
    () => false,
  );
}

/** Nanoseconds of a look-up in a table of so many routes, one path each; with `match`, by a header. */
function lookUpNs(count: number, withMatch: boolean): number {
  const inits = Array.from({ length: count }, (_, i) => {
    const init = routeInit({ kind: "upstream", label: `/svc${i}`, path: `/svc${i}` });
    const header = [["X-Team", `/^team(${i}|x)$/`]] as const;
    const match = { header, query: [], cookie: [], clientIp: [], country: [], share: 1, stickyBy: "" };
    return withMatch ? { ...init, match: new RequestMatcher(match, String(i), 0) } : init;
  });
  const router = buildRouter(inits);
  const heads = Array.from({ length: Math.min(count, 64) }, (_, i) => headOf(`/svc${Math.floor((i * count) / 64)}`));
  let found = 0;
  const round = () => {
    for (const head of heads) if (router.findPrefix(head) !== null) found++;
  };
  for (let i = 0; i < 300; i++) round();
  const startMs = performance.now();
  for (let i = 0; i < 1000; i++) round();
  const ns = ((performance.now() - startMs) * 1e6) / (1000 * heads.length);
  if (found !== 1300 * heads.length) throw new Error("a route was not found");
  return Math.round(ns);
}

function headOf(path: string): RequestHead {
  const bytes = Buffer.from(`GET ${path}/a?b=1 HTTP/1.1\r\nHost: a.test\r\nX-Team: teamx\r\nAccept: */*\r\n\r\n`);
  const head = new RequestHead();
  const parser = new RequestParser(65_536);
  head.reset(bytes);
  parser.begin(0);
  parser.parse(bytes, bytes.length, head);
  return head;
}

const [routes = 10_000, targets = 10] = process.argv
  .slice(2)
  .filter((word) => word !== "match")
  .map(Number);
const hasMatch = process.argv.includes("match");
if (hasMatch) {
  for (const count of [10, 100, 1000, 10_000]) {
    console.log(`look-up among ${count} routes: ${lookUpNs(count, false)} ns, with match ${lookUpNs(count, true)} ns`);
  }
}
const folder = mkdtempSync(join(tmpdir(), "edge-many-"));
writeFileSync(join(folder, "config.yaml"), `server: {host: 127.0.0.1, port: ${PORT}, workers: 2}\n`);
writeFileSync(join(folder, "routes.yaml"), routesText(routes, targets));
const startMs = performance.now();
const edge = Bun.spawn([EDGE, "serve"], { cwd: folder, stdout: Bun.file(join(folder, "log")), stderr: "inherit" });
const reloads = () => readFileSync(join(folder, "log"), "utf8").split('"config_reload"').length - 1;
try {
  await until("an answer", answers);
  console.log(`${routes} routes with ${targets} targets each, two workers`);
  console.log(`start: ${Math.round(performance.now() - startMs)} ms, processor ${processorMs(edge.pid)} ms`);
  await Bun.sleep(1000);
  console.log(`after the start: ${memoryMib(edge.pid)}`);
  for (let n = 1; n <= 3; n++) {
    const [beforeMs, usedMs] = [performance.now(), processorMs(edge.pid)];
    edge.kill("SIGHUP");
    await until("a reload", async () => reloads() === n);
    const tookMs = Math.round(performance.now() - beforeMs);
    await until("an answer", answers);
    await Bun.sleep(2000);
    console.log(`reload ${n}: ${tookMs} ms, processor ${processorMs(edge.pid) - usedMs} ms, ${memoryMib(edge.pid)}`);
  }
} finally {
  edge.kill();
  await edge.exited;
  rmSync(folder, { recursive: true, force: true });
}
