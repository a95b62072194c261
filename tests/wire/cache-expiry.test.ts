// The memory of an answer that is too old is free again, whatever becomes of the request that found it.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { eventually } from "../harness/eventually.ts";
import { request } from "../harness/raw-client.ts";
import type { OriginCall } from "../harness/scripted-origin.ts";

const cached = await CachedGateway.start({ default_ttl: "20ms" });
afterAll(() => cached.stop());

/** Answers in turn: the first is stored, what comes behind it meets an entry that is too old. */
const TURNS: readonly (readonly [string, (call: OriginCall, turn: number) => void])[] = [
  ["fetched anew", (call, turn) => call.reply("200 OK", [], `answer ${turn}`)],
  [
    "found unchanged",
    (call, turn) =>
      turn === 0 ? call.reply("200 OK", ['ETag: "a"'], "same") : call.reply("304 Not Modified", ['ETag: "a"']),
  ],
  ["not to be stored any more", (call, turn) => call.reply("200 OK", turn % 2 ? ["Cache-Control: no-store"] : [], "x")],
  ["gone", (call, turn) => (turn % 2 ? call.reply("410 Gone", [], "x") : call.reply("200 OK", [], "x"))],
  [
    "malformed",
    (call, turn) =>
      turn % 2 ? call.reply("200 OK", ["Transfer-Encoding: chunked"], "x") : call.reply("200 OK", [], "x"),
  ],
  [
    "failing, with stale-if-error",
    (call, turn) =>
      turn % 2
        ? call.reply("503 Service Unavailable", [], "no")
        : call.reply("200 OK", ["Cache-Control: max-age=1, stale-if-error=60"], "x"),
  ],
  [
    "fetched in the background",
    (call, turn) => call.reply("200 OK", ["Cache-Control: max-age=1, stale-while-revalidate=60"], `${turn}`),
  ],
];

describe("an answer that is too old leaves no memory behind when it is", () => {
  test.each(TURNS.slice(0, 5))("%s", async (name, answer) => {
    await asked(name, answer, 12);
  });

  test.each(TURNS.slice(5))("%s", async (name, answer) => {
    await asked(name, answer, 3);
  });
});

test.each([
  ["for with a condition", "GET", ['If-None-Match: "b"']],
  ["for with the condition that it meets", "GET", ['If-None-Match: "a"']],
  ["for a part", "GET", ["Range: bytes=1-2"]],
  ["for its head", "HEAD", []],
])("nor when it is asked %s", async (name, method, lines) => {
  const path = `/${name.replace(/[^a-z]/g, "-")}`;
  const plain = `${method} ${path}`;
  let turn = 0;
  cached.on(path, (call) => {
    turn++;
    if (method === "GET") call.reply("200 OK", ['ETag: "a"'], "answer");
    else call.send('HTTP/1.1 200 OK\r\nETag: "a"\r\nContent-Length: 6\r\n\r\n');
  });
  await eventually(async () => {
    await cached.send(plain);
    await Bun.sleep(25);
    await cached.send(plain, lines);
    expect(turn).toBeGreaterThan(12);
  });
  await emptied();
});

test("nor when the origin's answer is cut, or the client leaves", async () => {
  let turn = 0;
  cached.on("/cut", (call) => {
    if (turn++ % 2 === 0) call.reply("200 OK", [], "answer");
    else {
      call.sendAndFinish("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nabc");
    }
  });
  await eventually(async () => {
    const client = await cached.gateway.connect();
    client.send(request("GET /cut"));
    if (turn % 3 !== 0) await client.ended(100).catch(() => "open");
    client.close();
    expect(turn).toBeGreaterThan(12);
  });
  await emptied();
});

async function asked(name: string, answer: (call: OriginCall, turn: number) => void, times: number): Promise<void> {
  const path = `/${name.replace(/[^a-z]/g, "-")}`;
  let turn = 0;
  cached.on(path, (call) => answer(call, turn++));
  const client = await cached.gateway.connect();
  await eventually(async () => {
    await client.exchange(request(`GET ${path}`));
    expect(turn).toBeGreaterThan(times);
  });
  client.close();
  await emptied();
}

async function emptied(): Promise<void> {
  await eventually(async () => {
    await cached.send("POST /internal/api/cache/purge", [], '{"all":true}');
    expect(await bytes()).toBe(0);
  });
}

async function bytes(): Promise<number> {
  return Number(/^gateway_cache_bytes (\d+)$/m.exec((await cached.get("/metrics")).text)?.[1]);
}
