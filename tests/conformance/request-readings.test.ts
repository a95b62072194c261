import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { NaiveGateway } from "../fuzz/naive-gateway.ts";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { IS_LONG } from "../harness/long-lane.ts";
import { RawClient } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { makeGroup, PLACEHOLDER } from "./attack-group.ts";
import { type Reading, type RequestReader, requestReaders } from "./request-readers.ts";

// The bytes that the gateway forwards are read again by parsers of three other projects: whatever was asked of the gateway, none of
// them reads other requests out of them than the others. REQUEST_SEED and REQUEST_COUNT have other groups.
const first = Number(process.env.REQUEST_SEED ?? 1);
const count = Number(process.env.REQUEST_COUNT ?? 1_000_000);
/** A slow machine does fewer, and the line at the end says so. */
const MAX_MS = 2_400_000;
const BATCH = 5000;
const LANES = 8;
const LIMIT_MS = MAX_MS + 600_000;

/** Notes what goes to an origin, connection by connection. */
class Tap {
  private connections: Buffer[][] = [];
  private readonly server: Server;

  constructor(origin: number) {
    this.server = createServer((near) => this.join(near, connect(origin, "127.0.0.1")));
    this.server.listen(0, "127.0.0.1");
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** What was sent since the last time; connections that go on begin anew. */
  take(): Buffer[] {
    const taken = this.connections.map((parts) => Buffer.concat(parts)).filter(({ length }) => length > 0);
    for (const parts of this.connections) parts.length = 0;
    return taken;
  }

  stop(): void {
    this.server.close();
  }

  private join(near: Socket, far: Socket): void {
    const parts: Buffer[] = [];
    this.connections.push(parts);
    near.on("data", (bytes: Buffer) => {
      parts.push(bytes);
      far.write(bytes);
    });
    far.on("data", (bytes: Buffer) => near.write(bytes));
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on("end", () => other.end());
      one.on("error", () => other.destroy());
      one.on("close", () => other.destroy());
    }
  }
}

async function send(port: number, seed: number): Promise<void> {
  const client = await RawClient.connect(port);
  try {
    client.send(Buffer.from(makeGroup(new SeededRandom(seed)), "latin1"));
    client.finish();
    await client.ended();
  } catch {
    // What comes back is the matter of other tests.
  } finally {
    client.close();
  }
}

/** Sends groups and reads again what was forwarded. @returns how many requests were read, and each difference */
async function play(port: number, tap: Tap, readers: readonly RequestReader[], groups: number) {
  const folder = mkdtempSync(join(tmpdir(), "edge-readings-"));
  const tally = { groups: 0, messages: 0, refused: 0, differences: [] as string[] };
  try {
    const deadline = performance.now() + MAX_MS;
    for (let from = 0; from < groups && tally.differences.length === 0 && performance.now() < deadline; from += BATCH) {
      const size = Math.min(BATCH, groups - from);
      tally.groups += size;
      let next = 0;
      const lane = async (): Promise<void> => {
        while (next < size) await send(port, first + from + next++);
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      const connections = tap.take();
      const file = join(folder, "connections");
      writeFileSync(file, Buffer.concat(connections.flatMap((bytes) => [lengthOf(bytes), bytes])));
      const readings = await Promise.all(readers.map((reader) => reader.read(file)));
      for (const [i, bytes] of connections.entries()) {
        const row = readings.map((all) => all[i]!);
        tally.messages += Math.max(...row.map(({ messages }) => messages.length));
        if (row.some(({ isRefused }) => isRefused)) tally.refused++;
        const difference = differenceOf(row);
        if (difference !== "")
          tally.differences.push(`${difference}\n  ${JSON.stringify(bytes.toString("latin1").slice(0, 3000))}`);
      }
    }
    return tally;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A reader may refuse by a rule of its own; what it took until then is what the others took. */
function differenceOf(row: readonly Reading[]): string {
  const most = row.reduce((best, one) => (one.messages.length > best.messages.length ? one : best));
  for (const one of row) {
    if (!one.isRefused && one.messages.length !== most.messages.length)
      return `${row.map(({ messages }) => messages.length).join(", ")} requests`;
    for (const [i, message] of one.messages.entries())
      if (JSON.stringify(message) !== JSON.stringify(most.messages[i]))
        return `request ${i}: ${JSON.stringify(message)}\n  ${JSON.stringify(most.messages[i])}`;
  }
  return "";
}

function lengthOf(bytes: Buffer): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt32BE(bytes.length);
  return head;
}

test.skipIf(!IS_LONG && process.env.REQUEST_COUNT === undefined)(
  `${count} groups of requests: three parsers read the same in what is forwarded`,
  async () => {
    const { readers, absent } = await requestReaders();
    for (const line of absent) console.log(`skipped: readings of requests ${line}`);
    if (readers.length < 2) return;
    const origin = EchoOrigin.start();
    origin.otherwise((call) => call.reply("200 OK", [], "ok"));
    const tap = new Tap(origin.port);
    const gateway = await startGateway({
      config: { server: { access_log: { enabled: false } } },
      routes: [upstream(PLACEHOLDER, { url: `http://127.0.0.1:${tap.port}` })],
    });
    const tally = await play(gateway.port, tap, readers, count);
    await gateway.stop();
    const naive = new NaiveGateway(tap.port);
    const found = await play(naive.port, tap, readers, 2000);
    naive.stop();
    tap.stop();
    origin.stop();
    console.log(
      `readings of requests: ${tally.messages} requests of ${tally.groups} groups, ${tally.refused} connections refused by a rule of one alone, by ${readers.map(({ name }) => name).join(", ")}`,
    );
    expect(tally.differences.slice(0, 3)).toEqual([]);
    expect(tally.messages).toBeGreaterThan(tally.groups / 10);
    expect(found.differences.length).toBeGreaterThan(0);
  },
  LIMIT_MS,
);
