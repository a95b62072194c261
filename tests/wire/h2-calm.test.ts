import { afterAll, describe, expect, test } from "bun:test";
import { startGateway, upstream } from "../harness/gateway.ts";
import { Code, H2Client, head } from "../harness/h2-client.ts";
import { H2Origin, type H2OriginStream, MAX_STREAMS } from "../harness/h2-origin.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// The shared connections to an origin of HTTP/2 that is asked too much of, or says so.

const origin = await H2Origin.start();
const gateway = await startGateway({
  routes: [upstream("/h2", origin), upstream("/hasty", origin, { timeouts: { response_header: "300ms" } })],
});
afterAll(() => stopAll(gateway, origin));

const post = async (text = "x"): Promise<number> => (await gateway.once(request("POST /h2/x", [], text))).status;
const posts = async (count: number): Promise<number[]> => {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push(await post());
  return statuses;
};
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const ok = (stream: H2OriginStream): void => stream.answer("ok");
const later = (stream: H2OriginStream): void => void setTimeout(() => stream.answer("ok"), 200);

/** After that a refusal has no more effect on new connections. */
const FORGOTTEN_MS = 1100;

describe("a connection is left for a new one", () => {
  test("on which the origin wants calm, and its streams come to their end", async () => {
    await origin.play({
      onEnd: (stream) => {
        if (stream.connection.number === 0 && stream.id === 9) stream.connection.goAway(9, Code.calm);
        later(stream);
      },
    });
    expect(await Promise.all(times(5, 0).map(() => post()))).toEqual(times(5, 200));
    expect(await Promise.all(times(5, 0).map(() => post()))).toEqual(times(5, 200));
    expect(origin.connections.map(({ streams }) => streams.size)).toEqual([5, 5]);
  });

  test("on which a stream was reset to calm the gateway", async () => {
    await origin.play({
      onEnd: (stream) => (stream.connection.number === 0 && stream.id === 3 ? stream.refuse(Code.calm) : ok(stream)),
    });
    expect(await posts(6)).toEqual([200, 502, 200, 200, 200, 200]);
    expect(origin.connections.map(({ streams }) => streams.size)).toEqual([2, 4]);
  });

  test("on which many streams are reset", async () => {
    const INTERNAL = 2;
    await origin.play({
      onEnd: (stream) => (stream.connection.number === 0 && stream.id > 1 ? stream.refuse(INTERNAL) : ok(stream)),
    });
    const statuses = await posts(40);
    // So many at once are allowed for, and a few a second.
    expect(statuses.filter((status) => status === 502).length).toBeLessThanOrEqual(25);
    expect(statuses.slice(-10)).toEqual(times(10, 200));
    expect(origin.connections.length).toBe(2);
  });

  test("that refuses even a single stream, and what it refused goes over the new one", async () => {
    await origin.play({ onEnd: (stream) => (stream.connection.number === 0 ? stream.refuse() : ok(stream)) });
    expect(await posts(5)).toEqual(times(5, 200));
    expect(origin.connections.map(({ streams }) => streams.size)).toEqual([1, 5]);
    await Bun.sleep(FORGOTTEN_MS);
  });

  test("not where it refuses one beyond others: it is asked for fewer at a time", async () => {
    await origin.play({
      onEnd: (stream) => (stream.connection.openStreams > 4 ? stream.refuse() : later(stream)),
    });
    for (let i = 0; i < 5; i++) expect(await Promise.all(times(4, 0).map(() => post()))).toEqual(times(4, 200));
    expect(await Promise.all(times(10, 0).map(() => post()))).toEqual(times(10, 200));
    const [first] = origin.connections;
    expect(first!.isClosed).toBe(false);
    await Bun.sleep(FORGOTTEN_MS);
  });

  test("not where it refuses one after the other: what one refusal says of the others counts at once", async () => {
    const refused: H2OriginStream[] = [];
    await origin.play({
      onEnd: (stream) => {
        if (stream.connection.number > 0) return stream.connection.openStreams > 4 ? stream.refuse() : later(stream);
        if (stream.id < 9) return void setTimeout(() => stream.answer("ok"), 400);
        // Three go over a new connection before the origin turns to the others.
        setTimeout(() => stream.refuse(), refused.push(stream) <= 3 ? 100 : 200);
      },
    });
    expect(await Promise.all(times(10, 0).map(() => post()))).toEqual(times(10, 200));
    expect(refused.length).toBe(6);
    expect(Math.max(...origin.connections.slice(1).map(({ mostOpen }) => mostOpen))).toBeLessThanOrEqual(4);
    await Bun.sleep(FORGOTTEN_MS);
  });
});

describe("an origin that wants calm again and again", () => {
  test("is not stormed with new connections", async () => {
    const opened: number[] = [];
    await origin.play({
      onOpen: () => opened.push(performance.now()),
      onEnd: ({ connection, id }) => {
        connection.goAway(Math.max(0, id - 2), Code.calm);
        connection.finish();
      },
    });
    const started = performance.now();
    const clients = times(8, 0).map(async () => {
      while (performance.now() - started < 2500) await gateway.once(request("GET /hasty/x"));
    });
    await Promise.all(clients);
    const seconds = (performance.now() - started) / 1000;
    // Eight at once, two a second, and one behind each rest of half a second. The last calls may take a while.
    expect(opened.filter((at) => at - started < 2500).length).toBeLessThanOrEqual(25);
    expect(opened.length).toBeLessThanOrEqual(10 + 4 * seconds);
    await origin.play({ onEnd: ok });
    await Bun.sleep(600);
    expect(await posts(3)).toEqual(times(3, 200));
  }, 20_000);
});

describe("a client that cancels everything", () => {
  /** Ends a connection that resets too many streams, as origins do against rapid resets, and fails all that is on it. */
  const STRICT = 250;
  const strict = {
    onReset: ({ connection }: H2OriginStream): void => {
      if (connection.resets <= STRICT) return;
      connection.goAway(0, Code.calm);
      connection.cut();
    },
    onEnd: (stream: H2OriginStream): void =>
      void setTimeout(() => stream.answer("ok"), stream.path === "/slow" ? 50 : 0),
  };

  test.each([
    ["over HTTP/2", true],
    ["over HTTP/1.1", false],
  ] as const)("%s fails no call of the others", async (_, isHttp2) => {
    await origin.play(strict);
    let isOver = false;
    const statuses: number[] = [];
    const steady = (async () => {
      while (!isOver) statuses.push(await post());
    })();
    for (let round = 0; round < 10 || statuses.length < 6; round++) {
      if (isHttp2) {
        const client = await H2Client.connect(gateway.port);
        const ids = times(90, 0).map(() => client.headers(head("GET", "/h2/slow")));
        await Bun.sleep(20);
        for (const id of ids) client.frame(3, 0, id, Buffer.from([0, 0, 0, Code.cancel]));
        await Bun.sleep(20);
        client.close();
      } else {
        const clients = await Promise.all(times(90, 0).map(() => gateway.connect()));
        for (const client of clients) client.send(request("GET /h2/slow"));
        await Bun.sleep(20);
        for (const client of clients) client.reset();
      }
    }
    isOver = true;
    await steady;
    expect(statuses.length).toBeGreaterThan(5);
    expect(statuses.filter((status) => status !== 200)).toEqual([]);
    expect(Math.max(...origin.connections.map(({ resets }) => resets))).toBeLessThanOrEqual(STRICT);
  });

  test("leaves places that are free again when the streams have run out", async () => {
    await origin.play({ settings: [[MAX_STREAMS, 150]], onEnd: later });
    const client = await H2Client.connect(gateway.port);
    for (let round = 0; round < 4; round++) {
      const ids = times(60, 0).map(() => client.headers(head("GET", "/h2/slow")));
      await Bun.sleep(20);
      for (const id of ids) client.frame(3, 0, id, Buffer.from([0, 0, 0, Code.cancel]));
    }
    await Bun.sleep(500);
    expect(await posts(5)).toEqual(times(5, 200));
    expect(origin.connections.length).toBeLessThanOrEqual(3);
    client.close();
  });
});
