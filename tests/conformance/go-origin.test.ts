import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sha256 } from "../harness/echo-origin.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { Code, H2Client, head } from "../harness/h2-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";

// Go's net/http as an origin of HTTP/2 that allows three streams, says goodbye, answers early and aborts.

const BUILD_MS = 120_000;
const binary = await build();

/** Builds the origin; null where that cannot be done, which is said in one line. */
async function build(): Promise<string | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined) {
    console.log("skipped: an origin on Go's net/http needs go (Debian: apt install golang)");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "edge-go-origin-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "origin");
  const child = Bun.spawn([go, "build", "-o", path, "."], {
    cwd: join(import.meta.dir, "go-origin"),
    env: { ...process.env, GOTOOLCHAIN: "local" },
    stdout: "ignore",
    stderr: "ignore",
    timeout: BUILD_MS,
  });
  if ((await child.exited) === 0) return path;
  console.log("skipped: this Go does not build the origin (1.24 or later does)");
  return null;
}

describe.skipIf(binary === null)("an origin on Go's net/http", () => {
  let child: Bun.Subprocess<"ignore", "pipe", "ignore">;
  let gateway: Gateway;

  beforeAll(async () => {
    child = Bun.spawn([binary!, "3"], { stdin: "ignore", stdout: "pipe", stderr: "ignore" });
    const reader = child.stdout.getReader();
    const port = new TextDecoder().decode((await reader.read()).value).trim();
    reader.releaseLock();
    gateway = await startGateway({ routes: [upstream("/", { url: `h2c://127.0.0.1:${port}` })] });
  });
  afterAll(async () => {
    child.kill("SIGKILL");
    await gateway.stop();
  });

  test("answers every complete request, however many come at once", async () => {
    const statuses = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const reply = await gateway.once(request("POST /slow/x", [], `body ${i}`));
        return reply.text === sha256(Buffer.from(`body ${i}`)) ? reply.status : -1;
      }),
    );
    expect(statuses).toEqual(Array.from({ length: 60 }, () => 200));
  });

  test("accepts no body that no client sent, and no client waits for ever", async () => {
    const random = new SeededRandom(7);
    const sent = new Set<string>();
    const wrong: string[] = [];
    const ask = async (id: number): Promise<void> => {
      const kind = random.pick(["echo", "slow", "bye", "bye", "early", "abort"]);
      const body = Buffer.concat([Buffer.from(`${id}:`), random.bytes(random.pick([10, 5000, 60_000]))]);
      const hash = sha256(body);
      sent.add(hash);
      const client = await H2Client.connect(gateway.port);
      const stream = client.headers(head("POST", `/${kind}/${id}`), false);
      for (let at = 0; at < body.length; at += 8000) {
        client.data(stream, body.subarray(at, at + 8000), at + 8000 >= body.length);
        if (random.chance(0.3)) await Bun.sleep(1);
      }
      const { status, text } = await client.reply(stream, 20_000);
      const isGood = status >= 502 || (status === 200 && text === (kind === "early" ? "early" : hash));
      // Behind an answer that has begun an abort is a reset.
      if (!isGood && kind !== "abort") wrong.push(`${kind} ${id}: ${status} ${text}`);
      client.close();
    };
    for (let round = 0; round < 20; round++) {
      await Promise.all(Array.from({ length: 20 }, (_, i) => ask(round * 20 + i)));
    }
    expect(wrong).toEqual([]);
    for (let i = 0; i < 60; i++) sent.add(sha256(Buffer.from(`body ${i}`)));
    const seen = json<string[]>(await gateway.once(request("GET /seen")));
    expect(seen.filter((hash) => !sent.has(hash))).toEqual([]);
    expect(seen.length).toBeGreaterThan(200);
  }, 60_000);

  test("streams in both directions, ten at a time where three are allowed on a connection", async () => {
    const client = await H2Client.connect(gateway.port);
    const ids = Array.from({ length: 10 }, () => client.headers(head("POST", "/chat/x"), false));
    for (const part of ["one", "two", "three"]) {
      for (const id of ids) client.data(id, part);
      for (const id of ids) await client.until("an echo", () => client.seen(id).text.endsWith(part) || undefined);
    }
    for (const id of ids) client.data(id, "", true);
    for (const id of ids) {
      const reply = await client.reply(id);
      expect([reply.status, reply.text, reply.isEnded]).toEqual([200, "onetwothree", true]);
    }
    client.close();
  });

  test("is not made angry by a client that cancels", async () => {
    let isOver = false;
    const steady = (async () => {
      const statuses: number[] = [];
      while (!isOver) statuses.push((await gateway.once(request("POST /echo/x", [], "steady"))).status);
      return statuses;
    })();
    for (let round = 0; round < 20; round++) {
      const client = await H2Client.connect(gateway.port);
      const ids = Array.from({ length: 90 }, () => client.headers(head("GET", "/slow/x")));
      await Bun.sleep(5);
      for (const id of ids) client.frame(3, 0, id, Buffer.from([0, 0, 0, Code.cancel]));
      await Bun.sleep(5);
      client.close();
    }
    isOver = true;
    const statuses = await steady;
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
  });
});
