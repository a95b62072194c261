import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import {
  END_HEADERS,
  END_STREAM,
  encode,
  frameBytes,
  H2Client,
  head,
  PREFACE,
  Type,
  uint32,
} from "../harness/h2-client.ts";
import { request } from "../harness/raw-client.ts";

let origin: EchoOrigin;
let gateway: Gateway;
const BIG = Buffer.alloc(1024 * 1024, "abcdefg");

beforeAll(async () => {
  origin = EchoOrigin.start();
  origin.on("/big", (call) => call.reply("200 OK", ["Content-Type: text/plain"], BIG));
  origin.on("/endless", (call) => {
    call.takeOver().send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nstart");
  });
  origin.on("/chunks", (call) => {
    call.send("HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n");
    call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: x-sum\r\n\r\n");
    call.send("3\r\nabc\r\n3\r\ndef\r\n0\r\nX-Sum: 7\r\n\r\n");
  });
  origin.on("/cut", (call) => call.sendAndFinish("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"));
  origin.on("/slow-upload", async (call) => {
    call.connection.hold();
    await Bun.sleep(300);
    call.connection.release();
    const body = await call.body();
    call.reply("200 OK", [], sha256(body.bytes));
  });
  gateway = await startGateway({
    config: { server: { max_body_bytes: 4_000_000 } },
    routes: [
      upstream("/node", origin),
      upstream("/limited", origin, { max_body_bytes: 10 }),
      upstream("/pass", origin, { inbound_chunked_mode: "passthrough" }),
      upstream("/reject", origin, { inbound_chunked_mode: "reject" }),
    ],
  });
});
afterAll(async () => {
  await gateway.stop();
  origin.stop();
});

async function withClient<T>(use: (client: H2Client) => Promise<T>): Promise<T> {
  const client = await H2Client.connect(gateway.port);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}

describe("requests by HTTP/2", () => {
  test("HTTP/1.1 and HTTP/2 are served on one port, the preface cut anywhere", async () => {
    const wanted = Buffer.concat([
      Buffer.from(PREFACE),
      frameBytes(Type.settings, 0, 0),
      frameBytes(Type.headers, END_HEADERS | END_STREAM, 1, encode(head("GET", "/health"))),
    ]);
    for (const cut of [1, 4, 14, 16, 18, 23, 24, 30, 40]) {
      const client = await gateway.connect();
      await client.sendPieces([wanted.subarray(0, cut), wanted.subarray(cut)], 5);
      await client.until("the answer", () => client.peek().includes('{"status":"ok"}') || undefined);
      client.close();
    }
    expect((await gateway.once(request("GET /health"))).status).toBe(200);
  });

  test("a second request of HTTP/1.1 cannot turn into HTTP/2", async () => {
    const client = await gateway.connect();
    expect((await client.exchange(request("GET /health"))).status).toBe(200);
    expect((await client.exchange(PREFACE, "GET")).status).toBe(505);
    client.close();
  });

  test("a preface that the client's end cuts is refused as what it was until then", async () => {
    const client = await gateway.connect();
    client.send(PREFACE.slice(0, 20));
    client.finish();
    expect((await client.reply()).status).toBe(505);
    expect((await client.takeRest()).byteLength).toBe(0);
    client.close();
  });

  test("a body with a length goes on with it", async () => {
    const reply = await withClient((c) => c.request(head("POST", "/node/a", [["content-length", "5"]]), "hello"));
    const echo = JSON.parse(reply.text) as Echo;
    expect(reply.status).toBe(200);
    expect([echo.headers["content-length"], echo.length, echo.framing]).toEqual(["5", 5, "length"]);
  });

  test.each(["/node/a", "/reject/a"])("a body without a length is gathered, and goes on with one: %s", async (path) => {
    const reply = await withClient((client) => client.request(head("POST", path), "hello"));
    const echo = JSON.parse(reply.text) as Echo;
    expect([echo.headers["content-length"], echo.length]).toEqual(["5", 5]);
    expect(echo.headers["transfer-encoding"]).toBeUndefined();
  });

  test("with passthrough it goes on in chunks, with its trailers", async () => {
    const echo = await withClient(async (client) => {
      const id = client.headers(head("POST", "/pass/a"), false);
      client.data(id, "hello");
      client.headers([["x-sum", "5"]], true, id);
      return JSON.parse((await client.reply(id)).text) as Echo;
    });
    expect(echo.headers["transfer-encoding"]).toBe("chunked");
    expect([echo.length, echo.trailers]).toEqual([5, { "x-sum": "5" }]);
  });

  test("trailers of a gathered body become headers", async () => {
    const echo = await withClient(async (client) => {
      const id = client.headers(head("POST", "/node/a"), false);
      client.data(id, "hello");
      client.headers([["x-sum", "5"]], true, id);
      return JSON.parse((await client.reply(id)).text) as Echo;
    });
    expect(echo.headers["x-sum"]).toBe("5");
  });

  test.each([[["content-length", "5"]], [[":path", "/b"]], [["te", "trailers"]]] as const)(
    "trailers that may not stand there are refused: %j",
    async (field) => {
      const reply = await withClient(async (client) => {
        const id = client.headers(head("POST", "/node/a"), false);
        client.headers([field as unknown as readonly [string, string]], true, id);
        return client.reply(id);
      });
      expect(reply.status).toBe(400);
    },
  );

  test("a body that is too large is refused, with or without a length", async () => {
    const bodies = await withClient(async (client) => [
      await client.request(head("POST", "/limited/a", [["content-length", "11"]]), "hello world"),
      await client.request(head("POST", "/limited/a"), "hello world"),
    ]);
    for (const reply of bodies)
      expect([reply.status, JSON.parse(reply.text).error]).toEqual([413, "413 Payload Too Large"]);
  });

  test("several cookie fields become one", async () => {
    const reply = await withClient((client) =>
      client.request(
        head("GET", "/node/a", [
          ["cookie", "a=1"],
          ["x-b", "2"],
          ["cookie", "c=3"],
          ["cookie", "d=4"],
        ]),
      ),
    );
    const echo = JSON.parse(reply.text) as Echo;
    expect([echo.headers.cookie, echo.headers["x-b"]]).toEqual(["a=1; c=3; d=4", "2"]);
  });

  test("HEAD, CONNECT, an unknown path, a wrong method", async () => {
    await withClient(async (client) => {
      const answer = await client.request(head("HEAD", "/node/big"));
      expect([answer.status, answer.body.length]).toEqual([200, 0]);
      expect(
        (
          await client.request([
            [":method", "CONNECT"],
            [":authority", "gw.test:80"],
          ])
        ).status,
      ).toBe(405);
      expect((await client.request(head("GET", "/nowhere"))).status).toBe(404);
      expect((await client.request(head("POST", "/health"), "x")).status).toBe(405);
    });
  });

  test("interim answers, chunks and trailers of the origin come through", async () => {
    const reply = await withClient((client) => client.request(head("GET", "/node/chunks")));
    expect([reply.interim, reply.status, reply.text]).toEqual([[103], 200, "abcdef"]);
    expect(reply.trailers.get("x-sum")).toBe("7");
    expect([...reply.fields.keys()].filter((name) => name !== name.toLowerCase())).toEqual([]);
  });

  test("100-continue is given when the origin is there", async () => {
    await withClient(async (client) => {
      const id = client.headers(
        head("POST", "/node/a", [
          ["expect", "100-continue"],
          ["content-length", "5"],
        ]),
        false,
      );
      await client.until("100", () => (client.seen(id).interim.includes(100) ? true : undefined));
      client.data(id, "hello", true);
      expect((await client.reply(id)).status).toBe(200);
    });
  });

  test("an answer that breaks off is a reset, never a clean end", async () => {
    const reply = await withClient((client) => client.request(head("GET", "/node/cut")));
    expect([reply.status, reply.isEnded]).toEqual([200, false]);
    expect(reply.reset).toBe(2);
  });

  test("what is sent stays within the windows, the stream's and the connection's", async () => {
    const client = await H2Client.connect(gateway.port, [[4, 1000]], false);
    const id = client.headers(head("GET", "/node/big"));
    await client.until("the window to fill", () => (client.seen(id).body.length === 1000 ? true : undefined));
    await Bun.sleep(50);
    expect(client.seen(id).body.length).toBe(1000);
    client.frame(Type.windowUpdate, 0, id, uint32(500_000));
    await client.until("the other window", () => (client.seen(id).body.length === 65535 ? true : undefined));
    await Bun.sleep(50);
    expect(client.seen(id).body.length).toBe(65535);
    client.frame(Type.windowUpdate, 0, 0, uint32(2_000_000));
    client.frame(Type.windowUpdate, 0, id, uint32(1_000_000));
    const reply = await client.reply(id);
    expect(sha256(reply.body)).toBe(sha256(BIG));
    client.close();
  });

  test("an upload that the origin does not take is held back, and arrives whole", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(head("POST", "/pass/slow-upload"), false);
    let sent = 0;
    const granted = (): number => {
      const updates = client.frames.filter(({ type, streamId }) => type === Type.windowUpdate && streamId === id);
      return updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 262_144);
    };
    while (sent < BIG.length) {
      const room = Math.min(granted() - sent, 16384, BIG.length - sent);
      if (room > 0) client.data(id, BIG.subarray(sent, sent + room), sent + room === BIG.length);
      else await Bun.sleep(2);
      sent += Math.max(0, room);
    }
    const reply = await client.reply(id);
    expect(reply.text).toBe(sha256(BIG));
    client.close();
  });

  test("a stream that is given up stops the origin, and nothing else", async () => {
    await withClient(async (client) => {
      const id = client.headers(head("GET", "/node/endless"));
      await client.until("the first bytes", () => (client.seen(id).body.length > 0 ? true : undefined));
      const connection = origin.connections[origin.requestsFor("/endless").at(-1)!.connection]!;
      client.frame(Type.reset, 0, id, uint32(8));
      await eventually(() => expect(connection.ending).not.toBe("open"));
      expect((await client.request(head("GET", "/node/a"))).status).toBe(200);
    });
  });

  test("many streams at once get each their own", async () => {
    await withClient(async (client) => {
      const paths = Array.from({ length: 100 }, (_, i) => `/node/p${i}`);
      const ids = paths.map((path) => client.headers(head("GET", path)));
      const replies = await Promise.all(ids.map((id) => client.reply(id)));
      expect(replies.map(({ text }) => (JSON.parse(text) as Echo).target)).toEqual(paths.map((path) => path.slice(5)));
    });
  });

  test("a head that is too large is 431, a target that is too long 414, and the connection goes on", async () => {
    await withClient(async (client) => {
      const many = Array.from({ length: 101 }, (_, i) => [`x-${i}`, "1"] as const);
      expect((await client.request(head("GET", "/node/a", many))).status).toBe(431);
      expect((await client.request(head("GET", "/node/a", [["x-a", "a".repeat(9000)]]))).status).toBe(431);
      expect((await client.request(head("GET", `/node/${"a".repeat(8200)}`))).status).toBe(414);
      const id = client.nextId();
      const large = encode(
        head(
          "GET",
          "/node/a",
          Array.from({ length: 10 }, (_, i) => [`x-${i}`, "a".repeat(7000)]),
        ),
      );
      client.frame(Type.headers, END_STREAM, id, large.subarray(0, 16384));
      for (let at = 16384; at < large.length; at += 16384) {
        const isLast = at + 16384 >= large.length;
        client.frame(Type.continuation, isLast ? END_HEADERS : 0, id, large.subarray(at, at + 16384));
      }
      expect((await client.reply(id)).status).toBe(431);
      expect((await client.request(head("GET", "/node/a"))).status).toBe(200);
    });
  });
});
