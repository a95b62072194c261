// docs/cache.md#concurrent-misses: concurrent misses of one key are coalesced.
import { afterAll, describe, expect, test } from "bun:test";
import { CachedGateway } from "../harness/cached-gateway.ts";
import { RawClient, type Reply, request } from "../harness/raw-client.ts";
import type { OriginCall } from "../harness/scripted-origin.ts";

const two = await CachedGateway.start({}, { workers: 2 });
const one = await CachedGateway.start();
afterAll(async () => {
  await two.stop();
  await one.stop();
});

const PATIENCE_MS = 60_000;

/** A path whose answers are held back until the test lets them go. */
class HeldPath {
  private readonly calls: { readonly call: OriginCall; readonly done: () => void }[] = [];

  constructor(
    private readonly cached: CachedGateway,
    readonly path: string,
  ) {
    cached.on(path, (call) => new Promise<void>((done) => this.calls.push({ call, done })));
  }

  /** Requests that wait at the origin. */
  get waiting(): number {
    return this.calls.length;
  }

  /** Waits until so many requests wait at the origin. */
  async seen(count: number): Promise<void> {
    await this.cached.origin.until(`${count} requests`, () => (this.calls.length >= count ? true : undefined));
  }

  /** Answers all that wait. */
  answer(lines: readonly string[], body: string): void {
    this.act((call) => call.reply("200 OK", lines, body));
  }

  /** Does something with each that waits. */
  act(script: (call: OriginCall) => void): void {
    for (const { call, done } of this.calls.splice(0)) {
      script(call);
      done();
    }
  }
}

async function clients(cached: CachedGateway, count: number): Promise<RawClient[]> {
  const all: RawClient[] = [];
  for (let i = 0; i < count; i++) all.push(await RawClient.connect(cached.gateway.port));
  return all;
}

async function repliesTo(all: readonly RawClient[], path: string): Promise<Promise<Reply>[]> {
  return all.map((client) => {
    client.send(request(`GET ${path}`));
    return client.reply("GET", PATIENCE_MS);
  });
}

/** Those who wait have nothing to tell of it; this much time lets all of them arrive. */
const SETTLE_MS = 300;

test(
  "a thousand misses of one key, over two workers, reach the origin once",
  async () => {
    const held = new HeldPath(two, "/thousand");
    const all = await clients(two, 1000);
    const replies = await repliesTo(all, held.path);
    await held.seen(1);
    await Bun.sleep(SETTLE_MS);
    held.answer([], "x".repeat(5000));
    const texts = new Set((await Promise.all(replies)).map((reply) => reply.text));
    expect([...texts]).toEqual(["x".repeat(5000)]);
    expect(two.seen(held.path)).toBe(1);
    for (const client of all) client.close();
  },
  PATIENCE_MS,
);

describe("those who wait", () => {
  test("go to the origin at once, each by itself, when the answer is not one to be stored", async () => {
    const held = new HeldPath(two, "/unstorable");
    const all = await clients(two, 20);
    const replies = await repliesTo(all, held.path);
    await held.seen(1);
    await Bun.sleep(SETTLE_MS);
    expect(two.seen(held.path)).toBe(1);
    held.answer(["Cache-Control: private"], "first");
    await held.seen(19);
    held.answer(["Cache-Control: private"], "own");
    const texts = (await Promise.all(replies)).map((reply) => reply.text).sort();
    expect(texts).toEqual(["first", ...Array.from({ length: 19 }, () => "own")]);
    for (const client of all) client.close();
  });

  test("were right to come at once: the next ones do not wait for each other", async () => {
    const held = new HeldPath(one, "/known-unstorable");
    const first = one.get(held.path);
    await held.seen(1);
    held.answer(["Cache-Control: private"], "own");
    await first;
    const all = await clients(one, 10);
    const replies = await repliesTo(all, held.path);
    await held.seen(10);
    held.answer(["Cache-Control: private"], "own");
    await Promise.all(replies);
    for (const client of all) client.close();
  });

  test("go on when the origin fails", async () => {
    const held = new HeldPath(one, "/failing");
    const all = await clients(one, 10);
    const replies = await repliesTo(all, held.path);
    await held.seen(1);
    await Bun.sleep(SETTLE_MS);
    held.act((call) => call.send("HTTP/1.1 500 Oops\r\nContent-Length: 1\r\n\r\nx"));
    await held.seen(9);
    held.answer([], "recovered");
    expect((await Promise.all(replies)).map((reply) => reply.status).sort()).toEqual([...Array(9).fill(200), 500]);
    for (const client of all) client.close();
  });

  test.each([one, two])("get their answer though the client leaves for whom it is fetched", async (cached) => {
    const held = new HeldPath(cached, "/left");
    const [first, ...others] = await clients(cached, 12);
    first!.send(request("GET /left"));
    await held.seen(1);
    const replies = await repliesTo(others, held.path);
    await Bun.sleep(SETTLE_MS);
    first!.reset();
    await cached.origin.until("the end of the first fetch", () => (cached.seen("/left") === 2 ? true : undefined));
    // One of them has taken its place, not all.
    await Bun.sleep(SETTLE_MS);
    expect(held.waiting).toBe(2);
    held.answer([], "for all");
    expect(new Set((await Promise.all(replies)).map((reply) => reply.text))).toEqual(new Set(["for all"]));
    expect(cached.seen("/left")).toBe(2);
    for (const client of others) client.close();
  });

  test("get nothing of an answer that was cut, and nobody stores it", async () => {
    const held = new HeldPath(one, "/cut");
    const all = await clients(one, 5);
    for (const client of all) client.send(request("GET /cut"));
    await held.seen(1);
    await Bun.sleep(SETTLE_MS);
    held.act((call) => call.sendAndFinish("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\npartial"));
    await held.seen(4);
    held.answer([], "whole");
    const outcomes = await Promise.all(
      all.map((client) =>
        client
          .reply()
          .then((r) => r.text)
          .catch(() => "cut"),
      ),
    );
    expect(outcomes.filter((text) => text === "whole").length).toBe(4);
    expect((await one.get("/cut")).text).toBe("whole");
    for (const client of all) client.close();
  });

  test("do not wait for a slow client", async () => {
    const body = Buffer.alloc(900_000, "b");
    one.on("/large", (call) => call.reply("200 OK", [], body));
    const slow = await RawClient.connect(one.gateway.port);
    slow.hold();
    // Its earlier answers fill what the kernel takes, so that this one stands still.
    for (let i = 0; i < 12; i++) slow.send(request(`GET /large?${i}`));
    await one.origin.until("the requests", () => (one.seen("/large") >= 2 ? true : undefined));
    slow.send(request("GET /large?slow"));
    const replies = await Promise.all(Array.from({ length: 5 }, () => one.get("/large?slow")));
    for (const reply of replies) expect(reply.body.equals(body)).toBe(true);
    slow.release();
    for (let i = 0; i < 13; i++) expect((await slow.reply()).body.equals(body)).toBe(true);
    slow.close();
  });

  test("may leave without a trace", async () => {
    const held = new HeldPath(one, "/deserted");
    const all = await clients(one, 10);
    for (const client of all) client.send(request("GET /deserted"));
    await held.seen(1);
    await Bun.sleep(SETTLE_MS);
    for (const client of all.slice(1)) client.reset();
    held.answer([], "alone");
    expect((await all[0]!.reply()).text).toBe("alone");
    expect((await one.get("/deserted")).fields.get("x-cache")).toBe("HIT");
    all[0]!.close();
  });
});

test("what one worker stores, the other serves", async () => {
  two.answers("/shared");
  const all = await clients(two, 20);
  const texts = new Set<string>();
  for (const client of all) texts.add((await client.exchange(request("GET /shared"))).text);
  expect([...texts]).toEqual(["answer 1"]);
  for (const client of all) client.close();
});
