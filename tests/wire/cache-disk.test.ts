// docs/cache.md#on-disk: what is stored survives a restart, holds more than memory, and is never served damaged.
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, runEdge, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { longTest, samples } from "../harness/long-lane.ts";
import { request } from "../harness/raw-client.ts";
import { untilGone } from "../harness/run-process.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

type Settings = Record<string, unknown>;

const roots: string[] = [];
const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.stop();
});
afterAll(() => {
  for (const root of roots) rmSync(root, { recursive: true, force: true });
});

function newFolder(): string {
  const root = mkdtempSync(join(tmpdir(), "edge-cache-disk-"));
  roots.push(root);
  return join(root, "store");
}

async function start(path: string, cache: Settings = {}, disk: Settings = {}): Promise<CachedGateway> {
  const cached = await CachedGateway.start({
    max_entries: 5000,
    disk: { path, max_bytes: "64MiB", ...disk },
    ...cache,
  });
  open.push(cached);
  return cached;
}

/** Ends a gateway and starts another one with the same folder, before another origin. */
async function restart(old: CachedGateway, path: string, cache: Settings = {}, disk: Settings = {}) {
  await old.stop();
  open.splice(open.indexOf(old), 1);
  return start(path, cache, disk);
}

async function metric(cached: CachedGateway, name: string): Promise<number> {
  const { text } = await cached.get("/metrics");
  return Number(new RegExp(`^${name.replace(/[{}"]/g, "\\$&")} (\\S+)$`, "m").exec(text)?.[1] ?? Number.NaN);
}

async function untilOnDisk(cached: CachedGateway, entries: number): Promise<void> {
  await eventually(async () => expect(await metric(cached, "gateway_cache_disk_entries")).toBe(entries), 20_000);
}

/** A body that says by itself which it is. */
function bodyOf(i: number, bytes = 200 + ((i * 7919) % 9000)): string {
  return `${i}:`.padEnd(bytes, `${i % 10}abcdefghijklmnop`);
}

function serveNumbers(cached: CachedGateway, fields: readonly string[] = [], bytes?: number): void {
  cached.origin.otherwise((call) => {
    const i = Number(/^\/(\d+)/.exec(call.request.target)?.[1]);
    call.reply("200 OK", ["Cache-Control: max-age=3600", `ETag: "${i}"`, ...fields], bodyOf(i, bytes));
  });
}

/** Asks for many, over one connection. @returns how many came from the cache, each with the right body */
async function askAll(cached: CachedGateway, numbers: Iterable<number>, bytes?: number): Promise<number> {
  const client = await cached.gateway.connect();
  let hits = 0;
  for (const i of numbers) {
    const reply = await client.exchange(request(`GET /${i}`));
    expect(reply.status).toBe(200);
    if (reply.text !== bodyOf(i, bytes)) throw new Error(`the body of /${i} is another`);
    if (reply.fields.get("x-cache") === "HIT") hits++;
  }
  client.close();
  return hits;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe("a restart", () => {
  test("keeps a thousand entries with their bytes, ages and files that no one else reads", async () => {
    const path = newFolder();
    const first = await start(path);
    serveNumbers(first);
    expect(await askAll(first, upTo(1000))).toBe(0);
    await untilOnDisk(first, 1000);
    expect(readdirSync(path)).toContain("0000000001.seg");
    for (const name of readdirSync(path)) expect(statSync(join(path, name)).mode & 0o777).toBe(0o600);
    await Bun.sleep(1100);
    await first.stop();
    open.splice(0);
    // What is read then comes from the disk, and not out of the kernel's memory.
    forget(join(path, "0000000001.seg"));
    const second = await start(path);
    serveNumbers(second);
    expect(await metric(second, "gateway_cache_disk_entries")).toBe(1000);
    const hit = await second.get("/1");
    expect(hit.fields.get("cache-status")).toMatch(/^edge; hit; detail=disk; ttl=35\d\d$/);
    expect(Number(hit.fields.get("age"))).toBeGreaterThanOrEqual(1);
    expect((await second.get("/1")).fields.get("cache-status")).toMatch(/^edge; hit; ttl=/);
    expect(await askAll(second, upTo(1000))).toBe(1000);
    expect(second.origin.requestsFor("/1")).toEqual([]);
    expect((await second.get("/7", ['If-None-Match: "7"'])).status).toBe(304);
    const third = await restart(second, path);
    expect((await third.get("/9", ['If-None-Match: "9"'])).status).toBe(304);
    expect((await third.get("/10", ["Range: bytes=0-2"])).text).toBe("10:");
    expect((await third.get("/11", ["Cache-Control: only-if-cached"])).text).toBe(bodyOf(11));
  }, 60_000);

  test("by kill -9 in the midst of writing loses what was not written, and nothing is wrong", async () => {
    const path = newFolder();
    const first = await start(path);
    serveNumbers(first);
    const asking = askAll(first, upTo(3000)).catch(() => 0);
    await eventually(async () => {
      expect(await metric(first, "gateway_cache_disk_entries")).toBeGreaterThan(300);
    }, 20_000);
    const second = await crash(first, path);
    await asking;
    serveNumbers(second);
    expect(await askAll(second, upTo(1000))).toBeGreaterThan(250);
  }, 60_000);

  test("keeps variants, tags and softly purged entries; what was taken out does not come back, not even after kill -9", async () => {
    const path = newFolder();
    const first = await start(path);
    first.on("/v", (call) => {
      const encoding = call.request.fields.get("accept-encoding") ?? "none";
      call.reply("200 OK", ["Cache-Control: max-age=600", "Vary: Accept-Encoding"], `as ${encoding}`);
    });
    first.answers("/soft", "Cache-Control: max-age=600", 'ETag: "s"', "Cache-Tag: soft");
    first.answers("/gone", "Cache-Control: max-age=600", "Cache-Tag: hard");
    first.answers("/changed", "Cache-Control: max-age=600");
    await first.get("/v");
    await first.get("/v", ["Accept-Encoding: gzip"]);
    for (const one of ["/soft", "/gone", "/changed"]) await first.get(one);
    await untilOnDisk(first, 5);
    const second = await crash(first, path);
    expect((await second.get("/v", ["Accept-Encoding: gzip"])).text).toBe("as gzip");
    expect((await second.get("/v")).text).toBe("as none");
    second.answers("/changed");
    await second.send("POST /changed", [], "x");
    // On disk alone, and in memory as well. When a purge has its response, the files say so.
    await second.get("/gone");
    expect(await purge(second, { tag: "hard" })).toBe(1);
    expect(await purge(second, { tag: "soft", soft: true })).toBe(1);
    const third = await crash(second, path);
    third.on("/soft", (call) =>
      call.request.fields.get("if-none-match") === '"s"'
        ? call.send("HTTP/1.1 304 Not Modified\r\n\r\n")
        : call.reply("500 No condition", [], "x"),
    );
    third.answers("/gone", "Cache-Control: max-age=600");
    third.answers("/changed", "Cache-Control: max-age=600");
    expect((await third.get("/gone")).fields.get("x-cache")).toBe("MISS");
    expect((await third.get("/changed")).fields.get("x-cache")).toBe("MISS");
    const confirmed = await third.get("/soft");
    expect([confirmed.text, confirmed.fields.get("cache-status")]).toEqual([
      "answer 1",
      "edge; fwd=stale; fwd-status=304; stored",
    ]);
  }, 60_000);
});

describe("an entry on disk alone", () => {
  test("is purged by URL, prefix, tag and all, and counted once", async () => {
    const path = newFolder();
    const first = await start(path);
    serveNumbers(first, ["Cache-Tag: number"]);
    await askAll(first, upTo(40));
    await untilOnDisk(first, 40);
    const second = await restart(first, path);
    serveNumbers(second, ["Cache-Tag: number"]);
    await second.get("/5");
    expect(await purge(second, { url: "http://gw.test/5" })).toBe(1);
    expect(await purge(second, { url: "http://gw.test/6" })).toBe(1);
    expect(await purge(second, { url: "/7" })).toBe(1);
    expect(await purge(second, { prefix: "http://gw.test/1" })).toBe(11);
    for (const i of [5, 6, 7, 1, 13]) expect((await second.get(`/${i}`)).fields.get("x-cache")).toBe("MISS");
    expect(await askAll(second, [20, 21])).toBe(2);
    await untilOnDisk(second, 31);
    expect(await purge(second, { tag: "other" })).toBe(0);
    expect(await purge(second, { tag: "number", soft: true })).toBe(31);
    expect((await second.get("/30")).fields.get("cache-status")).toStartWith("edge; fwd=stale");
    expect(await purge(second, { tag: "number" })).toBe(31);
    expect((await second.get("/31")).fields.get("x-cache")).toBe("MISS");
    await untilOnDisk(second, 1);
    expect(await purge(second, { all: true })).toBe(1);
    expect(await metric(second, "gateway_cache_disk_entries")).toBe(0);
    expect(await metric(second, 'gateway_cache_purges_total{kind="tags"}')).toBe(3);
  }, 60_000);

  test("is read once for 200 who ask at the same time, by ranges too", async () => {
    const path = newFolder();
    const first = await start(path);
    serveNumbers(first, [], 900_000);
    await askAll(first, [1, 2], 900_000);
    await untilOnDisk(first, 2);
    const second = await restart(first, path);
    const clients = await Promise.all(upTo(200).map(() => second.gateway.connect()));
    const whole = bodyOf(1, 900_000);
    const replies = await Promise.all(
      clients.map((client, i) =>
        client.exchange(request("GET /1", i % 2 === 0 ? [] : [`Range: bytes=${i * 1000}-${i * 1000 + 99}`])),
      ),
    );
    for (const [i, reply] of replies.entries()) {
      expect(reply.text === (i % 2 === 0 ? whole : whole.slice(i * 1000, i * 1000 + 100))).toBe(true);
    }
    expect(second.origin.requests).toEqual([]);
    expect(await metric(second, 'gateway_cache_disk_reads_total{result="ok"}')).toBe(1);
    for (const client of clients) client.close();
  }, 60_000);

  test("goes to clients of HTTP/2 and HTTP/3, whole and in parts", async () => {
    const path = newFolder();
    const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
    const port = freePort();
    const host = `localhost:${port}`;
    const begin = async (origin: ScriptedOrigin) => {
      const gateway = await startGateway({
        config: {
          server: {
            cache: { enabled: true, disk: { path, max_bytes: "64MiB" } },
            tls: { port, cert_file: "a.pem", key_file: "a.key" },
            http3: { enabled: true },
          },
        },
        routes: [upstream("/", origin)],
        files: { "a.pem": certificate.cert, "a.key": certificate.key },
      });
      open.push({ stop: () => stopAll(gateway, origin) });
      return gateway;
    };
    const body = bodyOf(3, 700_000);
    const origin = ScriptedOrigin.start();
    origin.otherwise((call) => call.reply("200 OK", ["Cache-Control: max-age=600"], body));
    const first = await begin(origin);
    for (const one of ["/a", "/b", "/c", "/d"]) await first.once(request(`GET ${one}`, [`Host: ${host}`]));
    await open.pop()!.stop();
    const silent = ScriptedOrigin.start();
    await begin(silent);
    const h3 = await H3Client.connect(port);
    expect((await h3.ask("GET", "/a")).body.toString("latin1") === body).toBe(true);
    const part = await h3.ask("GET", "/b", { range: "bytes=300000-300009" });
    expect([part.status, part.body.toString()]).toEqual([206, body.slice(300_000, 300_010)]);
    h3.close();
    const h2 = await H2Client.connectTls(port);
    const get = (target: string, ...more: readonly (readonly [string, string])[]) => [
      ...head("GET", target).map(([name, value]) => [name, name === ":authority" ? host : value] as const),
      ...more,
    ];
    const whole = await h2.request(get("/c"));
    const text = Buffer.from(whole.body).toString("latin1");
    expect([whole.status, whole.fields.get("x-cache"), text === body]).toEqual([200, "HIT", true]);
    const tail = await h2.request(get("/d", ["range", "bytes=-10"]));
    expect([tail.status, tail.text]).toEqual([206, body.slice(-10)]);
    h2.close();
    expect(silent.requests).toEqual([]);
  }, 60_000);
});

describe("files that are not what was written", () => {
  const damage: readonly (readonly [string, (path: string) => void])[] = [
    ["bits flipped in every place", (path) => flip(join(path, "0000000001.seg"), 1500)],
    ["bits flipped in the index", (path) => flip(join(path, "0000000001.idx"), 300)],
    ["an entry file that is cut", (path) => cut(join(path, "0000000001.seg"))],
    ["an index of zeros", (path) => writeFileSync(join(path, "0000000001.idx"), Buffer.alloc(5000))],
    ["an index that is cut", (path) => cut(join(path, "0000000001.idx"))],
    ["an index that is gone", (path) => rmSync(join(path, "0000000001.idx"))],
    ["a folder of other files", (path) => writeFileSync(join(path, "0000000007.seg"), "nothing of the kind")],
  ];
  for (const [what, harm] of damage.slice(0, samples(damage.length, 4))) {
    test(`${what}: a miss, never a wrong response`, async () => {
      const path = newFolder();
      const first = await start(path);
      serveNumbers(first);
      await askAll(first, upTo(300));
      await untilOnDisk(first, 300);
      await first.stop();
      open.splice(0);
      harm(path);
      const second = await start(path);
      serveNumbers(second);
      const hits = await askAll(second, upTo(300));
      if (what.includes("index") || what.startsWith("a folder")) expect(hits).toBe(300);
      else expect(hits).toBeLessThan(300);
      // And all are there again.
      const third = await restart(second, path);
      serveNumbers(third);
      expect(await askAll(third, upTo(300))).toBe(300);
    }, 60_000);
  }
});

describe("the size", () => {
  test("is kept, and the disk has many times what memory has", async () => {
    const path = newFolder();
    const settings = [{ max_bytes: "2MiB", max_entries: 200 }, { max_bytes: "24MiB" }] as const;
    const cached = await start(path, ...settings);
    serveNumbers(cached, [], 20_000);
    let stored = 0;
    // In turns, so that what is asked for is not gone from the small memory before it is written.
    const askInTurns = async (numbers: readonly number[]): Promise<number> => {
      let hits = 0;
      for (let from = 0; from < numbers.length; from += 50) {
        const turn = numbers.slice(from, from + 50);
        const found = await askAll(cached, turn, 20_000);
        hits += found;
        stored += turn.length - found;
        await eventually(async () => expect(await settled()).toBe(stored), 20_000);
      }
      return hits;
    };
    const settled = async (): Promise<number> => {
      const names = ["entries", "missed_total", "evictions_total"];
      const counts = await Promise.all(names.map((name) => metric(cached, `gateway_cache_disk_${name}`)));
      return counts.reduce((sum, one) => sum + one, 0);
    };
    await askInTurns(upTo(1000));
    const onDisk = await metric(cached, "gateway_cache_disk_entries");
    expect(onDisk).toBeGreaterThan(950);
    expect(await metric(cached, "gateway_cache_entries")).toBeLessThan(150);
    expect(await askInTurns(upTo(1000))).toBeGreaterThanOrEqual(onDisk);
    // Twice as many as there is room for: what is asked for now and then stays.
    const often = upTo(200);
    for (let i = 1000; i < 2400; i += 50) {
      await askInTurns(upTo(50).map((k) => i + k));
      await askInTurns(often.slice((i / 50) % 4 === 0 ? 0 : 100));
    }
    await eventually(async () => expect(await metric(cached, "gateway_cache_disk_bytes")).toBeGreaterThan(20e6));
    expect(sizeOf(path)).toBeLessThanOrEqual(24 * 1024 * 1024);
    expect(await askInTurns(often)).toBeGreaterThan(190);
    expect(await metric(cached, "gateway_cache_disk_evictions_total")).toBeGreaterThan(500);
  }, 60_000);
});

describe("a folder that cannot be used", () => {
  test("while it is removed: the cache goes on in memory, with one line, and uses it again when it is back", async () => {
    const path = newFolder();
    const cached = await start(path);
    serveNumbers(cached);
    await askAll(cached, upTo(20));
    await untilOnDisk(cached, 20);
    rmSync(join(path, ".."), { recursive: true });
    writeFileSync(join(path, ".."), "in the way");
    await cached.gateway.logs.until("the failure", ({ event }) => event === "cache_disk_failed", 20_000);
    expect(await metric(cached, "gateway_cache_disk_up")).toBe(0);
    expect(await askAll(cached, upTo(20))).toBe(20);
    rmSync(join(path, ".."));
    mkdirSync(join(path, ".."));
    const isBack = ({ event, entries }: Record<string, unknown>) => event === "cache_disk_open" && entries === 0;
    await cached.gateway.logs.until("the folder", isBack, 30_000);
    expect(cached.gateway.logs.json.filter(({ event }) => event === "cache_disk_failed")).toHaveLength(1);
  }, 60_000);

  test("since another gateway has it: a line says so, and it serves from memory", async () => {
    const path = newFolder();
    const first = await start(path);
    const second = await start(path);
    const line = await second.gateway.logs.until("the failure", ({ event }) => event === "cache_disk_failed");
    expect(line.reason).toContain("another process uses this folder");
    expect(await metric(first, "gateway_cache_disk_up")).toBe(1);
    second.answers("/a");
    expect(await second.isStored("/a")).toBe(true);
  }, 60_000);
});

describe("a reload", () => {
  test("that changes the size of memory keeps what is on disk; one that changes `cookies` does not", async () => {
    const path = newFolder();
    const cached = await start(path);
    serveNumbers(cached);
    await askAll(cached, upTo(50));
    await untilOnDisk(cached, 50);
    const config = join(cached.gateway.folder, "config.yaml");
    const reload = async (from: string, to: string): Promise<void> => {
      const before = cached.gateway.logs.json.filter(({ event }) => event === "config_reload").length;
      writeFileSync(config, readFileSync(config, "utf8").replace(from, to));
      cached.gateway.signal("SIGHUP");
      await eventually(() =>
        expect(cached.gateway.logs.json.filter(({ event, ok }) => event === "config_reload" && ok)).toHaveLength(
          before + 1,
        ),
      );
    };
    await reload("max_entries: 5000", "max_entries: 4000");
    expect(await metric(cached, "gateway_cache_entries")).toBe(0);
    expect(await askAll(cached, upTo(50))).toBe(50);
    await askAll(cached, [100]);
    await untilOnDisk(cached, 51);
    await reload("max_entries: 4000", "cookies: bypass\n    max_entries: 4000");
    await eventually(async () => expect(await metric(cached, "gateway_cache_disk_entries")).toBe(0));
    expect(await askAll(cached, upTo(10))).toBe(0);
    await untilOnDisk(cached, 10);
  }, 60_000);
});

longTest(
  "a disk that is full is read, and written again when there is room",
  async () => {
    const root = mkdtempSync(join(tmpdir(), "edge-cache-disk-"));
    roots.push(root);
    if (Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", root]).exitCode !== 0) return;
    try {
      const cached = await start(join(root, "store"), { max_bytes: "32MiB" });
      serveNumbers(cached, [], 100_000);
      await askAll(cached, upTo(60), 100_000);
      const line = await cached.gateway.logs.until("the failure", ({ event }) => event === "cache_disk_failed", 20_000);
      expect(line.reason).toBe("ENOSPC");
      expect(await askAll(cached, upTo(60), 100_000)).toBe(60);
      expect(await metric(cached, "gateway_cache_disk_up")).toBe(0);
      expect(await metric(cached, "gateway_cache_disk_entries")).toBeGreaterThan(10);
      expect(Bun.spawnSync(["mount", "-o", "remount,size=64m", root]).exitCode).toBe(0);
      await eventually(async () => expect(await metric(cached, "gateway_cache_disk_up")).toBe(1), 20_000);
      await askAll(cached, [100], 100_000);
      const isOpen = ({ event }: Record<string, unknown>): boolean => event === "cache_disk_open";
      await eventually(() => expect(cached.gateway.logs.json.filter(isOpen)).toHaveLength(2));
      await open.pop()!.stop();
    } finally {
      Bun.spawnSync(["umount", "-l", root]);
    }
  },
  60_000,
);

test("a successor takes the folder, what is on disk alone with it", async () => {
  const path = newFolder();
  const first = await start(path);
  serveNumbers(first);
  await askAll(first, upTo(100));
  await untilOnDisk(first, 100);
  const cached = await restart(first, path);
  serveNumbers(cached);
  const old = cached.gateway.pid;
  process.kill(old, "SIGUSR2");
  const line = await cached.gateway.logs.until(
    "the successor",
    ({ event, pid }) => event === "listening" && pid !== old,
    30_000,
  );
  try {
    await untilGone(old, 30_000);
    expect(await askAll(cached, upTo(100))).toBe(100);
    expect(await metric(cached, 'gateway_cache_disk_reads_total{result="ok"}')).toBe(100);
    expect(await metric(cached, "gateway_cache_disk_up")).toBe(1);
    await askAll(cached, [500]);
    await untilOnDisk(cached, 101);
  } finally {
    process.kill(line.pid as number, "SIGKILL");
    cached.gateway.kill();
    await cached.origin.stop();
    open.splice(0);
  }
}, 60_000);

async function crash(old: CachedGateway, path: string): Promise<CachedGateway> {
  const { pid } = old.gateway;
  old.gateway.kill();
  await old.origin.stop();
  open.splice(open.indexOf(old), 1);
  await untilGone(pid, 20_000);
  return start(path);
}

async function purge(cached: CachedGateway, what: Settings): Promise<number> {
  const { text } = await cached.send("POST /internal/api/cache/purge", [], JSON.stringify(what));
  return JSON.parse(text).purged;
}

/** Takes a file out of the kernel's memory. */
function forget(file: string): void {
  Bun.spawnSync(["dd", `of=${file}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0"]);
}

function flip(file: string, every: number): void {
  const bytes = readFileSync(file);
  for (let at = 100; at < bytes.length; at += every) bytes[at]! ^= 1 << (at & 7);
  writeFileSync(file, bytes);
}

function cut(file: string): void {
  truncateSync(file, Math.floor(statSync(file).size * 0.6));
}

function sizeOf(path: string): number {
  return readdirSync(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
}

describe("a folder in the configuration", () => {
  const faults: readonly (readonly [string, string])[] = [
    ["{path: ./a/b/c}", 'path: expected a folder to write to, found "./a/b/c": no such folder, nor one above it'],
    ["{path: ./config.yaml}", 'path: expected a folder to write to, found "./config.yaml": it is a file'],
    ["{max_bytes: 1GiB}", "path: missing: expected a folder for stored responses"],
    ["{path: ./a, max_bytes: 10}", "max_bytes: expected a size from 1048576"],
  ];
  for (const [disk, fault] of faults) {
    test(`${disk} is a fault with its place`, async () => {
      const cwd = mkdtempSync(join(tmpdir(), "edge-cache-disk-"));
      roots.push(cwd);
      writeFileSync(join(cwd, "config.yaml"), `server:\n  cache:\n    enabled: true\n    disk: ${disk}\n`);
      writeFileSync(join(cwd, "routes.yaml"), "[]\n");
      const { code, stderr } = await runEdge(["check"], {}, cwd);
      expect(code).toBe(1);
      expect(stderr).toMatch(/config\.yaml:4:\d+: server\.cache\.disk\./);
      expect(stderr).toContain(fault);
    });
  }
});

test("edge explain says where responses go, and what of a request is in their key", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "edge-cache-disk-"));
  roots.push(cwd);
  writeFileSync(
    join(cwd, "config.yaml"),
    "server:\n  cache: {enabled: true, cookies: bypass, disk: {path: ./store}}\n",
  );
  const key = 'query: {drop: ["utm_*"], sort: true}, headers: [X-Country], cookies: [language]';
  const route = `{type: upstream, prefix: /, target: "http://127.0.0.1:1", cache: {key: {${key}}}}`;
  writeFileSync(join(cwd, "routes.yaml"), `- ${route}\n`);
  const asked = ["explain", "GET http://a.test/x?utm_a=1&c=2&b=1", "-H", "Cookie: language=de"];
  const { stdout } = await runEdge(asked, {}, cwd);
  expect(stdout).toContain("query that counts: b=1&c=2; dropped: utm_a");
  expect(stdout).toContain("X-Country: (not there)");
  expect(stdout).toContain("cookie language: de");
  expect(stdout).toContain(`in memory and in ${join(cwd, "store")}`);
  const json = JSON.parse((await runEdge([...asked, "--json"], {}, cwd)).stdout);
  expect(json.cache.keyed).toEqual({
    place: [],
    query: "b=1&c=2",
    dropped: ["utm_a"],
    accept_encoding: [],
    headers: [["X-Country", null]],
    cookies: [["language", "de"]],
  });
});
