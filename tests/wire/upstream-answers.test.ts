import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

const BODY = new SeededRandom(3).bytes(300_000);
const OK = "HTTP/1.1 200 OK\r\n";

origin.on("/length", (call) => call.reply("200 OK", [], BODY));
origin.on("/chunked", (call) => {
  call.send(`${OK}Transfer-Encoding: chunked\r\n\r\n`);
  call.send(chunked(BODY, 7777));
});
origin.on("/until-close", (call) => {
  call.takeOver();
  call.send(`${OK}\r\n`);
  call.sendAndFinish(BODY);
});

describe("a body comes exactly, whatever its framing", () => {
  test.each(["length", "chunked", "until-close"])(
    "(%s) to an HTTP/1.1 client, whose connection goes on",
    async (kind) => {
      const client = await gateway.connect();
      for (let i = 0; i < 2; i++) {
        const reply = await client.exchange(request(`GET /node/${kind}`));
        expect([reply.framing, sha256(reply.body)]).toEqual([kind === "length" ? "length" : "chunked", sha256(BODY)]);
      }
      client.close();
    },
  );

  test.each(["length", "chunked", "until-close"])("(%s) to an HTTP/1.0 client", async (kind) => {
    const client = await gateway.connect();
    const reply = await client.exchange(request(`GET /node/${kind} HTTP/1.0`));
    expect([reply.fields.has("transfer-encoding"), sha256(reply.body)]).toEqual([false, sha256(BODY)]);
    expect(await client.ended()).toBe("fin");
    client.close();
  });

  test("in pieces of the origin's choice", async () => {
    origin.on("/pieces", async (call) => {
      const text = `${OK}Content-Length: 26\r\nX-A: 1\r\n\r\nabcdefghijklmnopqrstuvwxyz`;
      await call.connection.sendPieces(text, 1);
    });
    const reply = await gateway.once(request("GET /node/pieces"));
    expect([reply.text, reply.fields.get("x-a")]).toEqual(["abcdefghijklmnopqrstuvwxyz", "1"]);
  });

  test("at once, not when the answer is complete", async () => {
    const mayEnd = Promise.withResolvers<void>();
    origin.on("/stream", async (call) => {
      call.send(`${OK}Transfer-Encoding: chunked\r\nContent-Type: text/event-stream\r\n\r\n6\r\nfirst\n\r\n`);
      await mayEnd.promise;
      call.send("5\r\nlast\n\r\n0\r\n\r\n");
    });
    const client = await gateway.connect();
    client.send(request("GET /node/stream"));
    expect((await client.takeUntil("first\n", 65536)).toString("latin1")).toContain("200 OK");
    mayEnd.resolve();
    await client.takeUntil("0\r\n\r\n", 65536);
    client.close();
  });
});

describe("an answer without a body", () => {
  test.each([
    ["204", "HTTP/1.1 204 No Content\r\n\r\n", 204],
    ["204 with a length of 0", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204],
    ["304", 'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n', 304],
    ["304 with the length of what it stands for", "HTTP/1.1 304 Not Modified\r\nContent-Length: 50\r\n\r\n", 304],
    ["304 with a transfer coding", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", 304],
    ["200 of no bytes", `${OK}Content-Length: 0\r\n\r\n`, 200],
    ["200 of no chunks", `${OK}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`, 200],
  ])("(%s) is over at once, and the connection goes on", async (_name, bytes, status) => {
    origin.on("/bodiless", (call) => call.send(bytes));
    const client = await gateway.connect();
    for (let i = 0; i < 2; i++) {
      const reply = await client.exchange(request("GET /node/bodiless"));
      expect([reply.status, reply.body.byteLength]).toEqual([status, 0]);
      if (status === 204) expect(reply.fields.has("content-length")).toBe(false);
    }
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test("(204 with a lying length) is 204 without it, or 502", async () => {
    origin.on("/bodiless", (call) => call.send("HTTP/1.1 204 No Content\r\nContent-Length: 50\r\n\r\n"));
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /node/bodiless"));
    if (reply.status !== 502) expect([reply.status, reply.fields.has("content-length")]).toEqual([204, false]);
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test.each([
    ["with a length", `${OK}Content-Length: 1000\r\n\r\n`],
    ["chunked", `${OK}Transfer-Encoding: chunked\r\n\r\n`],
    ["without framing", `${OK}X-A: 1\r\n\r\n`],
  ])("to HEAD (%s) is over at once, and the connection goes on", async (name, bytes) => {
    origin.on("/head", (call) => call.send(bytes));
    const client = await gateway.connect();
    for (let i = 0; i < 2; i++) {
      const reply = await client.exchange(request("HEAD /node/head"));
      expect(reply.status).toBe(200);
      if (name === "with a length") expect(reply.fields.get("content-length")).toBe("1000");
    }
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });
});

describe("interim answers", () => {
  test("103 passes, the final answer follows", async () => {
    origin.on("/hints", (call) => {
      call.send("HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nConnection: x\r\n\r\n");
      call.reply("200 OK", [], "final");
    });
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /node/hints"));
    expect(reply.interim.map((each) => [each.status, each.fields.get("link")])).toEqual([
      [103, "</style.css>; rel=preload"],
    ]);
    expect(reply.text).toBe("final");
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test("100 of the origin is not the answer", async () => {
    origin.on("/continue", async (call) => {
      call.send("HTTP/1.1 100 Continue\r\n\r\n");
      call.reply("200 OK", [], String((await call.body()).bytes.byteLength));
    });
    const client = await gateway.connect();
    expect((await client.exchange(request("POST /node/continue", [], "hello"))).text).toBe("5");
    expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
    client.close();
  });

  test("do not go to an HTTP/1.0 client", async () => {
    const reply = await gateway.once(request("GET /node/hints HTTP/1.0"));
    expect([reply.interim.length, reply.text]).toEqual([0, "final"]);
  });
});

test("trailers never become something else, and the body is whole", async () => {
  origin.on("/trailers", (call) => {
    call.send(`${OK}Transfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n`);
    call.send(chunked("hello", 2, ["X-Sum: 5"]));
  });
  const client = await gateway.connect();
  for (const lines of [[], ["TE: trailers", "Connection: TE"]]) {
    const reply = await client.exchange(request("GET /node/trailers", lines));
    expect(reply.text).toBe("hello");
    expect([null, "5"]).toContain(reply.trailers.get("x-sum"));
    expect(reply.fields.get("x-sum")).toBeNull();
  }
  expect((await client.exchange(request("GET /node/canary"))).status).toBe(200);
  client.close();
});

describe("an answer that comes before the body is there", () => {
  test("reaches the client at once", async () => {
    origin.on("/early", (call) => {
      call.takeOver();
      call.reply("401 Unauthorized", ["Connection: close"], "no");
      call.connection.finish();
    });
    const client = await gateway.connect();
    client.send(request("POST /node/early", ["Content-Length: 1000000"], "only the start"));
    const reply = await client.reply("POST");
    expect([reply.status, reply.text]).toEqual([401, "no"]);
    client.close();
    expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
  });

  test("leaves the rest of the body no chance to be taken for a request", async () => {
    const before = origin.sequence;
    const trap = request("GET /node/canary").toString("latin1");
    const client = await gateway.connect();
    client.send(request("POST /node/early", [`Content-Length: ${10 + trap.length}`], "0123456789"));
    expect((await client.reply("POST")).status).toBe(401);
    client.send(trap);
    client.finish();
    await client.ended();
    expect(origin.sequence).toBe(before);
    client.close();
  });

  test("reaches a client that is still sending", async () => {
    const client = await gateway.connect();
    client.send(request("POST /node/early", [], Buffer.alloc(2_000_000, "x")));
    expect((await client.reply("POST")).status).toBe(401);
    client.close();
    expect(json(await gateway.once(request("GET /node/canary")))).toMatchObject({ status: "canary_ok" });
  });
});
