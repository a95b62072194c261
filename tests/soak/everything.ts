// Everything at once: `bun tests/soak/everything.ts [seconds] [seed]`, 600 seconds unless told otherwise. A gateway of two
// workers is reloaded every five seconds, replaced by another build three times, loses a worker by a crash and one by a
// standstill, and finds its disk full; its origins are killed, stopped and restarted, and a name moves from one address to
// another whose owner dies. Meanwhile clients of HTTP/1.1 (kept, new, TLS), HTTP/2 and HTTP/3 ask for proxied answers, stored ones
// and files, hold WebSockets, stream messages and upload slowly.
//
// Broken is: an idempotent request in ten thousand without its answer; a request with side effects that ran twice; a body that no
// client sent; an answer, or a byte of one, that belongs to another request; anything lost on origins that are not troubled. A client
// sends an idempotent request once more, as all do, when the gateway closes a kept connection in order before any byte of the
// answer, or says that it did not process it: those are counted as `repeated`. What a worker that dies or stands still had in hand is
// lost with it (docs/operations.md#workers), and what a name leads to within a second of its move (docs/operations.md#names): such losses
// are counted apart, and those with a worker are no more than its connections.
import { makeCertificate } from "../harness/certificate.ts";
import { freePort, type Gateway, startGateway } from "../harness/gateway.ts";
import { NameServer } from "../harness/name-server.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { SmallDisk } from "../harness/small-disk.ts";
import { ChaosOrigin, type Mischief, makeTrouble } from "./chaos-origins.ts";
import { askOverH2, askOverH3, file, type Gap, H1Asker, type Run, stored, troubled } from "./everything-clients.ts";
import { patternOf } from "./everything-pattern.ts";
import { keepSockets, keepStreaming, keepUploading } from "./everything-streams.ts";
import { type Loss, Tally } from "./everything-tally.ts";
import { Builds, Trouble, type Window } from "./everything-trouble.ts";

const DISK_BYTES = 96 * 1024 * 1024;
const WANTED_RATIO = 0.9999;
/** What an upgrade may cost a client of HTTP/3 at most. docs/operations.md#replacing-the-binary */
const H3_GAP_MS = 2000;
/** The client of HTTP/3 whose origin is never troubled: when it gets no response, that is the gateway's. */
const STEADY_H3 = "h3-steady";
const MOVING_NAME = "moving.test";
const FILES = new Map([
  ["page.txt", patternOf("page", 5000)],
  ["large.txt", patternOf("large", 300_000)],
  ["small.txt", patternOf("small", 10)],
]);
/** Connections of all clients that are kept: what a worker that dies may cost at most, for each death. */
const CONNECTIONS = 40;

/** What the origins have told. */
class OriginRecord {
  private readonly runs: Map<string, number> = new Map();
  readonly bad: string[] = [];

  readonly take = (line: string): void => {
    const [what, id] = line.split(" ");
    if (what === "ran") this.runs.set(id!, (this.runs.get(id!) ?? 0) + 1);
    else this.bad.push(line);
  };

  get twice(): readonly string[] {
    return [...this.runs].filter(([, count]) => count > 1).map(([id]) => id);
  }

  /** Requests that ran and that no client has sent. */
  unknown(sent: ReadonlySet<string>): readonly string[] {
    return [...this.runs.keys()].filter((id) => !sent.has(id));
  }

  get count(): number {
    return this.runs.size;
  }
}

/** Everything at once, for a while. @returns the report, and what is broken */
export async function everythingAtOnce(
  durationMs: number,
  seed: number,
): Promise<{ report: Record<string, unknown>; broken: readonly string[] }> {
  const random = new SeededRandom(seed);
  const record = new OriginRecord();
  const script = "everything-origin.ts";
  const h2Port = freePort();
  const origins = ["a", "b", "c"].map(
    (name) => new ChaosOrigin(name, record.take, { script, args: ["127.0.0.1", name] }),
  );
  const steady = new ChaosOrigin("steady", record.take, { script, args: ["127.0.0.1", "steady", String(h2Port)] });
  await Promise.all([...origins, steady].map((origin) => origin.untilUp()));
  const names = await NameServer.start();
  const movingPort = freePort();
  names.zones.set(MOVING_NAME, { addresses: ["127.0.0.2"], ttl: 1 });
  const [builds, disk, tally] = [new Builds(), new SmallDisk(DISK_BYTES), new Tally()];
  const tlsPort = freePort();
  const gateway = await start(builds.path, disk.folder, tlsPort, names.address, [
    ...origins.map(({ url }) => url),
    steady.url,
    `h2c://127.0.0.1:${h2Port}`,
    `http://${MOVING_NAME}:${movingPort}`,
  ]);
  const startedMs = performance.now();
  const isOver = (): boolean => performance.now() - startedMs >= durationMs;
  const run: Run = { port: gateway.port, tlsPort, tally, random, files: FILES, isOver };
  const trouble = new Trouble(gateway, builds, disk, durationMs);
  const mischiefs = new Map<Mischief, number>();
  const startAt = (address: string): ChaosOrigin =>
    new ChaosOrigin(address, record.take, { script, port: movingPort, hostname: address, args: [address, address] });
  const [gaps] = await Promise.all([
    askOverH3(run, STEADY_H3, () => troubled(run, STEADY_H3, "/steady")),
    askOverH3(run, "h3", () => troubled(run, "h3")),
    ...clientsOf(run),
    makeTrouble(origins, random, isOver, (one) => void mischiefs.set(one, (mischiefs.get(one) ?? 0) + 1)),
    trouble.keepReloading(isOver),
    trouble.keepMoving(names, MOVING_NAME, startAt, isOver),
    trouble.run(),
  ]);
  await trouble.end();
  for (const origin of [...origins, steady]) origin.end();
  names.stop();
  const result = judge({ gateway, tally, record, trouble, gaps, seed, isSmallDisk: disk.isSmall });
  Object.assign(result.report, { mischiefs: Object.fromEntries(mischiefs) });
  gateway.kill();
  disk.remove();
  builds.remove();
  return result;
}

function clientsOf(run: Run): Promise<unknown>[] {
  const many = (count: number, ask: () => Promise<unknown>): Promise<unknown>[] => Array.from({ length: count }, ask);
  const h1 = (kind: string, keeps: boolean, next: () => ReturnType<typeof stored>, isSecure = false) =>
    new H1Asker(run, keeps, isSecure).keepAsking(kind, next);
  return [
    ...many(6, () => h1("kept", true, () => troubled(run, "kept"))),
    ...many(3, () => h1("new", false, () => troubled(run, "new"))),
    ...many(2, () => h1("tls", true, () => troubled(run, "tls"), true)),
    ...many(2, () => h1("stored", true, () => stored(run))),
    ...many(2, () => h1("file", true, () => file(run))),
    ...many(2, () => h1("moving", true, () => troubled(run, "moving", "/moving"))),
    ...many(2, () => askOverH2(run, 4, () => troubled(run, "h2"))),
    ...many(2, () => keepSockets(run)),
    ...many(2, () => keepStreaming(run)),
    ...many(3, () => keepUploading(run)),
  ];
}

async function start(
  binary: string,
  spoolFolder: string,
  tlsPort: number,
  nameserver: string,
  urls: readonly string[],
): Promise<Gateway> {
  const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
  const [a, b, c, steady, h2, moving] = urls.map((url) => ({ url }));
  const patient = { connect: "500ms", response_header: "1s", total: "5s" };
  const files = Object.fromEntries([...FILES].map(([path, bytes]) => [`site/${path}`, bytes.toString("latin1")]));
  return startGateway({
    binary,
    env: { TMPDIR: spoolFolder },
    config: {
      server: {
        workers: 2,
        shutdown_timeout: "15s",
        access_log: { enabled: false },
        cache: { enabled: true },
        tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
        http3: { enabled: true },
      },
      proxy: { transport: { nameservers: [nameserver] } },
    },
    routes: [
      {
        type: "upstream",
        prefix: "/n",
        targets: [a, b, c],
        health_check: { path: "/health", interval: "250ms", timeout: "500ms", unhealthy_threshold: 2 },
        circuit_breaker: { failure_threshold: 5, open_duration: "1s" },
        retries: { attempts: 2 },
        timeouts: patient,
      },
      {
        type: "upstream",
        prefix: "/moving",
        target: moving!.url,

        retries: { attempts: 2 },
        timeouts: patient,
      },
      { type: "upstream", prefix: "/cached", target: steady!.url },
      { type: "upstream", prefix: "/up", target: steady!.url },
      { type: "upstream", prefix: "/steady", target: steady!.url },
      { type: "upstream", prefix: "/ws", target: steady!.url },
      { type: "upstream", prefix: "/grpc", target: h2!.url },
      { type: "static", prefix: "/static", dir: "site" },
    ],
    files: { "a.pem": certificate.cert, "a.key": certificate.key, ...files },
  });
}

interface Facts {
  readonly gateway: Gateway;
  readonly tally: Tally;
  readonly record: OriginRecord;
  readonly trouble: Trouble;
  /** When HTTP/3 did not answer, with an origin that always does. */
  readonly gaps: readonly Gap[];
  readonly seed: number;
  readonly isSmallDisk: boolean;
}

/** Why a loss was to be expected, or "". */
function excuseOf({ kind, reason, fromMs, toMs }: Loss, { windows }: Trouble): "" | Window["what"] {
  const isIn = (what: string): boolean =>
    windows.some((window) => window.what === what && fromMs <= window.toMs && toMs >= window.fromMs);
  const isCut = !/^(5|4|foreign|no answer)/.test(reason);
  if (isCut && isIn("worker")) return "worker";
  if (kind === "moving" && reason.startsWith("502") && isIn("name")) return "name";
  // Without room in files the slowest body is ended (408), and what finds none at all is refused (503).
  return kind === "upload" && /^(503|408)/.test(reason) && isIn("disk") ? "disk" : "";
}

function judge({ gateway, tally, record, trouble, gaps, seed, isSmallDisk }: Facts) {
  const events = (name: string) => gateway.logs.json.filter((line) => line.event === name);
  const kinds = [...tally.kinds].map(([kind, counts]) => [
    kind,
    { ...counts, slowestMs: Math.round(counts.slowestMs) },
  ]);
  const idempotentLosses = tally.losses.filter(({ isIdempotent }) => isIdempotent);
  const unexplained = tally.losses.filter((loss) => excuseOf(loss, trouble) === "");
  const lost = unexplained.filter(({ isIdempotent }) => isIdempotent).length;
  const total = tally.idempotent;
  const ratio = 1 - lost / total;
  const deaths = events("worker_died").length;
  const withWorkers = tally.losses.filter((loss) => excuseOf(loss, trouble) === "worker").length;
  const steadyLosses = unexplained.filter(({ kind }) =>
    ["websocket", "grpc", "upload", "stored", "file"].includes(kind),
  );
  const longGaps = gapsOf(gaps, trouble);
  const reloads = events("config_reload");
  const broken = [
    ...trouble.wrong,
    ...(ratio < WANTED_RATIO && lost > 1 ? [`idempotent requests: ${ratio}`] : []),
    ...record.twice.map((id) => `${id} ran twice`),
    ...record.unknown(tally.posts).map((id) => `${id} was sent by no client`),
    ...record.bad.map((line) => `a body that no client sent: ${line}`),
    ...tally.foreign.map((what) => `foreign: ${what}`),
    ...steadyLosses.map(({ kind, reason }) => `${kind} to an origin that is not troubled: ${reason}`),
    ...(withWorkers > deaths * CONNECTIONS ? [`${withWorkers} requests lost with ${deaths} workers`] : []),
    ...(trouble.pids.length === 4 ? [] : [`${trouble.pids.length - 1} upgrades`]),
    ...longGaps.filter((ms) => ms > H3_GAP_MS).map((ms) => `HTTP/3 did not answer for ${ms} ms`),
    ...events("exception").map((line) => `exception: ${String(line.error)}`),
    ...reloads.filter(({ ok }) => ok !== true).map((line) => `reload: ${JSON.stringify(line)}`),
  ];
  const report = {
    seed,
    kinds: Object.fromEntries(kinds),
    idempotent: { requests: total, unanswered: idempotentLosses.length, unexplained: lost, ratio },
    losses: countBy(tally.losses, nameOf(trouble)),
    repeats: Object.fromEntries(tally.repeats),
    posts: { sent: tally.posts.size, ran: record.count, twice: record.twice.length },
    bodies: { compared: tally.bodies, foreign: tally.foreign.length, unknown_to_clients: record.bad.length },
    upgrades: trouble.pids.length - 1,
    reloads: reloads.length,
    deaths,
    stalls: events("worker_stalled").length,
    moves: trouble.moves,
    h3_gaps_ms: { with_workers: gapsOf(gaps, trouble, true), others: longGaps },
    drain_cuts: events("drain_cut").length,
    disk: isSmallDisk ? "was full" : "could not be made small: no right to mount",
  };
  return { report, broken };
}

function nameOf(trouble: Trouble): (loss: Loss) => string {
  return (loss) => {
    const { kind, reason, isIdempotent } = loss;
    return `${kind}${isIdempotent ? "" : ", not idempotent"}: ${reason} (${excuseOf(loss, trouble) || "unexplained"})`;
  };
}

/** How long HTTP/3 did not answer, those times apart in which a worker was away: the first one alone has the port. */
function gapsOf(gaps: readonly Gap[], { windows }: Trouble, isWithWorkers = false): number[] {
  const isAway = ({ fromMs, toMs }: Gap): boolean =>
    windows.some((window) => window.what === "worker" && fromMs <= window.toMs && toMs >= window.fromMs);
  return gaps.filter((gap) => isAway(gap) === isWithWorkers).map(({ fromMs, toMs }) => Math.round(toMs - fromMs));
}

function countBy<T>(items: readonly T[], nameOf: (item: T) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const item of items) counts[nameOf(item)] = (counts[nameOf(item)] ?? 0) + 1;
  return counts;
}

if (import.meta.main) {
  const seed = Number(process.argv[3] ?? Date.now() % 1_000_000);
  const { report, broken } = await everythingAtOnce(Number(process.argv[2] ?? 600) * 1000, seed);
  console.log(JSON.stringify(report, null, 2));
  for (const line of broken.slice(0, 40)) console.log(`broken: ${line}`);
  process.exit(broken.length === 0 ? 0 : 1);
}
