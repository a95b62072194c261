// docs/pressure.md#concurrency
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { type RawClient, type Reply, request } from "../harness/raw-client.ts";
import { type OriginCall, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { exchangeFrom, statusOf } from "../harness/source-address.ts";
import { stopAll } from "../harness/teardown.ts";

/** An origin that holds every request until it is let go. */
class HoldingOrigin {
  readonly origin = ScriptedOrigin.start();
  readonly held: (() => void)[] = [];
  order: string[] = [];
  now = 0;
  most = 0;

  constructor(private readonly name = "x") {
    this.origin.otherwise((call: OriginCall) => this.hold(call));
    this.origin.on("/found/even", async (call) => {
      await Bun.sleep(40);
      call.reply("200 OK");
    });
    this.origin.on("/ws", async (call) => {
      const connection = call.takeOver();
      call.send("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
      while ((await connection.takeSome(1e9)) !== null);
      connection.close();
    });
  }

  private async hold(call: OriginCall): Promise<void> {
    this.order.push(call.request.target);
    this.most = Math.max(this.most, ++this.now);
    await call.body();
    await new Promise<void>((resolve) => this.held.push(resolve));
    this.now--;
    call.reply("200 OK", [], this.name);
  }

  /** Lets go of what is held, and of what comes next. */
  async drain(requests: number): Promise<void> {
    for (let i = 0; i < requests; i++) {
      const next = await this.origin.until("a request", () => this.held.shift());
      next();
    }
  }

  async hasHeld(count: number): Promise<void> {
    await this.origin.until(`${count} held`, () => (this.held.length === count ? true : undefined));
  }
}

const own = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const one = new HoldingOrigin();
const [left, right] = [new HoldingOrigin("left"), new HoldingOrigin("right")];
const dead = { url: `http://127.0.0.1:${freePort()}` };
const gateway = await startGateway({
  binary: binaryWithHooks(),
  config: {
    server: {
      workers: 3,
      waf: { enabled: true },
      cache: { enabled: true, cookies: "share", default_ttl: "1h" },
      tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" },
      http3: { enabled: true },
    },
  },
  routes: [
    upstream("/two", one.origin, { cache: false, concurrency: { limit: 2, queue: 2, queue_timeout: "20s" } }),
    upstream("/none", one.origin, { concurrency: { limit: 1, queue: 0 } }),
    upstream("/short", one.origin, { concurrency: { limit: 1, queue: 5, queue_timeout: "60ms" } }),
    upstream("/crowd", one.origin, { cache: false, concurrency: { limit: 1, queue: 40, queue_timeout: "20s" } }),
    upstream("/fair", one.origin, { cache: false, concurrency: { limit: 1, queue: 6, queue_timeout: "20s" } }),
    {
      type: "upstream",
      prefix: "/again",
      cache: false,
      targets: [{ url: dead.url }, { url: one.origin.url }],
      retries: { attempts: 3 },
      mirror: { target: right.origin.url },
      concurrency: { limit: 1, queue: 0 },
    },
    {
      type: "upstream",
      prefix: "/targets",
      cache: false,
      targets: [
        { url: left.origin.url, concurrency: { limit: 1, queue: 1, queue_timeout: "20s" } },
        { url: right.origin.url, concurrency: { limit: 2 } },
      ],
      retries: { attempts: 1 },
    },
    {
      type: "upstream",
      prefix: "/found",
      cache: false,
      targets: [{ url: `${one.origin.url}/found`, concurrency: { limit: "auto" } }],
    },
  ],
  files: { "a.pem": own.cert, "a.key": own.key },
});
afterAll(() => stopAll(gateway, one.origin, left.origin, right.origin));

const taken = (route: string) => gateway.metric("gateway_concurrency_in_flight", { route });
const queued = (route: string) => gateway.metric("gateway_concurrency_queued", { route });
const refusals = (route: string, reason: string) =>
  gateway.metric("gateway_concurrency_refusals_total", { route, reason });
const hasQueued = (route: string, count: number) => eventually(async () => expect(await queued(route)).toBe(count));
const isIdle = (route: string) =>
  eventually(async () => expect([await taken(route), await queued(route)]).toEqual([0, 0]));

describe("over all workers", () => {
  test("as many go through as the limit says, as many wait as the queue holds, the others get 503", async () => {
    const replies: Promise<Reply>[] = [];
    const refused: Reply[] = [];
    for (let i = 0; i < 9; i++) {
      const reply = gateway.once(request("GET /two/a"));
      replies.push(reply);
      void reply.then((got) => got.status === 503 && refused.push(got));
    }
    await eventually(() => expect(refused.length).toBe(5));
    await one.hasHeld(2);
    expect(one.most).toBe(2);
    expect([refused[0]!.fields.get("retry-after"), refused[0]!.text]).toEqual([
      "1",
      '{"error":"503 Service Unavailable","message":"too many requests at once, try again later"}',
    ]);
    expect(await taken("/two")).toBe(2);
    expect(await queued("/two")).toBe(2);
    await one.drain(4);
    const statuses = (await Promise.all(replies)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 200, 200, 200, 503, 503, 503, 503, 503]);
    expect(one.most).toBe(2);
    expect(await refusals("/two", "queue_full")).toBe(5);
    await isIdle("/two");
  });

  test("HTTP/2, HTTP/3 and WebSockets take places like HTTP/1.1, a WebSocket while it is open", async () => {
    const socket = await gateway.connect();
    socket.send(request("GET /two/ws", ["Connection: Upgrade", "Upgrade: websocket"]));
    expect((await socket.reply()).status).toBe(101);
    const h2 = await H2Client.connectTls(tlsPort);
    const h3 = await H3Client.connect(tlsPort);
    const second = h2.request(head("GET", "/two/b"));
    await one.hasHeld(1);
    const waiting = h3.ask("GET", "/two/c");
    await hasQueued("/two", 1);
    expect(one.now).toBe(1);
    socket.close();
    await one.hasHeld(2);
    await one.drain(2);
    expect([(await second).status, (await waiting).status]).toEqual([200, 200]);
    h2.close();
    h3.close();
    await isIdle("/two");
  });

  test("a client that leaves the queue frees its place, and one that leaves the origin its slot", async () => {
    const first = await gateway.connect();
    first.send(request("GET /two/d"));
    const second = await gateway.connect();
    second.send(request("GET /two/d"));
    await one.hasHeld(2);
    const gone: RawClient[] = [];
    for (let i = 0; i < 2; i++) {
      const client = await gateway.connect();
      client.send(request("GET /two/gone"));
      gone.push(client);
    }
    await hasQueued("/two", 2);
    for (const client of gone) client.reset();
    await hasQueued("/two", 0);
    const last = gateway.once(request("POST /two/last", [], "body"));
    first.reset();
    await one.hasHeld(3);
    await one.drain(3);
    expect([(await second.reply()).status, (await last).status]).toEqual([200, 200]);
    second.close();
    expect(one.order.filter((target) => target === "/gone")).toEqual([]);
    await isIdle("/two");
  });

  test("clients take turns, and the queue makes room for a client with nothing in it", async () => {
    let settled = 0;
    const ask = async (address: string, path: string) => {
      const status = statusOf(
        await exchangeFrom(address, gateway.port, request(`GET /fair/${path}`, ["Connection: close"])),
      );
      settled++;
      return status;
    };
    const greedy = [ask("127.0.0.2", "held")];
    await one.hasHeld(1);
    for (let i = 0; i < 12; i++) greedy.push(ask("127.0.0.2", `greedy-${i}`));
    await hasQueued("/fair", 6);
    one.order = [];
    const modest: Promise<number>[] = [];
    for (let i = 0; i < 6; i++) modest.push(ask(`127.0.0.${10 + i}`, `modest-${i}`));
    // Of eighteen the queue has room for six: all others are refused before a slot is free.
    await eventually(() => expect(settled).toBe(12));
    const draining = one.drain(7);
    const all = await Promise.all([...greedy, ...modest, draining.then(() => 0)]);
    expect(all.filter((status) => status === 200).length).toBe(7);
    // The greedy client keeps one in each of three workers at most.
    expect((await Promise.all(modest)).filter((status) => status === 200).length).toBeGreaterThanOrEqual(3);
    await isIdle("/fair");
  });

  test("a thousand streams of one client take no place from ten others, in whatever workers they are", async () => {
    const h3 = await H3Client.connect(tlsPort);
    const clients = await Promise.all(Array.from({ length: 9 }, () => H2Client.connectTls(tlsPort)));
    const greedy = [
      ...clients.flatMap((h2) => Array.from({ length: 100 }, () => h2.request(head("GET", "/crowd/h2")))),
    ];
    const datagrams = Array.from({ length: 100 }, () => h3.ask("GET", "/crowd/h3").catch(() => null));
    await one.hasHeld(1);
    await hasQueued("/crowd", 40);
    const others = Array.from({ length: 10 }, (_, i) =>
      exchangeFrom(`127.0.0.${20 + i}`, gateway.port, request(`GET /crowd/${i}`, ["Connection: close"])),
    );
    let over = false;
    void Promise.all([...greedy, ...datagrams]).then(() => {
      over = true;
    });
    while (!over) {
      one.held.shift()?.();
      await Bun.sleep(1);
    }
    expect((await Promise.all(others)).map(statusOf)).toEqual(new Array(10).fill(200));
    for (const h2 of clients) h2.close();
    h3.close();
    await isIdle("/crowd");
  }, 30_000);

  test("a request that has waited for too long gets 503, and its origin never sees it", async () => {
    const held = gateway.once(request("GET /short/held"));
    await one.hasHeld(1);
    const late = await gateway.once(request("GET /short/late"));
    expect([late.status, late.fields.get("retry-after")]).toEqual([503, "1"]);
    await one.drain(1);
    expect((await held).status).toBe(200);
    expect(one.order).not.toContain("/late");
    expect(await refusals("/short", "queue_timeout")).toBe(1);
  });

  test("the firewall does not look at the body of a request without a place; what is stored needs none", async () => {
    const stored = gateway.once(request("GET /none/stored"));
    await one.drain(1);
    expect((await stored).status).toBe(200);
    const held = gateway.once(request("GET /none/held"));
    await one.hasHeld(1);
    const attack = request(
      "POST /none/x",
      ["Content-Type: application/x-www-form-urlencoded"],
      "q=<script>alert(1)</script>",
    );
    expect((await gateway.once(attack)).status).toBe(503);
    expect((await gateway.once(request("GET /none/other"))).status).toBe(503);
    const again = await gateway.once(request("GET /none/stored"));
    expect([again.status, again.fields.get("x-cache")]).toEqual([200, "HIT"]);
    await one.drain(1);
    await held;
    expect((await gateway.once(attack)).status).toBe(403);
    await isIdle("/none");
  });

  test("a request counts once, whatever attempts and copies there are", async () => {
    for (let i = 0; i < 3; i++) {
      const reply = gateway.once(request("GET /again/x"));
      await one.hasHeld(1);
      expect(await taken("/again")).toBe(1);
      await one.drain(1);
      expect((await reply).status).toBe(200);
      await right.drain(1);
      await isIdle("/again");
    }
  });

  test("each target has its own limit, and requests wait for whichever is free", async () => {
    const replies = Array.from({ length: 4 }, () => gateway.once(request("GET /targets/x")));
    await left.hasHeld(1);
    await right.hasHeld(2);
    await hasQueued("/targets", 1);
    await right.drain(1);
    await right.hasHeld(2);
    await right.drain(2);
    await left.drain(1);
    expect((await Promise.all(replies)).map(({ text }) => text).sort()).toEqual(["left", "right", "right", "right"]);
    expect([left.most, right.most]).toEqual([1, 2]);
    await isIdle("/targets");
  });

  test("a reload keeps what is taken", async () => {
    const held = gateway.once(request("GET /two/held"));
    await one.hasHeld(1);
    expect((await gateway.reload()).ok).toBe(true);
    expect(await taken("/two")).toBe(1);
    await one.drain(1);
    expect((await held).status).toBe(200);
    await isIdle("/two");
  });

  test("a limit that was found for a target stays with other targets beside it", async () => {
    const found = () => gateway.metric("gateway_concurrency_limit", { target: `${one.origin.url}/found` });
    await eventually(async () => {
      await Promise.all(Array.from({ length: 24 }, () => gateway.once(request("GET /found/even"))));
      expect(await found()).toBeGreaterThan(5);
    });
    const file = join(gateway.folder, "routes.yaml");
    const text = await Bun.file(file).text();
    const target = `- url: ${one.origin.url}/found`;
    writeFileSync(
      file,
      text.replace(target, (own) => `- url: ${right.origin.url}/found\n    ${own}`),
    );
    gateway.signal("SIGHUP");

    await eventually(async () => {
      const { text: routes } = await gateway.once(request("GET /internal/api/routes"));
      expect(routes).toContain(`${right.origin.url}/found`);
    });
    expect(await found()).toBeGreaterThan(5);
  });

  test("a worker that dies gives its slots back", async () => {
    const clients = await Promise.all(Array.from({ length: 2 }, () => gateway.connect()));
    for (const client of clients) client.send(request("GET /two/dies"));
    await one.hasHeld(2);
    const victims = await Promise.all(Array.from({ length: 12 }, () => gateway.connect()));
    for (const victim of victims) victim.send(request("GET /__test/crash"));
    await gateway.log("the worker's end", ({ event }) => event === "worker_died");
    // Either was under way in a worker that is gone, or its client leaves now.
    for (const client of clients) client.reset();
    await isIdle("/two");
    one.held.splice(0);
    await eventually(async () => {
      const after = gateway.once(request("GET /two/after"));
      await Promise.race([after.catch(() => null), one.drain(1)]);
      expect((await after).status).toBe(200);
    });
    for (const victim of victims) victim.reset();
  }, 30_000);
});
