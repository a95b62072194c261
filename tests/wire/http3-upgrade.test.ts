// The UDP port of HTTP/3 goes from one process to the next: clients whose requests were under way are told, connections that are
// made meanwhile are answered. docs/operations.md#replacing-the-binary
import { afterAll, beforeAll, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { H3Client } from "../harness/h3-client.ts";

/** What an upgrade may cost a client of HTTP/3 at most. */
const GAP_MS = 2000;
const EACH_MS = 50;
const CLIENTS = 4;
const UPGRADES = 2;
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const origin = EchoOrigin.start();
const asked: (() => void)[] = [];
origin.on("/never", () => asked.shift()?.());
/** Targets of lanes that have come to the origin: each request has one of its own. */
const came = new Set<string>();
origin.on("/lane", (call) => {
  came.add(call.request.target);
  call.reply("200 OK", [], "lane");
});
let sent = 0;
let gateway: Gateway;
const pids: number[] = [];

beforeAll(async () => {
  gateway = await startGateway({
    config: {
      server: {
        workers: 2,
        tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
        http3: { enabled: true },
        access_log: { enabled: false },
      },
    },
    routes: [upstream("/node", origin)],
    files: { "a.pem": certificate.cert, "a.key": certificate.key },
  });
  pids.push(gateway.pid);
});

afterAll(() => {
  process.kill(pids.at(-1)!, "SIGTERM");
  gateway.kill();
  origin.stop();
});

async function upgrade(): Promise<void> {
  process.kill(pids.at(-1)!, "SIGUSR2");
  const isNew = (pid: unknown): boolean => !pids.includes(pid as number);
  const line = await gateway.log("the successor", ({ event, pid }) => event === "listening" && isNew(pid));
  pids.push(line.pid as number);
}

/** A request that is never answered, on a connection of its own. @returns when it has come to the origin */
async function unanswered(): Promise<{ client: H3Client; answer: Promise<unknown> }> {
  const hasCome = new Promise<void>((resolve) => asked.push(resolve));
  const client = await H3Client.connect(tlsPort);
  const answer = client.ask("GET", "/node/never").then(
    ({ status }) => status || "cut",
    () => "cut",
  );
  await hasCome;
  return { client, answer };
}

/** Connects and asks, again at once where the connection is refused or cut. @returns how long it took, in milliseconds */
async function untilAnswered(): Promise<number> {
  const startMs = performance.now();
  for (;;) {
    const client = await H3Client.connect(tlsPort).catch(() => null);
    const reply = await client?.ask("GET", "/node/canary").catch(() => null);
    client?.close();
    if (reply?.status === 200) return performance.now() - startMs;
    await Bun.sleep(10);
  }
}

/** What became of the requests of clients that ask all the time. */
interface Asked {
  answered: number;
  /** Ended without an answer, and not looked at: a client may send them again, whatever they are. RFC 9114 §5.2. */
  rejected: number;
  /** By what ended them, though the origin had got them. */
  readonly lost: string[];
}

/** One connection at a time, with as many lanes, each with one request at a time. A lane sends nothing where GOAWAY has come. */
async function askAll(asked: Asked, lanes: number, isOver: () => boolean): Promise<void> {
  let connected: Promise<H3Client | null> = H3Client.connect(tlsPort);
  const usable = async (): Promise<H3Client> => {
    for (;;) {
      const used = connected;
      const client = await used;
      if (client?.takesRequests === true) return client;
      // The first lane that finds it connects for all.
      if (used === connected) connected = H3Client.connect(tlsPort).catch(() => Bun.sleep(10).then(() => null));
    }
  };
  const lane = async (): Promise<void> => {
    while (!isOver()) {
      const client = await usable();
      if (!client.takesRequests) continue;
      const target = `/lane?${sent++}`;
      const { status } = await client
        .ask("GET", `/node${target}`)
        .catch((error: unknown) => ({ status: String(error) }));
      if (status === 200) asked.answered++;
      // A stream that is reset is an error. One whose connection is closed ends without a status. The origin knows what that cost.
      else if (typeof status === "number" && !Number.isNaN(status)) asked.lost.push(`status ${status}`);
      else if (came.has(target)) asked.lost.push(`${status}, after the origin had it`);
      else asked.rejected++;
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  (await connected)?.close();
}

test.each([[1], [4]])(
  "clients with %d requests at a time lose none by upgrades",
  async (lanes) => {
    const asked: Asked = { answered: 0, rejected: 0, lost: [] };
    let isOver = false;
    const clients = Array.from({ length: CLIENTS }, () => askAll(asked, lanes, () => isOver));
    for (let upgrades = 0; upgrades < UPGRADES; upgrades++) {
      await Bun.sleep(300);
      await upgrade();
      // The port is released within the next second and a half.
      await Bun.sleep(2500);
    }
    isOver = true;
    await Promise.all(clients);
    expect(asked.lost).toEqual([]);
    // At most what was on its way when the connections were ended.
    expect(asked.rejected).toBeLessThanOrEqual(CLIENTS * lanes * UPGRADES);
    expect(asked.answered).toBeGreaterThan(CLIENTS * lanes * 10);
  },
  60_000,
);

test("a request that is cut by an upgrade is told of at once, not when the client's patience ends", async () => {
  const { client, answer } = await unanswered();
  await upgrade();
  const startMs = performance.now();
  expect(await answer).toBe("cut");
  // One second is what a request under way is given; the client's own time is ten.
  expect(performance.now() - startMs).toBeLessThan(5000);
  expect(await untilAnswered()).toBeLessThan(GAP_MS);
  client.close();
}, 30_000);

test.each([
  ["with a request under way", true],
  ["with none", false],
])(
  "connections that are made across an upgrade are answered: %s",
  async (_name, hasRequest) => {
    const held = hasRequest ? await unanswered() : null;
    const answered: Promise<number>[] = [];
    const client = setInterval(() => answered.push(untilAnswered()), EACH_MS);
    try {
      await upgrade();
      // The port is released within the next second and a half.
      await Bun.sleep(2500);
    } finally {
      clearInterval(client);
    }
    const tookMs = await Promise.all(answered);
    expect(tookMs.length).toBeGreaterThan(20);
    expect(Math.max(...tookMs)).toBeLessThan(GAP_MS);
    held?.client.close();
  },
  { timeout: 40_000, retry: 1 },
);
