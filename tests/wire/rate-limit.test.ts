import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { json, type Reply, request } from "../harness/raw-client.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

/** Nothing comes back during a test. */
const SLOW = { requests: 4, window: "2h", burst: 4 };
const origin = EchoOrigin.start();
const gateway = await startGateway({
  config: { server: { workers: 2, trusted_proxies: ["127.0.0.1"], rate_limit: SLOW } },
  routes: [
    upstream("/node", origin),
    upstream("/two", origin),
    upstream("/own", origin, { rate_limit: { requests: 2, window: "2h", key: "client_ip" } }),
    upstream("/keyed", origin, { rate_limit: { requests: 2, window: "2h", key: "header:X-Api-Key", status: 503 } }),
    upstream("/all", origin, { rate_limit: { requests: 3, window: "2h", key: "route" } }),
    upstream("/free", origin, { rate_limit: { enabled: false, requests: 1 } }),
    upstream("/quick", origin, { rate_limit: { requests: 20, window: "1s", burst: 1 } }),
  ],
});
afterAll(() => stopAll(gateway, origin));

let clients = 0;
/** An address that has not asked for anything yet. */
function newClient(): string {
  clients++;
  return `203.0.113.${clients}`;
}

function ask(client: string, path: string, lines: readonly string[] = [], through: Gateway = gateway) {
  return through.once(request(`GET ${path}`, [`X-Forwarded-For: ${client}`, ...lines]));
}

/** Statuses of so many requests, each on a connection of its own, so that all workers are asked. */
async function statuses(count: number, client: string, path: string, lines: readonly string[] = []): Promise<number[]> {
  const replies = await Promise.all(Array.from({ length: count }, () => ask(client, path, lines)));
  return replies.map((reply) => reply.status).sort();
}

/** Answers to so many requests that one worker gets at once. */
async function pipelined(count: number, client: string, path: string): Promise<Reply[]> {
  const connection = await gateway.connect();
  const one = request(`GET ${path}`, [`X-Forwarded-For: ${client}`]);
  connection.send(Buffer.concat(new Array(count).fill(one)));
  const replies: Reply[] = [];
  while (replies.length < count) replies.push(await connection.reply());
  connection.close();
  return replies;
}

describe("a limit by a header that tells of clients", () => {
  const NAMES = ["X-Real-IP", "X-Forwarded-For", "X-Forwarded-Client-Cert", "CF-Connecting-IP", "Forwarded"];

  test.each(NAMES)("reads %s from trusted proxies alone", async (name) => {
    const limit = { requests: 1, window: "2h", key: `header:${name}` };
    const limited = await startGateway({
      config: { server: { trusted_proxies: ["127.0.0.2"] } },
      routes: [upstream("/", origin, { rate_limit: limit })],
    });
    const from = async (address: string, value: string) =>
      statusOf(
        await exchangeFrom(address, limited.port, request("GET /x", [`${name}: ${value}`, "Connection: close"])),
      );
    // What a client says of itself neither gives it a bucket of its own, nor takes another's.
    expect([await from("127.0.0.3", "203.0.113.9"), await from("127.0.0.3", "203.0.113.8")]).toEqual([200, 429]);
    for (const value of ["203.0.113.9", "203.0.113.8"]) {
      expect([await from("127.0.0.2", value), await from("127.0.0.2", value)]).toEqual([200, 429]);
    }
    await limited.stop();
  });
});

describe("the server's limit", () => {
  test("holds for all workers together, to the request", async () => {
    const admitted = (await statuses(40, newClient(), "/node/echo")).filter((status) => status === 200);
    expect(admitted).toHaveLength(4);
  });

  test("is shared by the routes without one of their own", async () => {
    const client = newClient();
    expect(await statuses(3, client, "/node/echo")).toEqual([200, 200, 200]);
    expect(await statuses(3, client, "/two/echo")).toEqual([200, 429, 429]);
    expect(await statuses(1, client, "/api/status")).toEqual([429]);
  });

  test("is each client's own", async () => {
    await statuses(5, newClient(), "/node/echo");
    expect(await statuses(4, newClient(), "/node/echo")).toEqual([200, 200, 200, 200]);
  });

  test("takes an IPv6 /64 for one client", async () => {
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, i) => ask(`2001:db8:5:5:${i}::${i}`, "/node/echo")),
    );
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(4);
    expect((await ask("2001:db8:5:6::1", "/node/echo")).status).toBe(200);
  });

  test("refuses with Retry-After and the house's error, and keeps the connection", async () => {
    const from = newClient();
    await statuses(4, from, "/node/echo");
    const seen = origin.requests.length;
    const client = await gateway.connect();
    const post = request("POST /node/echo", [`X-Forwarded-For: ${from}`], "a body that nobody reads");
    const reply = await client.exchange(post);
    expect([reply.status, reply.reason]).toEqual([429, "Too Many Requests"]);
    const seconds = Number(reply.fields.get("retry-after"));
    expect(seconds).toBeGreaterThan(1700);
    expect(seconds).toBeLessThanOrEqual(1800);
    expect(reply.fields.get("content-type")).toBe("application/json");
    expect(json(reply)).toEqual({
      error: "429 Too Many Requests",
      message: `rate limit exceeded, try again in ${seconds} s`,
    });
    expect((await client.exchange(request("GET /health"))).status).toBe(200);
    expect(origin.requests.length).toBe(seen);
    client.close();
  });

  test("does not hold for monitoring, the internal API and paths of nobody", async () => {
    const client = newClient();
    await statuses(5, client, "/node/echo");
    expect(await statuses(6, client, "/health")).toEqual([200, 200, 200, 200, 200, 200]);
    for (const path of ["/metrics", "/internal/api/status"]) {
      expect(await statuses(6, "127.0.0.1", path)).toEqual([200, 200, 200, 200, 200, 200]);
    }
    expect(await statuses(3, client, "/nowhere")).toEqual([404, 404, 404]);
  });
});

describe("a route's limit", () => {
  test("is beside the server's", async () => {
    const client = newClient();
    expect(await statuses(4, client, "/own/echo")).toEqual([200, 200, 429, 429]);
    expect(await statuses(4, client, "/node/echo")).toEqual([200, 200, 200, 200]);
  });

  test("by header tells keys apart, and clients without one; its status is the operator's", async () => {
    const [one, two] = [newClient(), newClient()];
    expect(await statuses(2, one, "/keyed/echo", ["X-Api-Key: a"])).toEqual([200, 200]);
    expect(await statuses(1, two, "/keyed/echo", ["x-api-key: a"])).toEqual([503]);
    expect(await statuses(2, two, "/keyed/echo", ["X-Api-Key: b"])).toEqual([200, 200]);
    expect(await statuses(3, two, "/keyed/echo")).toEqual([200, 200, 503]);
    expect(await statuses(2, one, "/keyed/echo")).toEqual([200, 200]);
  });

  test("by route is for all clients together", async () => {
    const replies = await Promise.all(Array.from({ length: 6 }, () => ask(newClient(), "/all/echo")));
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 200, 200, 429, 429, 429]);
  });

  test("that is switched off takes the server's away", async () => {
    expect(new Set(await statuses(12, newClient(), "/free/echo"))).toEqual(new Set([200]));
  });

  test("gives tokens back as time goes by", async () => {
    const client = newClient();
    expect((await ask(client, "/quick/echo")).status).toBe(200);
    await eventually(async () => expect((await ask(client, "/quick/echo")).status).toBe(200));
    // So many at once that no machine is too slow for it.
    const refused = (await pipelined(40, client, "/quick/echo")).filter((reply) => reply.status === 429);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused[0]!.fields.get("retry-after")).toBe("1");
  });
});

describe("refusals", () => {
  test("are counted by route", async () => {
    const count = async () =>
      gateway.metric("gateway_rate_limited_requests_total", {
        route: "/own",
      });
    const before = await count();
    await statuses(7, newClient(), "/own/echo");
    await eventually(async () => expect(await count()).toBe(before + 5));
  });

  test("are told to the log, within bounds", async () => {
    const client = newClient();
    const mine = (line: Record<string, unknown>) => line.event === "rate_limited" && line.client_ip === client;
    const told = () => gateway.logs.json.filter(mine);
    // The tests before may have used up the lines of this second.
    await eventually(async () => {
      await statuses(10, client, "/own/echo?secret=1");
      expect(told().length).toBeGreaterThan(0);
    });
    expect(told()[0]).toMatchObject({
      method: "GET",
      path: "/own/echo",
      route: "/own",
      status: 429,
      retry_after: expect.any(Number),
      timestamp: expect.any(String),
    });
    // One worker gets them all at once, and tells how many lines it has left out in the next one.
    await eventually(async () => {
      await pipelined(200, client, "/own/echo");
      expect(told().some((line) => Number(line.not_logged) > 0)).toBe(true);
    });
    // 20 lines a second and worker.
    const lines = told();
    const seconds = new Set(lines.map((line) => String(line.timestamp).slice(0, 19))).size;
    expect(lines.length).toBeLessThanOrEqual(seconds * 40);
  });

  test("are remembered over a reload", async () => {
    const client = newClient();
    await statuses(4, client, "/node/echo");
    expect((await gateway.reload()).ok).toBe(true);
    await eventually(async () => expect(await statuses(2, client, "/node/echo")).toEqual([429, 429]));
    expect((await statuses(4, newClient(), "/node/echo")).length).toBe(4);
  });
});

describe("a limit by header", () => {
  test("is not evaded by a new value each time: the client's own bucket, ten times as large, counts as well", async () => {
    const client = newClient();
    const answered: number[] = [];
    for (let i = 0; i < 30; i++) answered.push((await ask(client, "/keyed/echo", [`X-Api-Key: random-${i}`])).status);
    expect(answered.filter((status) => status === 200)).toHaveLength(20);
    expect((await ask(newClient(), "/keyed/echo", ["X-Api-Key: other"])).status).toBe(200);
  });

  test("does not charge the client for what a value's own bucket refuses", async () => {
    const client = newClient();
    for (let i = 0; i < 40; i++) await ask(client, "/keyed/echo", ["X-Api-Key: hammered"]);
    expect((await ask(client, "/keyed/echo", ["X-Api-Key: its neighbour"])).status).toBe(200);
  });

  test("takes an empty value for none: the client counts", async () => {
    expect(await statuses(5, newClient(), "/keyed/echo", ["X-Api-Key:"])).toEqual([200, 200, 503, 503, 503]);
    expect(await statuses(2, newClient(), "/keyed/echo", ["X-Api-Key:"])).toEqual([200, 200]);
  });

  test("goes by the /64 of an IPv6 client", async () => {
    const answered: number[] = [];
    for (let i = 0; i < 30; i++) {
      answered.push((await ask(`2001:db8:7:7::${i + 1}`, "/keyed/echo", [`X-Api-Key: six-${i}`])).status);
    }
    expect(answered.filter((status) => status === 200)).toHaveLength(20);
  });
});
