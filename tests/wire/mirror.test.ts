// Copies of requests for a server that no client waits for: docs/upstreams.md#mirroring
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, type Settings, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H2EchoOrigin } from "../harness/h2-echo-origin.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { type OriginScript, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const LONGEST = 65_536;
const origin = EchoOrigin.start();
const mirror = ScriptedOrigin.start();
const bodies: { readonly target: string; readonly sha256: string }[] = [];
const keep: OriginScript = async (call) => {
  const { bytes } = await call.body();
  bodies.push({ target: call.request.target, sha256: sha256(bytes) });
  call.reply("200 OK", [], "mirrored");
};
mirror.otherwise(keep);
/** Its answers never come. */
const silent = ScriptedOrigin.start().otherwise((call) => void call.takeOver());
/** Its answers never end. */
const endless = ScriptedOrigin.start().otherwise((call) => {
  const connection = call.takeOver();
  call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  const pump = setInterval(() => {
    if (connection.isClosed || connection.ending !== "open") return clearInterval(pump);
    call.send(chunked(Buffer.alloc(200_000)).subarray(0, -5));
  }, 5);
});
const broken = ScriptedOrigin.start().otherwise((call) => call.sendAndFinish("HTTP/1.1 2OO\r\n\r\n"));
const away = ScriptedOrigin.start();
const awayUrl = away.url;
away.stop();
const twin = EchoOrigin.start();
for (const one of [origin, twin]) {
  one.on("/same", (call) => call.reply("200 OK", [], "same"));
  one.on("/long", (call) => call.reply("200 OK", [], Buffer.alloc(1_000_000, "a")));
}
origin.on("/status", (call) => call.reply("200 OK", [], "same"));
twin.on("/status", (call) => call.reply("404 Not Found", [], "same"));
origin.on("/body", (call) => call.reply("200 OK", [], "one"));
twin.on("/body", (call) => call.reply("200 OK", [], "two"));
origin.on("/pieces", (call) =>
  call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\non\r\n1\r\ne\r\n0\r\n\r\n"),
);
twin.on("/pieces", (call) => call.reply("200 OK", [], "one"));

const to = (url: string, more: object = {}) => ({ mirror: { target: url, ...more } });
const gateway = await startGateway({
  config: { server: { max_body_bytes: 20_000_000 } },
  routes: [
    upstream("/all", origin, {
      ...to(`${mirror.url}/base`),
      headers: { request: { set: { "X-Team": "shop" }, remove: ["Cookie"] } },
    }),
    upstream("/pass", origin, { ...to(mirror.url), inbound_chunked_mode: "passthrough" }),
    upstream("/some", origin, to(mirror.url, { share: "25%" })),
    upstream("/silent", origin, to(silent.url)),
    upstream("/endless", origin, to(endless.url)),
    upstream("/broken", origin, to(broken.url)),
    upstream("/away", origin, to(awayUrl)),
    upstream("/twin", origin, to(twin.url, { compare: true })),
    upstream(
      "/retried",
      { url: awayUrl },
      { target: undefined, targets: [{ url: awayUrl }, { url: origin.url }], ...to(mirror.url) },
    ),
    upstream("/dead", { url: awayUrl }, { ...to(mirror.url), retries: { attempts: 0 } }),
    upstream("/socket", origin, { ...to(mirror.url), strip_prefix: false }),
  ],
});
afterAll(() => stopAll(gateway, origin, mirror, silent, endless, broken, twin));

async function counted(route: string, on: Gateway = gateway): Promise<Record<string, number>> {
  const samples = await on.samples();
  const rows = samples.filter(
    ({ name, labels }) => name === "gateway_mirrored_requests_total" && labels.route === route,
  );
  return Object.fromEntries(rows.map(({ labels, value }) => [labels.result!, value]));
}

async function becomes(route: string, counts: Record<string, number>): Promise<void> {
  await eventually(async () => expect(await counted(route)).toEqual(counts));
}

describe("a copy", () => {
  test("is what the target got, with the same id", async () => {
    const reply = await gateway.once(
      request("GET /all/a%20b?c=d", [
        "X-Own: 1",
        "Cookie: a=b",
        "Authorization: Basic eDp5",
        "Connection: X-Hop",
        "X-Hop: 1",
      ]),
    );
    const [copy] = await mirror.until("the copy", () => {
      const found = mirror.requestsFor("/base/a%20b");
      return found.length > 0 ? found : undefined;
    });
    const real = origin.requestsFor("/a%20b")[0]!;
    expect([copy!.method, copy!.target]).toEqual(["GET", "/base/a%20b?c=d"]);
    expect(copy!.fields.list).toEqual(real.fields.list);
    expect(copy!.fields.get("x-request-id")).toBe(reply.fields.get("x-request-id")!);
    expect(copy!.fields.get("x-team")).toBe("shop");
  });

  test.each(["POST", "PUT", "DELETE", "PATCH"])("of %s has its body", async (method) => {
    const body = new SeededRandom(4).bytes(20_000);
    const echo = json<Echo>(await gateway.once(request(`${method} /all/${method}`, [], body)));
    expect(echo.sha256).toBe(sha256(body));
    await eventually(() => expect(bodies).toContainEqual({ target: `/base/${method}`, sha256: sha256(body) }));
  });

  test("has a body in chunks, gathered before or streaming", async () => {
    const body = new SeededRandom(5).bytes(30_000);
    for (const prefix of ["all", "pass"]) {
      const lines = ["Transfer-Encoding: chunked"];
      const echo = json<Echo>(
        await gateway.once(Buffer.concat([request(`POST /${prefix}/chunks`, lines), chunked(body, 999)])),
      );
      expect(echo.sha256).toBe(sha256(body));
      const target = prefix === "all" ? "/base/chunks" : "/chunks";
      await eventually(() => expect(bodies).toContainEqual({ target, sha256: sha256(body) }));
    }
  });

  test("of 64 KiB goes, one of more does not", async () => {
    const before = await counted("/all");
    for (const size of [LONGEST, LONGEST + 1, 5_000_000]) {
      const body = new SeededRandom(6).bytes(size);
      const echo = json<Echo>(await gateway.once(request(`POST /all/size${size}`, [], body)));
      expect(echo.sha256).toBe(sha256(body));
      const long = Buffer.concat([
        request(`POST /pass/size${size}`, ["Transfer-Encoding: chunked"]),
        chunked(body, 16_384),
      ]);
      expect(json<Echo>(await gateway.once(long)).sha256).toBe(sha256(body));
    }
    await eventually(async () => {
      const after = await counted("/all");
      expect([after.sent! - before.sent!, after.skipped! - (before.skipped ?? 0)]).toEqual([1, 2]);
    });
    expect(
      mirror.requests
        .filter(({ target }) => target.includes("size"))
        .map(({ target }) => target)
        .sort(),
    ).toEqual([`/base/size${LONGEST}`, `/size${LONGEST}`]);
    expect((await counted("/pass")).skipped).toBe(2);
  });

  test("of a request over HTTP/2", async () => {
    const client = await H2Client.connect(gateway.port);
    expect((await client.request(head("POST", "/all/h2"), "over two")).status).toBe(200);
    client.close();
    await eventually(() =>
      expect(bodies).toContainEqual({ target: "/base/h2", sha256: sha256(Buffer.from("over two")) }),
    );
    expect(mirror.requestsFor("/base/h2")[0]!.fields.get("via")).toBe("2 edge");
  });

  test("goes once where the request is tried again, and not at all where no target took it", async () => {
    for (let i = 0; i < 6; i++) {
      expect((await gateway.once(request(`PUT /retried/x${i}`, [], "again"))).status).toBe(200);
      await eventually(() => expect(mirror.requestsFor(`/x${i}`)).toHaveLength(1));
    }
    expect((await counted("/retried")).sent).toBe(6);
    expect((await gateway.once(request("POST /dead/x", [], "no"))).status).toBe(502);
    await becomes("/dead", { skipped: 1 });
  });

  test("of an upgrade is none", async () => {
    const client = await gateway.connect();
    const lines = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"];
    const reply = await client.exchange(
      request("GET /socket", [...lines, "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]),
    );
    expect(reply.status).toBe(101);
    client.close();
    await becomes("/socket", { skipped: 1 });
  });

  test("of a part of the requests, by chance", async () => {
    const client = await gateway.connect();
    for (let i = 0; i < 400; i++) expect((await client.exchange(request("GET /some/x"))).status).toBe(200);
    client.close();
    const { sent } = await counted("/some");
    expect(sent).toBeWithin(60, 140);
  });

  test("of a client that leaves in the midst of its body is none", async () => {
    const client = await gateway.connect();
    client.send("POST /all/cut HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 30000\r\n\r\nbegun");
    await origin.until("the request", () => origin.requestsFor("/cut")[0]);
    const before = (await counted("/all")).skipped ?? 0;
    client.reset();
    await eventually(async () => expect((await counted("/all")).skipped).toBe(before + 1));
    expect(mirror.requestsFor("/base/cut")).toEqual([]);
  });
});

describe("a mirror", () => {
  test("that is away fails alone, and is left out for a while", async () => {
    const client = await gateway.connect();
    for (let i = 0; i < 30; i++) {
      expect((await client.exchange(request("GET /away/x"))).status).toBe(200);
      await Bun.sleep(2);
    }
    client.close();
    await eventually(async () => {
      const { sent, failed, skipped } = await counted("/away");
      expect([sent === failed, sent! + skipped!, sent! < 15]).toEqual([true, 30, true]);
    });
    expect((await gateway.once(request("GET /internal/api/upstreams/health"))).text).not.toContain(
      awayUrl.slice(7) + '","status":"OPEN',
    );
  });

  test("that answers nonsense fails alone", async () => {
    expect((await gateway.once(request("GET /broken/x"))).status).toBe(200);
    await becomes("/broken", { sent: 1, failed: 1 });
  });

  test("that never answers delays no request, and takes no more than so many", async () => {
    const clients = await Promise.all(Array.from({ length: 20 }, () => gateway.connect()));
    const begun = performance.now();
    for (let i = 0; i < 20; i++) {
      await Promise.all(
        clients.map(async (client) => expect((await client.exchange(request("GET /silent/x"))).status).toBe(200)),
      );
    }
    expect(performance.now() - begun).toBeLessThan(5000);
    for (const client of clients) client.close();
    const { sent, skipped } = await counted("/silent");
    expect([sent, skipped]).toEqual([256, 144]);
    expect(silent.requests.length).toBe(256);
    // Their time ends: there are places again.
    await eventually(async () => expect((await counted("/silent")).failed).toBe(256));
  });

  test("whose answers never end is left when enough has come", async () => {
    for (let i = 0; i < 3; i++) expect((await gateway.once(request("GET /endless/x"))).status).toBe(200);
    await eventually(() => expect([endless.requests.length, endless.openConnections]).toEqual([3, 0]));
    await becomes("/endless", { sent: 3 });
  });
});

describe("compare", () => {
  test("counts what differs, and writes a line of it", async () => {
    for (const path of ["same", "pieces", "long"]) {
      expect((await gateway.once(request(`GET /twin/${path}`))).status).toBe(200);
    }
    await becomes("/twin", { sent: 3 });
    const reply = await gateway.once(request("GET /twin/status"));
    await becomes("/twin", { sent: 4, different: 1 });
    const line = await gateway.log("the difference", ({ event }) => event === "mirror_difference");
    expect(line).toMatchObject({
      route: "/twin",
      upstream: twin.url,
      request_id: reply.fields.get("x-request-id"),
      status: 200,
      mirror_status: 404,
      same_body: true,
    });
    expect((await gateway.once(request("GET /twin/body"))).text).toBe("one");
    await becomes("/twin", { sent: 5, different: 2 });
  });
});

test("a mirror that leads back to its route ends after ten rounds", async () => {
  const port = freePort();
  const round = await startGateway({
    port,
    routes: [upstream("/self", origin, to(`http://127.0.0.1:${port}/self`))],
  });
  expect((await round.once(request("GET /self/round"))).status).toBe(200);
  await eventually(async () => expect(await counted("/self", round)).toEqual({ sent: 10, skipped: 1 }));
  expect(origin.requestsFor("/round")).toHaveLength(10);
  await round.stop();
});

test("targets and mirrors of HTTP/2 are mirrored too, bodies of streams included", async () => {
  const [real, copies] = [await H2EchoOrigin.start(), await H2EchoOrigin.start()];
  const other = await startGateway({ routes: [upstream("/x", real, to(copies.url, { compare: true }))] });
  const client = await H2Client.connect(other.port);
  const body = Buffer.from(new SeededRandom(8).bytes(12_000));
  for (let i = 0; i < 3; i++) {
    expect(json<Echo>((await client.request(head("POST", "/x/y"), body)) as never).sha256).toBe(sha256(body));
    expect(json<Echo>(await other.once(request("PUT /x/y", [], body))).sha256).toBe(sha256(body));
  }
  client.close();
  // Both echo what they got: what came in a stream has a length for the mirror.
  await eventually(async () => expect(await counted("/x", other)).toEqual({ sent: 6, different: 3 }));
  expect([real.requests, copies.requests]).toEqual([6, 6]);
  real.stop();
  await stopAll(other, copies);
});

test("what the cache answers is not copied; what it stores is", async () => {
  const cached = await startGateway({
    config: { server: { cache: { enabled: true } } },
    routes: [upstream("/c", origin, to(twin.url, { compare: true }))],
  });
  for (const result of ["MISS", "HIT", "HIT"]) {
    const reply = await cached.once(request("GET /c/long"));
    expect([reply.fields.get("x-cache"), reply.body.length]).toEqual([result === "HIT" ? "HIT" : "MISS", 1_000_000]);
  }
  await eventually(async () => expect(await counted("/c", cached)).toEqual({ sent: 1 }));
  await cached.stop();
});

test("a mirror may be a UNIX socket", async () => {
  const folder = mkdtempSync(join(tmpdir(), "edge-sock-"));
  const socket = join(folder, "m.sock");
  const local = ScriptedOrigin.start({ socket }).otherwise((call) => call.reply("200 OK"));
  const other = await startGateway({ routes: [upstream("/x", origin, to(`unix:${socket}:/m`))] });
  expect((await other.once(request("GET /x/y"))).status).toBe(200);
  await eventually(() => expect(local.requestsFor("/m/y")).toHaveLength(1));
  await stopAll(other, local);
  rmSync(folder, { recursive: true, force: true });
});

test("a route shows its mirror", async () => {
  const { routes } = json<{ routes: { prefix: string; mirror: unknown }[] }>(
    await gateway.once(request("GET /internal/api/routes")),
  );
  expect(routes.find(({ prefix }) => prefix === "/some")!.mirror).toEqual({
    target: mirror.url,
    share: 0.25,
    compare: false,
  });
});

describe("several mirrors", async () => {
  const seen: Record<string, string[]> = { one: [], two: [], three: [] };
  const others = Object.keys(seen).map((name) =>
    ScriptedOrigin.start().otherwise(async (call) => {
      const { bytes } = await call.body();
      seen[name]!.push(`${call.request.target} ${sha256(bytes)}`);
      call.reply(name === "two" ? "404 Not Found" : "200 OK", [], "same");
    }),
  );
  const [one, two, three] = others as [ScriptedOrigin, ScriptedOrigin, ScriptedOrigin];
  const many = await startGateway({
    routes: [
      upstream("/many", origin, {
        mirrors: [
          { target: one.url, compare: true },
          { target: `${two.url}/base`, compare: true },
          { target: three.url, share: "1%" },
          { target: awayUrl },
        ],
      }),
    ],
  });
  afterAll(() => stopAll(many, ...others));

  test("get a copy each, whatever becomes of the others, and each is compared", async () => {
    const body = new SeededRandom(7).bytes(40_000);
    const small = body.subarray(0, 9000);
    expect((await many.once(request("GET /many/same"))).text).toBe("same");
    expect(json<Echo>(await many.once(request("POST /many/echo", [], body))).sha256).toBe(sha256(body));
    const h2 = await H2Client.connect(many.port);
    expect((await h2.request(head("POST", "/many/echo"), small)).status).toBe(200);
    h2.close();
    const copies = (base: string) =>
      [`/same ${sha256(Buffer.alloc(0))}`, `/echo ${sha256(body)}`, `/echo ${sha256(small)}`]
        .map((one) => `${base}${one}`)
        .sort();
    await eventually(() => expect([seen.one!.sort(), seen.two!.sort()]).toEqual([copies(""), copies("/base")]));
    await many.log("a difference", (line) => line.event === "mirror_difference" && line.upstream === two.url);
    const count = (result: string) => many.metric("gateway_mirrored_requests_total", { result });
    await eventually(async () => expect(await count("failed")).toBe(3));
    expect(await count("sent")).toBeGreaterThanOrEqual(9);
  });

  test("are one key or the other, and not too many", async () => {
    const faulty = (more: Settings) =>
      startGateway({ routes: [upstream("/x", origin, more)] }).then(
        (it) => it.stop().then(() => ""),
        (error: Error) => error.message,
      );
    expect(await faulty({ mirror: { target: one.url }, mirrors: [{ target: two.url }] })).toContain("remove one");
    expect(await faulty({ mirrors: Array(17).fill({ target: one.url }) })).toContain("at most 16 mirrors");
    expect(await faulty({ mirrors: [{ target: one.url }, { target: "ftp://x" }] })).toContain("mirrors[1].target");
  });
});
