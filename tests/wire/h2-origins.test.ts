import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { eventually } from "../harness/eventually.ts";
import { freePort, type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, json, request } from "../harness/raw-client.ts";

// Origins that speak HTTP/2 (`h2c://`), with clients of both versions before the gateway.

let origin: http2.Http2Server;
let gateway: Gateway;
const sessions = new Set<http2.ServerHttp2Session>();
const resets: number[] = [];
/** An answer that a test is to break off. */
let begun: http2.ServerHttp2Stream | null = null;
const SOME = Buffer.alloc(50_000, "abc");
const BIG = Buffer.alloc(1024 * 1024, "0123456789");

beforeAll(async () => {
  origin = http2.createServer({ settings: { maxConcurrentStreams: 50 } });
  origin.on("session", (session) => {
    sessions.add(session);
    session.on("close", () => sessions.delete(session));
    session.on("error", () => {});
  });
  origin.on("stream", (stream, headers) => answer(stream as http2.ServerHttp2Stream, headers));
  await new Promise<void>((resolve) => origin.listen(0, "127.0.0.1", resolve));
  const url = `h2c://127.0.0.1:${(origin.address() as AddressInfo).port}`;
  gateway = await startGateway({
    routes: [
      upstream("/h2", { url }),
      upstream("/hasty", { url }, { timeouts: { response_header: "500ms" } }),
      upstream("/checked", { url }, { health_check: { path: "/health", interval: "200ms", timeout: "10s" } }),
      upstream("/gone", { url: `h2c://127.0.0.1:${freePort()}` }),
    ],
  });
});
afterAll(async () => {
  await gateway.stop();
  for (const session of sessions) session.destroy();
  origin.close();
});

function answer(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders): void {
  stream.on("error", () => {});
  stream.on("aborted", () => resets.push(stream.rstCode ?? -1));
  const path = headers[":path"];
  if (path === "/chat") {
    stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
    stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0", "x-seen": headers.te ?? "none" }));
    stream.on("data", (chunk) => stream.write(chunk));
    stream.on("end", () => stream.end());
  } else if (path === "/only") {
    stream.respond({ ":status": 200, "grpc-status": "5" }, { endStream: true });
  } else if (path === "/big") {
    stream.respond({ ":status": 200, "content-length": BIG.length });
    stream.end(BIG);
  } else if (path === "/some") {
    stream.respond({ ":status": 200 });
    stream.end(SOME);
  } else if (path === "/early") {
    stream.additionalHeaders({ ":status": 103, link: "</a>" });
    stream.respond({ ":status": 200 });
    stream.end("late");
  } else if (path === "/refuse") stream.close(http2.constants.NGHTTP2_REFUSED_STREAM);
  else if (path === "/break") {
    stream.respond({ ":status": 200 });
    stream.write("part");
    begun = stream;
  } else if (path !== "/silent") echo(stream, headers);
}

function echo(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders): void {
  let length = 0;
  let trailers: unknown = {};
  stream.on("data", (chunk: Buffer) => {
    length += chunk.length;
  });
  stream.on("trailers", (fields) => {
    trailers = { ...fields };
  });
  stream.on("end", () => {
    stream.respond({ ":status": 200, "content-type": "application/json" });
    stream.end(JSON.stringify({ headers, length, trailers }));
  });
}

interface Seen {
  readonly headers: Record<string, string>;
  readonly length: number;
  readonly trailers: Record<string, string>;
}

describe("origins of HTTP/2", () => {
  test("a request of HTTP/1.1 arrives as one of HTTP/2, the prefix stripped and nothing of the connection in it", async () => {
    const lines = ["Connection: keep-alive, X-Hop", "X-Hop: 1", "X-Kept: 2", "Cookie: a=1"];
    const { headers } = json<Seen>(await gateway.once(request("GET /h2/a%2Fb?x=1", lines)));
    expect(headers[":path"]).toBe("/a%2Fb?x=1");
    expect([headers[":authority"], headers[":scheme"], headers["x-kept"]]).toEqual(["gw.test", "http", "2"]);
    expect(Object.keys(headers).filter((name) => ["connection", "x-hop", "host", "keep-alive"].includes(name))).toEqual(
      [],
    );
    expect(headers["x-forwarded-for"]).toBe("127.0.0.1");
  });

  test("bodies with a length, in chunks, and by HTTP/2 arrive whole", async () => {
    const one = await gateway.once(request("POST /h2/e", [], "hello"));
    expect(json<Seen>(one).length).toBe(5);
    const two = await gateway.once(
      Buffer.concat([request("POST /h2/e", ["Transfer-Encoding: chunked"]), chunked(BIG)]),
    );
    expect(json<Seen>(two)).toMatchObject({
      length: BIG.length,
      headers: { "content-length": `${BIG.length}` },
    });
    const client = await H2Client.connect(gateway.port);
    const three = await client.request(head("POST", "/h2/e"), "hello!");
    expect(JSON.parse(three.text).length).toBe(6);
    client.close();
  });

  test.each(["POST", "GET", "DELETE"])("a length of 0 goes on: %s", async (method) => {
    const one = json<Seen>(await gateway.once(request(`${method} /h2/e`, ["Content-Length: 0"])));
    const client = await H2Client.connect(gateway.port);
    const fields = head(method, "/h2/e", [["content-length", "0"]]);
    const two = JSON.parse((await client.request(fields)).text) as Seen;
    const three = JSON.parse((await client.request(fields, "")).text) as Seen;
    expect([one, two, three].map(({ headers }) => headers["content-length"])).toEqual(["0", "0", "0"]);
    client.close();
  });

  test("an answer with a length and one without reach a client of HTTP/1.1", async () => {
    const big = await gateway.once(request("GET /h2/big"));
    expect([big.framing, big.body.equals(BIG)]).toEqual(["length", true]);
    const chat = await gateway.once(request("POST /h2/chat", ["TE: trailers"], "ping"));
    expect([chat.framing, chat.text, chat.trailers.get("grpc-status")]).toEqual(["chunked", "ping", "0"]);
  });

  test("both bodies flow at the same time, and trailers follow both", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(
      head("POST", "/h2/chat", [
        ["te", "trailers"],
        ["content-type", "application/grpc"],
      ]),
      false,
    );
    for (const [i, part] of ["one", "two", "three"].entries()) {
      client.data(id, part);
      const wanted = ["one", "onetwo", "onetwothree"][i]!;
      await client.until(wanted, () => (client.seen(id).text === wanted ? true : undefined));
    }
    client.data(id, "", true);
    const reply = await client.reply(id);
    expect([reply.trailers.get("grpc-status"), reply.trailers.get("x-seen")]).toEqual(["0", "trailers"]);
    client.close();
  });

  test("request trailers go through", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(head("POST", "/h2/e"), false);
    client.data(id, "hello");
    client.headers([["x-sum", "5"]], true, id);
    expect(JSON.parse((await client.reply(id)).text)).toMatchObject({ length: 5, trailers: { "x-sum": "5" } });
    client.close();
  });

  test("an answer of trailers alone, and interim answers", async () => {
    const client = await H2Client.connect(gateway.port);
    const only = await client.request(head("POST", "/h2/only"), "x");
    expect([only.status, only.fields.get("grpc-status"), only.isEnded]).toEqual([200, "5", true]);
    const early = await client.request(head("GET", "/h2/early"));
    expect([early.interim, early.text]).toEqual([[103], "late"]);
    client.close();
  });

  test("many streams share few connections", async () => {
    const client = await H2Client.connect(gateway.port);
    const ids = Array.from({ length: 100 }, () => client.headers(head("GET", "/h2/some")));
    for (const id of ids) expect((await client.reply(id)).body.equals(SOME)).toBe(true);
    expect(sessions.size).toBeLessThanOrEqual(4);
    client.close();
  });

  test("a stream that the client gives up is given up at the origin, and its connection goes on", async () => {
    const client = await H2Client.connect(gateway.port);
    const before = resets.length;
    const id = client.headers(head("POST", "/h2/chat"), false);
    client.data(id, "x");
    await client.until("the echo", () => (client.seen(id).text === "x" ? true : undefined));
    client.frame(3, 0, id, Buffer.from([0, 0, 0, 8]));
    await eventually(() => expect(resets.length).toBe(before + 1));
    expect((await client.request(head("GET", "/h2/early"))).status).toBe(200);
    client.close();
  });

  test("failures: refused, broken off, silent, not there", async () => {
    expect((await gateway.once(request("GET /h2/refuse"))).status).toBe(502);
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(head("GET", "/h2/break"));
    await client.until("the part", () => (client.seen(id).text === "part" ? true : undefined));
    begun!.destroy(new Error("broken off"));
    const broken = await client.reply(id);
    expect([broken.status, broken.isEnded]).toEqual([200, false]);
    client.close();
    expect((await gateway.once(request("GET /hasty/silent"))).status).toBe(504);
    expect((await gateway.once(request("GET /gone/a"))).status).toBe(502);
    expect((await gateway.once(request("GET /h2/early"))).status).toBe(200);
  });

  test("it is asked for its health by HTTP/2", async () => {
    const report = await gateway.once(request("GET /internal/api/upstreams/health"));
    const rows = json<{ upstreams: { route: string; status: string; status_code: number }[] }>(report).upstreams;
    const states = new Map(rows.map((row) => [row.route, [row.status, row.status_code]]));
    expect([states.get("/h2"), states.get("/gone")]).toEqual([
      ["CLOSED", 200],
      ["UNREACHABLE", 0],
    ]);
    expect((await gateway.once(request("GET /checked/early"))).text).toBe("late");
  });

  test("a connection that the origin ends is replaced", async () => {
    for (const session of sessions) session.close();
    expect((await gateway.once(request("GET /h2/early"))).text).toBe("late");
  });
});
