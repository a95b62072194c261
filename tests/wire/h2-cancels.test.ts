// What clients cancel on the shared connections to origins of HTTP/2 that end a connection where they see an attack:
// docs/security.md#connections-to-origins
import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { Code, END_STREAM, H2Client, head, Type, uint32 } from "../harness/h2-client.ts";
import { H2Origin, type H2OriginStream, type H2Script, MAX_STREAMS } from "../harness/h2-origin.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = await H2Origin.start();
/** One that no other test has used up what may be left there. */
const fresh = await H2Origin.start();
const gateway = await startGateway({ routes: [upstream("/h2", origin), upstream("/fresh", fresh)] });
afterAll(() => stopAll(gateway, origin, fresh));

const post = async (): Promise<number> => (await gateway.once(request("POST /h2/x", [], "x"))).status;
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const cut = ({ connection }: H2OriginStream): void => {
  connection.goAway(0, Code.calm);
  connection.cut();
};
const cancel = (client: H2Client, id: number): void => client.frame(Type.reset, 0, id, uint32(Code.cancel));

/** Before what was given up is reset: after ten seconds. */
const SOON_MS = 5000;
/** How long the origin works on a request, be it cancelled or not. */
const WORK_MS = 150;

/** Like Go: it has so many streams, and works on those that were reset to their end. Four times as many may wait for that. */
function busy(streams: number): H2Script {
  const working = new Map<number, number>();
  const add = (number: number, count: number): number => {
    const sum = (working.get(number) ?? 0) + count;
    working.set(number, sum);
    return sum;
  };
  return {
    settings: [[MAX_STREAMS, streams]],
    onHead: (stream) => {
      const { number } = stream.connection;
      if (add(number, 1) > 5 * streams) return cut(stream);
      setTimeout(
        () => {
          add(number, -1);
          stream.answer("ok");
        },
        stream.path === "/slow" ? WORK_MS : 0,
      );
    },
  };
}

/** Like h2 of Rust: of streams that it has not answered, so many may be reset. */
function distrustful(most: number): H2Script {
  return {
    onReset: (stream) => (stream.connection.earlyResets > most ? cut(stream) : undefined),
    onEnd: (stream) => void setTimeout(() => stream.answer("ok"), stream.path === "/slow" ? WORK_MS : 0),
  };
}

/** Like Go where requests end early: the answer goes out with the head, before the body has come. */
function early(most: number): H2Script {
  return {
    onReset: (stream) => (stream.connection.resets > most ? cut(stream) : undefined),
    onHead: (stream) => stream.answer("ok"),
  };
}

/** Ways to cancel many requests on one connection. */
const ATTACKS: Record<string, (client: H2Client) => Promise<void>> = {
  "whole requests": async (client) => {
    const ids = times(90, 0).map(() => client.headers(head("GET", "/h2/slow")));
    await Bun.sleep(20);
    for (const id of ids) cancel(client, id);
  },
  "requests at once, with the same packet": async (client) => {
    for (let i = 0; i < 90; i++) cancel(client, client.headers(head("GET", "/h2/slow")));
  },
  "requests whose body has begun": async (client) => {
    const ids = times(90, 0).map(() => client.headers(head("POST", "/h2/slow"), false));
    for (const id of ids) client.data(id, "begun", false);
    await Bun.sleep(20);
    for (const id of ids) cancel(client, id);
  },
};

describe("a client that cancels fails no call of the others", () => {
  const origins: [string, () => H2Script][] = [
    ["an origin of three streams that counts what it works on", () => busy(3)],
    ["an origin of twenty streams that counts what it works on", () => busy(20)],
    ["an origin that bears twenty resets", () => distrustful(20)],
    ["an origin that answers before the body and bears two hundred resets", () => early(200)],
  ];
  const cases = origins.flatMap(([name, script]) =>
    Object.entries(ATTACKS).map(([attack, run]) => [attack, name, script, run] as const),
  );
  test.each(cases)(
    "%s, at %s",
    async (_attack, _name, script, attack) => {
      await origin.play(script());
      let isOver = false;
      const statuses: number[] = [];
      const steady = times(3, 0).map(async () => {
        while (!isOver) statuses.push(await post());
      });
      for (let round = 0; round < 8 || statuses.length < 20; round++) {
        const client = await H2Client.connect(gateway.port);
        await attack(client);
        await Bun.sleep(20);
        client.close();
      }
      isOver = true;
      await Promise.all(steady);
      expect(statuses.filter((status) => status !== 200)).toEqual([]);
      expect(origin.connections.filter(({ isClosed }) => isClosed).length).toBeLessThanOrEqual(20);
      // A body that has begun must not look complete.
      expect(origin.streams.filter((stream) => stream.isEnded && `${Buffer.concat(stream.body)}` === "begun")).toEqual(
        [],
      );
    },
    20_000,
  );
});

test("a request that is not whole keeps its place until it is reset, although it has been answered", async () => {
  await origin.play({ settings: [[MAX_STREAMS, 3]], onHead: (stream) => stream.answer("ok") });
  const client = await H2Client.connect(gateway.port);
  const ids = times(30, 0).map(() => client.headers(head("POST", "/h2/begun"), false));
  for (const id of ids) expect((await client.reply(id)).text).toBe("ok");
  await eventually(() => expect(origin.streams.length).toBe(30));
  for (const { streams } of origin.connections) {
    // Those after the third can only begin when one before them is reset.
    expect([...streams.values()].filter(({ reset }) => reset < 0).length).toBeLessThanOrEqual(3);
  }
  client.close();
});

describe("where many answers were given up on a connection", () => {
  const endless: H2Script = {
    onEnd: (stream) => {
      if (stream.path === "/x") return stream.answer("ok");
      stream.head([[":status", "200"]]);
      stream.connection.frame(Type.data, 0, stream.id, "begins ");
    },
  };
  const begun = (client: H2Client, id: number): Promise<boolean> =>
    client.until("the answer's begin", () => client.seen(id).text === "begins " || undefined);

  test("new calls go over another, one under way ends whole, and the old one closes after it", async () => {
    await fresh.play(endless);
    const [others, client] = [await H2Client.connect(gateway.port), await H2Client.connect(gateway.port)];
    const kept = others.headers(head("GET", "/fresh/kept"));
    await begun(others, kept);
    const ids = times(90, 0).map(() => client.headers(head("GET", "/fresh/long")));
    for (const id of ids) await begun(client, id);
    for (const id of ids) cancel(client, id);
    const [first] = fresh.connections;
    await eventually(async () => {
      expect((await gateway.once(request("GET /fresh/x"))).status).toBe(200);
      expect(fresh.connections.length).toBe(2);
    });
    expect(fresh.connections.map(({ resets, isClosed }) => [resets > 60, isClosed])).toEqual([
      [false, false],
      [false, false],
    ]);
    const stream = fresh.streams.find(({ path }) => path === "/kept")!;
    first!.frame(Type.data, END_STREAM, stream.id, "and ends");
    expect((await others.reply(kept)).text).toBe("begins and ends");
    await eventually(() => expect(first!.isClosed).toBe(true));
    client.close();
    others.close();
  });
});

describe("streams that were given up do not keep all the room: connections with nothing else are closed for others", () => {
  test.each([1, 3, 20])(
    "at an origin that takes %i at a time",
    async (limit) => {
      await origin.play({
        settings: [[MAX_STREAMS, limit]],
        onEnd: (stream) => (stream.path === "/x" ? stream.answer("ok") : undefined),
      });
      const room = 128 * limit;
      const clients = await Promise.all(times(Math.ceil(room / 106), 0).map(() => H2Client.connect(gateway.port)));
      // All the room of all 128 connections, three times: as many as a connection takes may be reset at once.
      for (let round = 0; round < 3; round++) {
        const before = origin.streams.length;
        const ids = clients.map((client) => times(106, 0).map(() => client.headers(head("GET", "/h2/hangs"))));
        await eventually(() => expect(origin.streams.length).toBeGreaterThanOrEqual(before + room / 2), SOON_MS);
        clients.forEach((client, i) => {
          for (const id of ids[i]!) cancel(client, id);
        });
        await Bun.sleep(100);
      }
      const started = performance.now();
      expect(await Promise.all(times(5, 0).map(() => post()))).toEqual(times(5, 200));
      expect(performance.now() - started).toBeLessThan(5000);
      for (const client of clients) client.close();
    },
    30_000,
  );
});
