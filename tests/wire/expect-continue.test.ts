import { afterAll, describe, expect, test } from "bun:test";
import { createServer, type ServerHttp2Stream } from "node:http2";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { chunked, json, request } from "../harness/raw-client.ts";
import { expectJsonError } from "../harness/refusal.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({
  routes: [
    upstream("/node", origin),
    upstream("/stream", origin, { inbound_chunked_mode: "passthrough" }),
    upstream("/small", origin, { max_body_bytes: 100 }),
    upstream("/unchunked", origin, { inbound_chunked_mode: "reject" }),
  ],
});
afterAll(() => stopAll(gateway, origin));

const EXPECT = "Expect: 100-continue";

describe("Expect: 100-continue", () => {
  test.each(["100-continue", "100-Continue"])("(%s) gets 100, then the answer to the body", async (value) => {
    const client = await gateway.connect();
    client.send(request("POST /node/echo", [`Expect: ${value}`, "Content-Length: 5"]));
    expect((await client.interim()).status).toBe(100);
    client.send("hello");
    const reply = await client.reply();
    expect([reply.status, json<Echo>(reply).length, reply.interim.length]).toEqual([200, 5, 0]);
    client.close();
  });

  test("gets 100 for a chunked body too", async () => {
    const client = await gateway.connect();
    client.send(request("POST /node/echo", [EXPECT, "Transfer-Encoding: chunked"]));
    expect((await client.interim()).status).toBe(100);
    client.send(chunked("hello"));
    expect(json<Echo>(await client.reply()).length).toBe(5);
    client.close();
  });

  test("with the body already there is answered as usual", async () => {
    const client = await gateway.connect();
    for (let i = 0; i < 2; i++) {
      const reply = await client.exchange(request("POST /node/echo", [EXPECT], "hello"));
      expect([reply.status, json<Echo>(reply).length]).toEqual([200, 5]);
    }
    client.close();
  });

  test("of HTTP/1.0 or without a body gets no 100", async () => {
    const old = await gateway.connect();
    old.send(request("POST /node/echo HTTP/1.0", [EXPECT], "hello"));
    expect((await old.reply()).interim).toEqual([]);
    const bodiless = await gateway.connect();
    const reply = await bodiless.exchange(request("GET /node/canary", [EXPECT]));
    expect([reply.status, reply.interim.length]).toEqual([200, 0]);
    old.close();
    bodiless.close();
  });
});

describe("in place of 100", () => {
  test.each([
    ["413, the declared body being over the limit", request("POST /small/echo", [EXPECT, "Content-Length: 101"]), 413],
    [
      "501, chunked bodies being disabled",
      request("POST /unchunked/echo", [EXPECT, "Transfer-Encoding: chunked"]),
      501,
    ],
    ["400, the length being malformed", request("POST /node/echo", [EXPECT, "Content-Length: +5"]), 400],
    ["417, another thing being expected", request("POST /node/echo", ["Expect: a-miracle", "Content-Length: 5"]), 417],
  ])("comes %s", async (_name, bytes, status) => {
    const seen = origin.requests.length;
    const client = await gateway.connect();
    const reply = await client.exchange(bytes);
    expect([reply.status, reply.interim.length]).toEqual([status, 0]);
    expect(reply.fields.get("connection")?.toLowerCase()).toBe("close");
    if (status !== 501) expectJsonError(reply);
    expect((await client.takeRest()).byteLength).toBe(0);
    expect(origin.requests.length).toBe(seen);
    client.close();
  });

  test("comes 404 where no route is, and the body that was not sent is not awaited for ever", async () => {
    const client = await gateway.connect();
    const reply = await client.exchange(request("POST /nowhere", [EXPECT, "Content-Length: 5"]));
    expect([reply.status, reply.interim.length]).toEqual([404, 0]);
    client.close();
  });
});

describe("where the body streams, the origin is asked first", () => {
  test("its consent reaches the client, and the body the origin", async () => {
    origin.on("/consents", async (call) => {
      expect(call.request.fields.get("expect")).toBe("100-continue");
      call.send("HTTP/1.1 100 Continue\r\n\r\n");
      const { bytes } = await call.body();
      call.reply("200 OK", [], bytes.toString());
    });
    for (const framing of ["Content-Length: 5", "Transfer-Encoding: chunked"]) {
      const client = await gateway.connect();
      client.send(request("POST /stream/consents", [EXPECT, framing]));
      expect((await client.interim()).status).toBe(100);
      client.send(framing.startsWith("C") ? "hello" : chunked("hello"));
      const reply = await client.reply();
      expect([reply.status, reply.text, reply.interim.length]).toEqual([200, "hello", 0]);
      client.close();
    }
  });

  test.each(["401 Unauthorized", "413 Payload Too Large", "417 Expectation Failed"])(
    "%s saves the upload",
    async (status) => {
      origin.on("/refuses", (call) => {
        call.takeOver();
        call.reply(status, [], "no");
      });
      const client = await gateway.connect();
      client.send(request("POST /stream/refuses", [EXPECT, "Content-Length: 1000000"]));
      const reply = await client.reply();
      expect([reply.status, reply.text, reply.interim.length]).toEqual([Number(status.slice(0, 3)), "no", 0]);
      expect(reply.fields.get("connection")).toBe("close");
      client.close();
      expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
    },
  );

  test.each([
    ["fields with values of the request", { headers: { response: { set: { "X-Client": "{client_ip}" } } } }],
    ["compression", { compression: true }],
    ["a mirror", { mirror: { target: "http://127.0.0.1:9" } }],
    ["pages in place of the origin's errors", { errors: { intercept: true } }],
  ])("with %s on the response as well", async (_what, options) => {
    const settings = { inbound_chunked_mode: "passthrough", ...options };
    const front = await startGateway({
      config: { server: { compression: {} } },
      routes: [upstream("/front", origin, settings)],
    });
    origin.on("/refuses-at-once", (call) => {
      call.takeOver();
      call.reply("413 Payload Too Large", [], "no");
    });
    const client = await front.connect();
    const from = performance.now();
    client.send(request("POST /front/refuses-at-once", [EXPECT, "Accept: text/html", "Content-Length: 1000000"]));
    const reply = await client.reply();
    expect([reply.status, reply.interim.length]).toEqual([413, 0]);
    expect(origin.requestsFor("/refuses-at-once").at(-1)!.fields.get("expect")).toBe("100-continue");
    expect(performance.now() - from).toBeLessThan(900);
    client.close();
    await front.stop();
  });

  test("an origin that says nothing gets the body after a second, and at once where the client does not wait", async () => {
    const client = await gateway.connect();
    const from = performance.now();
    client.send(request("POST /stream/echo", [EXPECT, "Content-Length: 5"]));
    origin.on("/silent", async (call) => call.reply("200 OK", [], String((await call.body()).bytes.length)));
    const silent = await gateway.connect();
    silent.send(request("POST /stream/silent", [EXPECT, "Content-Length: 5"]));
    expect((await silent.interim()).status).toBe(100);
    expect(performance.now() - from).toBeGreaterThan(800);
    silent.send("hello");
    expect((await silent.reply()).text).toBe("5");
    const eager = await gateway.connect();
    eager.send(request("POST /stream/silent", [EXPECT, "Content-Length: 5"]));
    await Bun.sleep(50);
    eager.send("hello");
    expect((await eager.reply()).text).toBe("5");
    for (const one of [client, silent, eager]) one.reset();
  });

  test("an origin of HTTP/2 is asked as well, over HTTP/1.1 and HTTP/2", async () => {
    const server = createServer();
    server.on("stream", (stream: ServerHttp2Stream, fields) => {
      stream.on("error", () => {});
      if (fields.expect !== "100-continue" || fields[":path"] === "/refuses") {
        stream.respond({ ":status": 401 });
        stream.end("no");
        return;
      }
      stream.additionalHeaders({ ":status": 100 });
      let length = 0;
      stream.on("data", (chunk: Buffer) => {
        length += chunk.length;
      });
      stream.on("end", () => {
        stream.respond({ ":status": 200 });
        stream.end(String(length));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `h2c://127.0.0.1:${(server.address() as { port: number }).port}`;
    const front = await startGateway({ routes: [{ type: "upstream", prefix: "/h2", target: url }] });
    for (let round = 0; round < 2; round++) {
      const client = await front.connect();
      // Smaller bodies are kept for a second attempt, and asked for by the gateway.
      client.send(request("POST /h2/takes", [EXPECT, "Content-Length: 20000"]));
      expect((await client.interim()).status).toBe(100);
      client.send("x".repeat(20_000));
      expect((await client.reply()).text).toBe("20000");
      client.send(request("POST /h2/refuses", [EXPECT, "Content-Length: 500000"]));
      const refusal = await client.reply();
      expect([refusal.status, refusal.text, refusal.interim.length]).toEqual([401, "no", 0]);
      client.close();
      const h2 = await H2Client.connect(front.port);
      const id = h2.headers(head("POST", "/h2/refuses", [["expect", "100-continue"]]), false);
      const turnedAway = await h2.reply(id);
      expect([turnedAway.status, turnedAway.interim]).toEqual([401, []]);
      h2.close();
    }
    await front.stop();
    server.close();
  });
});
