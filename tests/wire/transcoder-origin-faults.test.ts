import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { Code, H2Client, head } from "../harness/h2-client.ts";
import { H2Origin, type H2OriginStream, MAX_STREAMS } from "../harness/h2-origin.ts";
import { answerItem, ItemGateway } from "../harness/item-gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// What becomes of transcoded calls when their upstream turns streams or connections away.

const origin = await H2Origin.start();
const items = await ItemGateway.start(origin);
const { gateway } = items;
afterAll(() => stopAll(gateway, origin));

const ok = answerItem;
const later = (stream: H2OriginStream): void => void setTimeout(() => ok(stream), 50);
const call = () => items.call();
const calls = (count: number) => items.calls(count);
const times = (count: number, status: number): number[] => Array.from({ length: count }, () => status);

describe("calls beyond what the upstream takes wait", () => {
  test("as SETTINGS say", async () => {
    await origin.play({ settings: [[MAX_STREAMS, 3]], onEnd: later });
    expect(await calls(120)).toEqual(times(120, 200));
    expect(Math.max(...origin.connections.map(({ mostOpen }) => mostOpen))).toBeLessThanOrEqual(3);
  });

  test("also where SETTINGS come late", async () => {
    await origin.play({
      settings: null,
      onOpen: (connection) => void setTimeout(() => connection.settings([[MAX_STREAMS, 2]]), 100),
      onEnd: later,
    });
    expect(await calls(20)).toEqual(times(20, 200));
    expect(Math.max(...origin.connections.map(({ mostOpen }) => mostOpen))).toBeLessThanOrEqual(2);
  });

  test("no longer than their deadline", async () => {
    await origin.play({ settings: [[MAX_STREAMS, 0]] });
    expect(await calls(5)).toEqual(times(5, 504));
  });
});

describe("a call that was turned away untouched is made again", () => {
  test.each([
    ["refused", (stream: H2OriginStream) => stream.refuse()],
    ["left behind a GOAWAY", ({ connection, id }: H2OriginStream) => connection.goAway(Math.max(0, id - 2))],
  ] as const)("that was %s", async (_, turnAway) => {
    await origin.play({ onEnd: (stream) => (stream.connection.number === 0 ? turnAway(stream) : ok(stream)) });
    expect(await call()).toBe(200);
    expect(origin.connections.length).toBe(2);
  });
});

test("a call that crosses one GOAWAY after the other is not lost", async () => {
  await origin.play({
    onHead: ({ connection, id }) => {
      if (id === (connection.number === 0 ? 11 : 3)) connection.goAway(1);
    },
    onEnd: (stream) => {
      if (stream.id === 1) ok(stream);
    },
  });
  expect(await call()).toBe(200);
  // All five cross the first; of those that are left, one is answered on each connection.
  expect(await calls(5)).toEqual(times(5, 200));
  expect(origin.connections.length).toBe(6);
});

describe("a connection is left for a new one", () => {
  test("on which the upstream wants calm, and what it has not looked at goes over the new one", async () => {
    await origin.play({
      onEnd: (stream) => {
        if (stream.connection.number > 0 || stream.id < 5) return ok(stream);
        if (stream.id === 5) stream.connection.goAway(3, Code.calm);
      },
    });
    for (let round = 0; round < 3; round++) expect(await calls(4)).toEqual(times(4, 200));
    expect(origin.connections.length).toBe(2);
  });

  test.each([
    ["a call was reset to calm the gateway", Code.calm, 1],
    ["many calls were reset", 2, 25],
  ] as const)("on which %s", async (_, code, most) => {
    await origin.play({
      onEnd: (stream) => (stream.connection.number === 0 && stream.id > 1 ? stream.refuse(code) : ok(stream)),
    });
    const statuses: number[] = [];
    for (let i = 0; i < 40; i++) statuses.push(await call());
    expect(statuses.filter((status) => status !== 200).length).toBeLessThanOrEqual(most);
    expect(statuses.slice(-10)).toEqual(times(10, 200));
    expect(origin.connections.length).toBe(2);
  });
});

test.each([
  ["that bears many resets", "resets", 250, []],
  ["that bears few of calls without an answer", "earlyResets", 20, []],
  ["of three streams", "earlyResets", 6, [[MAX_STREAMS, 3]]],
] as const)(
  "a client that cancels fails no call of the others at an upstream %s",
  async (_, counted, strict, settings) => {
    await origin.play({
      settings,
      onReset: ({ connection }) => {
        if (connection[counted] <= strict) return;
        connection.goAway(0, Code.calm);
        connection.cut();
      },
      onEnd: later,
    });
    let isOver = false;
    const steady = (async () => {
      const statuses: number[] = [];
      while (!isOver) statuses.push(await call());
      return statuses;
    })();
    for (let round = 0; round < 10; round++) {
      const clients = await Promise.all(Array.from({ length: 60 }, () => gateway.connect()));
      for (const client of clients) client.send(request("GET /item/8"));
      await Bun.sleep(20);
      for (const client of clients) client.reset();
    }
    isOver = true;
    expect((await steady).filter((status) => status !== 200)).toEqual([]);
    expect(Math.max(...origin.connections.map((connection) => connection[counted]))).toBeLessThanOrEqual(strict);
  },
);

test.each([2, 40])(
  "calls that were given up do not keep all the room of all connections, at an upstream of %i streams",
  async (limit) => {
    let isHostile = true;
    await origin.play({
      settings: [[MAX_STREAMS, limit]],
      onEnd: (stream) => (isHostile ? undefined : ok(stream)),
    });
    const room = 16 * limit;
    // As many as a connection takes may be reset at once; what is given up then keeps its place for ten seconds.
    for (let round = 0; round < 3; round++) {
      const before = origin.streams.length;
      const clients = await Promise.all(times(Math.ceil(room / 100), 0).map(() => H2Client.connect(gateway.port)));
      for (let i = 0; i < room; i++) clients[i % clients.length]!.headers(head("GET", "/item/7"));
      await eventually(() => expect(origin.streams.length).toBeGreaterThanOrEqual(before + room / 3), 2000);
      for (const client of clients) client.reset();
      await Bun.sleep(100);
    }
    isHostile = false;
    expect(await calls(5)).toEqual(times(5, 200));
  },
  20_000,
);
