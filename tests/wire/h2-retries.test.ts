import { afterAll, describe, expect, test } from "bun:test";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { makeCertificate } from "../harness/certificate.ts";
import { sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head, Type } from "../harness/h2-client.ts";
import { H2Origin, type H2OriginStream, MAX_STREAMS } from "../harness/h2-origin.ts";
import { H3Client } from "../harness/h3-client.ts";
import { chunked, request } from "../harness/raw-client.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

// What becomes of a request that an origin of HTTP/2 turns away, or has no room for.

const origin = await H2Origin.start();
const plain = ScriptedOrigin.start();
const timeouts = { connect: "1s", response_header: "1s" };
const certificate = await makeCertificate([{ type: "dns", value: "localhost" }]);
const tlsPort = freePort();
const server = { tls: { port: tlsPort, cert_file: "a.pem", key_file: "a.key" }, http3: { enabled: true } };
const gateway = await startGateway({
  files: { "a.pem": certificate.cert, "a.key": certificate.key },
  config: { server, proxy: { transport: { max_idle_conns: 0 } } },
  routes: [
    upstream("/h2", origin, { timeouts }),
    upstream("/patient", origin),
    upstream("/streamed", plain, { timeouts, inbound_chunked_mode: "passthrough" }),
  ],
});
afterAll(() => stopAll(gateway, origin, plain));

const BODY = Buffer.alloc(40_000, "0123456789abcdef");
const wholeBodies = (): string[] =>
  origin.streams.filter(({ isEnded }) => isEnded).map(({ body }) => sha256(Buffer.concat(body)));
const echoed = (stream: H2OriginStream): void => stream.answer(sha256(Buffer.concat(stream.body)));

describe("where bodies stream, none waits to be whole for a second attempt", () => {
  const LENGTH = ["content-length", "10"] as const;
  test.each(["GET", "PUT", "POST"])("%s with a length", async (method) => {
    const path = `/length-${method}`;
    plain.on(path, async (call) => {
      call.reply("200 OK", [], Buffer.from((await call.body()).bytes));
    });
    const arrived = (count: number) => plain.until("the head", () => plain.requestsFor(path)[count - 1]);
    const one = await gateway.connect();
    one.send(request(`${method} /streamed${path}`, ["Content-Length: 10"]));
    expect((await arrived(1)).fields.all("content-length")).toEqual(["10"]);
    one.send("0123456789");
    expect((await one.reply()).text).toBe("0123456789");
    one.close();
    const two = await H2Client.connect(gateway.port);
    const whole = two.headers(head(method, `/streamed${path}`, [LENGTH]), false);
    await arrived(2);
    two.data(whole, "01234");
    two.data(whole, "56789", true);
    expect((await two.reply(whole)).text).toBe("0123456789");
    // A client that leaves midway costs the origin's connection: no later request is read as the rest of the body.
    const cut = two.headers(head(method, `/streamed${path}`, [LENGTH]), false);
    const { connection } = await arrived(3);
    two.data(cut, "01234");
    two.frame(Type.reset, 0, cut, Buffer.of(0, 0, 0, 8));
    await plain.until("its end", () => (plain.connections[connection]!.ending !== "open" ? true : undefined));
    const next = two.headers(head("GET", "/streamed/none"));
    expect((await two.reply(next)).status).toBe(404);
    expect(plain.requestsFor("/none").at(-1)!.connection).not.toBe(connection);
    two.close();
  });
});

describe("a body that has begun to flow is not sent again without its beginning", () => {
  const TURNED_AWAY: readonly (readonly [string, (stream: H2OriginStream) => void])[] = [
    ["refused", (stream) => stream.refuse()],
    ["left behind a GOAWAY", ({ connection, id }) => connection.goAway(Math.max(0, id - 2))],
    [
      "left behind a GOAWAY and a close",
      ({ connection, id }) => {
        connection.goAway(Math.max(0, id - 2));
        connection.finish();
      },
    ],
  ];
  test.each(TURNED_AWAY)("of a stream that is %s behind its first DATA, from HTTP/2", async (_, turnAway) => {
    await origin.play({
      onData: (stream) => {
        if (stream.connection.number === 0 && stream.length > 0 && stream.body.length === 1) turnAway(stream);
      },
      onEnd: echoed,
    });
    const client = await H2Client.connect(gateway.port);
    for (const method of ["POST", "PUT"]) {
      const id = client.headers(head(method, "/h2/x"), false);
      for (let at = 0; at < BODY.length; at += 10_000) {
        client.data(id, BODY.subarray(at, at + 10_000), at + 10_000 === BODY.length);
        await Bun.sleep(10);
      }
      const reply = await client.reply(id);
      expect([200, 502]).toContain(reply.status);
    }
    for (const hash of wholeBodies()) expect(hash).toBe(sha256(BODY));
    client.close();
  });

  test.each(TURNED_AWAY)("of a stream that is %s behind its first DATA, from HTTP/1.1", async (_, turnAway) => {
    await origin.play({
      onData: (stream) => {
        if (stream.connection.number === 0 && stream.body.length === 1) turnAway(stream);
      },
      onEnd: echoed,
    });
    for (const method of ["POST", "PUT"]) {
      const client = await gateway.connect();
      await client.sendPieces(
        [
          request(`${method} /h2/x`, [`Content-Length: ${BODY.length}`]),
          BODY.subarray(0, 20_000),
          BODY.subarray(20_000),
        ],
        20,
      );
      expect([200, 502]).toContain((await client.reply(method)).status);
      client.close();
    }
    for (const hash of wholeBodies()) expect(hash).toBe(sha256(BODY));
  });

  test.each(TURNED_AWAY)("of a stream that is %s behind its first DATA, from HTTP/3", async (_, turnAway) => {
    await origin.play({
      onData: (stream) => {
        if (stream.connection.number === 0 && stream.body.length === 1) turnAway(stream);
      },
      onEnd: echoed,
    });
    const client = await H3Client.connect(tlsPort);
    const pieces = [BODY.subarray(0, 10_000), BODY.subarray(10_000, 30_000), BODY.subarray(30_000)];
    for (const method of ["POST", "PUT"]) {
      expect([200, 502]).toContain((await client.ask(method, "/h2/x", {}, { pieces })).status);
    }
    for (const hash of wholeBodies()) expect(hash).toBe(sha256(BODY));
    const small = await client.ask("POST", "/h2/x", { "content-length": "5" }, { pieces: [Buffer.from("hello")] });
    expect([small.status, small.body.toString()]).toEqual([200, sha256(Buffer.from("hello"))]);
    await client.close();
  });

  test("not even its end alone: an empty body in chunks is over with the attempt that had it", async () => {
    plain.on("/x", async (call) => {
      await call.body();
      call.takeOver().reset();
    });
    const started = performance.now();
    const bytes = request("PUT /streamed/x", ["Transfer-Encoding: chunked"], chunked(""));
    expect((await gateway.once(bytes)).status).toBe(502);
    expect(performance.now() - started).toBeLessThan(900);
  });
});

describe("a body that was gathered first", () => {
  // Beyond what is gathered in memory: it lies in a file.
  const LARGE = Buffer.alloc(1_500_000, "spooled ");
  const bytes = request("POST /patient/x", ["Transfer-Encoding: chunked"], chunked(LARGE, 60_000));

  test("is not sent again without its beginning", async () => {
    await origin.play({
      onData: (stream) => {
        if (stream.connection.number === 0 && stream.length > 100_000) stream.refuse();
      },
      onEnd: echoed,
    });
    expect((await gateway.once(bytes)).status).toBe(502);
    expect(wholeBodies()).toEqual([]);
  });

  test("is sent whole where the first connection did not last until it", async () => {
    await origin.play({
      settings: null,
      onHead: (stream) => {
        if (stream.connection.number === 0) stream.connection.cut();
        else stream.connection.settings([]);
      },
      onEnd: echoed,
    });
    const put = await gateway.once(request("PUT /patient/x", ["Transfer-Encoding: chunked"], chunked(LARGE, 60_000)));
    expect([put.status, put.text]).toEqual([200, sha256(LARGE)]);
  });
});

test("a client that awaits 100 (Continue) gets it once, whatever becomes of the first attempt", async () => {
  await origin.play({
    settings: null,
    onHead: (stream) => {
      if (stream.connection.number === 0) stream.refuse();
      stream.connection.settings([]);
    },
    onEnd: echoed,
  });
  const client = await gateway.connect();
  client.send(request("POST /h2/x", ["Expect: 100-continue", `Content-Length: ${BODY.length}`]));
  expect((await client.interim()).status).toBe(100);
  client.send(BODY);
  const reply = await client.reply("POST");
  expect([reply.status, reply.text, reply.interim.length]).toEqual([200, sha256(BODY), 0]);
  client.close();
});

describe("a request that was turned away untouched goes elsewhere", () => {
  test.each([
    ["refused", (stream: H2OriginStream) => stream.refuse()],
    ["left behind a GOAWAY", ({ connection, id }: H2OriginStream) => connection.goAway(Math.max(0, id - 2))],
  ] as const)("a small body with a length that is %s is kept, and sent whole", async (_, turnAway) => {
    await origin.play({
      onEnd: (stream) => (stream.connection.number === 0 ? turnAway(stream) : echoed(stream)),
    });
    for (const method of ["POST", "PATCH", "PUT"]) {
      await origin.play(origin.script.current);
      const reply = await gateway.once(request(`${method} /h2/x`, [], BODY.subarray(0, 5000)), method);
      expect([reply.status, reply.text]).toEqual([200, sha256(BODY.subarray(0, 5000))]);
    }
  });

  test("a body of any size, where the stream was refused before it began", async () => {
    await origin.play({
      settings: null,
      onHead: (stream) => {
        if (stream.connection.number === 0) {
          stream.refuse();
          stream.connection.settings([]);
        } else stream.connection.settings([]);
      },
      onEnd: echoed,
    });
    const reply = await gateway.once(request("POST /h2/x", [], BODY));
    expect([reply.status, reply.text]).toEqual([200, sha256(BODY)]);
  });
});

describe("streams beyond what the origin takes wait", () => {
  const ask = async (count: number, path = "/patient/x"): Promise<number[]> =>
    Promise.all(
      Array.from({ length: count }, async (_, i) => {
        const reply = await gateway.once(request(`POST ${path}`, [], `body ${i}`));
        return reply.status === 200 && reply.text !== sha256(Buffer.from(`body ${i}`)) ? -1 : reply.status;
      }),
    );
  const all200 = (count: number): number[] => Array.from({ length: count }, () => 200);
  const later = (stream: H2OriginStream): void => void setTimeout(() => echoed(stream), 20);

  test("no connection has more of them than SETTINGS allow", async () => {
    await origin.play({ settings: [[MAX_STREAMS, 3]], onEnd: later });
    expect(await ask(40)).toEqual(all200(40));
    expect(Math.max(...origin.connections.map(({ mostOpen }) => mostOpen))).toBeLessThanOrEqual(3);
  });

  test("also where node enforces it", async () => {
    const server = http2.createServer({ settings: { maxConcurrentStreams: 3 } });
    server.on("session", (session) => session.on("error", () => {}));
    server.on("stream", (stream) => {
      const answering = stream as http2.ServerHttp2Stream;
      stream.on("error", () => {});
      const parts: Buffer[] = [];
      stream.on("data", (part: Buffer) => parts.push(part));
      stream.on("end", () =>
        setTimeout(() => {
          answering.respond({ ":status": 200 });
          answering.end(sha256(Buffer.concat(parts)));
        }, 20),
      );
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `h2c://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const own = await startGateway({ routes: [upstream("/", { url })] });
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async (_, i) => (await own.once(request("POST /x", [], `${i}`))).status),
    );
    expect(statuses).toEqual(all200(40));
    server.close();
    await own.stop();
  });

  test("where SETTINGS come late, behind a first stream", async () => {
    await origin.play({
      settings: null,
      onHead: ({ connection, id }) => {
        if (id === 1) setTimeout(() => connection.settings([[MAX_STREAMS, 1]]), 100);
      },
      onEnd: later,
    });
    expect(await ask(20)).toEqual(all200(20));
    expect(Math.max(...origin.connections.map(({ mostOpen }) => mostOpen))).toBe(1);
  });

  test("where SETTINGS do not come until a request has come whole", async () => {
    await origin.play({
      settings: null,
      onEnd: (stream) => {
        if (stream.id === 1) stream.connection.settings([]);
        later(stream);
      },
    });
    expect(await ask(5)).toEqual(all200(5));
  });

  test("where the limit becomes smaller, even 0 for a while", async () => {
    await origin.play({
      settings: [[MAX_STREAMS, 2]],
      onEnd: (stream) => {
        const { connection, id } = stream;
        if (id === 3) {
          connection.settings([[MAX_STREAMS, 0]]);
          setTimeout(() => connection.settings([[MAX_STREAMS, 1]]), 200);
        }
        later(stream);
      },
    });
    expect(await ask(12)).toEqual(all200(12));
  });

  test("no longer than the time for an answer", async () => {
    await origin.play({ settings: [[MAX_STREAMS, 0]] });
    const started = performance.now();
    expect(await ask(10, "/h2/x")).toEqual(Array.from({ length: 10 }, () => 504));
    expect(performance.now() - started).toBeLessThan(5000);
  });

  test("and the time runs for a complete small POST that is not answered", async () => {
    await origin.play({ settings: [[MAX_STREAMS, 3]] });
    expect(await ask(8, "/h2/x")).toEqual(Array.from({ length: 8 }, () => 504));
  });

  test("those whose client leaves make room for others", async () => {
    await origin.play({ settings: [[MAX_STREAMS, 0]], onEnd: later });
    const client = await gateway.connect();
    const first = ask(1);
    await eventually(() => expect(origin.streams.length).toBe(1));
    client.send(request("POST /patient/x", [], "gone"));
    await Bun.sleep(50);
    client.reset();
    await Bun.sleep(50);
    origin.connections[0]!.settings([[MAX_STREAMS, 5]]);
    expect([...(await first), ...(await ask(3))]).toEqual(all200(4));
    expect(wholeBodies()).not.toContain(sha256(Buffer.from("gone")));
  });
});

test("a stream that is answered while its body is held is not asked for the rest", async () => {
  await origin.play({ onHead: (stream) => stream.answer("early") });
  const reply = await gateway.once(request("POST /patient/x", [], BODY));
  expect([reply.status, reply.text]).toEqual([200, "early"]);
  expect(wholeBodies().filter((hash) => hash !== sha256(BODY))).toEqual([]);
});
