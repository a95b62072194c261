// What honest peers do on the wire and a strict gateway must not stumble over.
import { afterAll, describe, expect, test } from "bun:test";
import { makeCertificate } from "../harness/certificate.ts";
import { type Echo, EchoOrigin } from "../harness/echo-origin.ts";
import { freePort, startGateway, upstream } from "../harness/gateway.ts";
import { H2Client, head } from "../harness/h2-client.ts";
import { H3Client } from "../harness/h3-client.ts";
import { json, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const { cert, key } = await makeCertificate();
const tlsPort = freePort();
const tls = { port: tlsPort, cert_file: "a.pem", key_file: "a.key" };
const gateway = await startGateway({
  config: { server: { tls, http3: { enabled: true } } },
  routes: [upstream("/node", origin)],
  files: { "a.pem": cert, "a.key": key },
});
const open = await startGateway({
  config: { server: { max_body_bytes: 0, cache: { enabled: true } } },
  routes: [upstream("/open", origin, { inbound_chunked_mode: "passthrough" }), upstream("/whole", origin)],
});
const rejecting = await startGateway({
  config: { server: { inbound_chunked_mode: "reject" } },
  routes: [upstream("/node", origin), { type: "static", prefix: "/files", dir: "site" }],
  files: { "site/a.txt": "a" },
});
afterAll(() => stopAll(gateway, open, rejecting, origin));

const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

describe("chunk-size lines", () => {
  test.each(["5 ", "5\t", "5   \t ", "5 ;x=y", "05  "])("of an origin may be padded: %j", async (size) => {
    const path = `/padded-${Buffer.from(size).toString("hex")}`;
    origin.on(path, (call) =>
      call.sendAndFinish(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\nhello\r\n0 \r\n\r\n`),
    );
    const reply = await gateway.once(request(`GET /node${path}`));
    expect([reply.status, reply.text]).toEqual([200, "hello"]);
  });

  test.each([" 5", "5 5", "5 x", `5${" ".repeat(100)}`])("of an origin are refused all the same: %j", async (size) => {
    const path = `/odd-${Buffer.from(size).toString("hex").slice(0, 40)}`;
    origin.on(path, (call) =>
      call.sendAndFinish(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\nhello\r\n0\r\n\r\n`),
    );
    expect((await gateway.once(request(`GET /node${path}`))).status).toBe(502);
  });

  const HUGE = ["ffffffffffffffff", "8000000000000000", "20000000000000", "fffffffffffffffff"];

  test.each(HUGE)("of an origin that no body has are refused over each protocol: %s", async (size) => {
    const path = `/huge-${size}`;
    origin.on(path, (call) => call.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\nhello`));
    expect((await gateway.once(request(`GET /node${path}`))).status).toBe(502);
    const h2 = await H2Client.connect(gateway.port);
    expect((await h2.request(head("GET", `/node${path}`))).status).toBe(502);
    h2.close();
    const h3 = await H3Client.connect(tlsPort);
    expect((await h3.ask("GET", `/node${path}`)).status).toBe(502);
    h3.close();
  });

  test.each(HUGE)("of an origin that no body has cut a response that has begun, and are counted: %s", async (size) => {
    const path = `/late-${size}`;
    origin.on(path, async (call) => {
      call.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n");
      await Bun.sleep(50);
      call.send(`${size}\r\nworld`);
    });
    const cut = () => gateway.metric("gateway_cut_responses_total");
    const before = await cut();
    await expect(gateway.once(request(`GET /node${path}`))).rejects.toThrow();
    const h2 = await H2Client.connect(gateway.port);
    const reply = await h2.request(head("GET", `/node${path}`));
    expect([reply.text, reply.isEnded, reply.reset >= 0]).toEqual(["hello", false, true]);
    h2.close();
    const h3 = await H3Client.connect(tlsPort);
    await expect(h3.ask("GET", `/node${path}`)).rejects.toThrow();
    h3.close();
    expect(await cut()).toBe(before + 3);
  });

  test.each(["5 ", "5\t", "5 ;x"])("of a request may not: %j", async (size) => {
    const text = request("POST /node/echo", ["Transfer-Encoding: chunked"], `${size}\r\nhello\r\n0\r\n\r\n`);
    expect((await gateway.once(text)).status).toBe(400);
  });

  test.each([
    ["/node/echo", "20000000000001", 413],
    ["/node/echo", "ffffffffffffffff", 413],
    ["/node/echo", "10000000000000000", 400],
    ["/open/echo", "10000000000000000", 400],
    ["/whole/echo", "fffffffffffffffff", 400],
  ])("%s of %s bytes is %d", async (path, size, status) => {
    const client = await (path.startsWith("/node") ? gateway : open).connect();
    client.send(request(`POST ${path}`, ["Transfer-Encoding: chunked"], `${size}\r\nhello`));
    expect((await client.reply()).status).toBe(status);
    client.close();
  });

  test.each(["20000000000001", "ffffffffffffffff", "000FFFFFFFFFFFFFFFF"])(
    "without a limit %s bytes flow",
    async (size) => {
      const path = `/flow-${size}`;
      const { promise, resolve } = Promise.withResolvers<void>();
      origin.on(path, async (call) => {
        const connection = call.takeOver();
        await connection.until(
          "the bytes",
          () => connection.received.includes("helloworld") || connection.received.includes("world") || undefined,
        );
        resolve();
      });
      const client = await open.connect();
      client.send(request(`POST /open${path}`, ["Transfer-Encoding: chunked"], `${size}\r\nhello`));
      await Bun.sleep(50);
      client.send("world");
      await promise;
      client.reset();
    },
  );
});

describe("OPTIONS *", () => {
  test("is 204 with the methods over HTTP/1.1 and HTTP/2", async () => {
    const reply = await gateway.once("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS");
    expect([reply.status, reply.fields.get("allow")?.split(", ").sort()]).toEqual([204, [...METHODS].sort()]);
    const h2 = await H2Client.connect(gateway.port);
    const other = await h2.request(head("OPTIONS", "*"));
    expect([other.status, other.fields.get("allow")]).toEqual([204, reply.fields.get("allow") ?? ""]);
    h2.close();
  });

  test("GET * stays 400", async () => {
    expect((await gateway.once("GET * HTTP/1.1\r\nHost: a\r\n\r\n")).status).toBe(400);
  });
});

test("102 goes on to the client like 103, over HTTP/1.1 and 2", async () => {
  origin.on("/processing", async (call) => {
    call.send("HTTP/1.1 102 Processing\r\n\r\n");
    await Bun.sleep(20);
    call.reply("200 OK", [], "done");
  });
  const reply = await gateway.once(request("GET /node/processing"));
  expect([reply.interim.map(({ status }) => status), reply.text]).toEqual([[102], "done"]);
  const h2 = await H2Client.connect(gateway.port);
  expect((await h2.request(head("GET", "/node/processing"))).interim).toEqual([102]);
  h2.close();
});

test("Via names the version in which the request came, and a loop is found whatever that was", async () => {
  const via = (echo: Echo) => echo.headers.via;
  expect(via(json(await gateway.once(request("GET /node/echo"))) as Echo)).toBe("1.1 edge");
  const old = await gateway.once("GET /node/echo HTTP/1.0\r\n\r\n");
  expect(via(JSON.parse(old.text))).toBe("1.0 edge");
  const h2 = await H2Client.connect(gateway.port);
  expect(via(JSON.parse((await h2.request(head("GET", "/node/echo"))).text))).toBe("2 edge");
  h2.close();
  const h3 = await H3Client.connect(tlsPort);
  expect(via(JSON.parse((await h3.ask("GET", "/node/echo")).body.toString()))).toBe("3 edge");
  h3.close();
  const hops = Array.from({ length: 10 }, (_, i) => `${["1.1", "1.0", "2", "3"][i % 4]} edge`).join(", ");
  expect((await gateway.once(request("GET /node/echo", [`Via: ${hops}`]))).status).toBe(508);
});

test("TLS on the cleartext port is answered 400 in clear", async () => {
  const hello = Buffer.from("1603010200010001fc0303", "hex");
  const client = await gateway.connect();
  client.send(Buffer.concat([hello, Buffer.alloc(200, 7)]));
  expect((await client.reply()).status).toBe(400);
  await client.ended();
});

test("a 101 on a cached route says X-Cache: MISS", async () => {
  origin.on("/ws", (call) => {
    call.takeOver();
    call.send("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
  });
  const client = await open.connect();
  const lines = [
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  client.send(request("GET /open/ws", lines));
  const reply = await client.reply();
  expect([reply.status, reply.fields.get("x-cache")]).toEqual([101, "MISS"]);
  client.reset();
});

describe("an answer that needs no body", () => {
  test("waits 100 ms for it at most, then the connection closes", async () => {
    const client = await gateway.connect();
    const from = performance.now();
    client.send(request("POST /nowhere", ["Content-Length: 100"], "half"));
    const reply = await client.reply();
    await client.ended();
    const ms = performance.now() - from;
    expect([reply.status, reply.fields.get("connection")]).toEqual([404, "close"]);
    expect(ms).toBeLessThan(600);
  });
});

describe("inbound_chunked_mode: reject", () => {
  test.each(["/node/echo", "/files/a.txt", "/health", "/nowhere", "/internal/api/status", "/.well-known/none"])(
    "%s is 501",
    async (path) => {
      const reply = await rejecting.once(request(`POST ${path}`, ["Transfer-Encoding: chunked"], "0\r\n\r\n"), "POST");
      expect([reply.status, reply.text]).toEqual([501, "Inbound chunked transfer encoding is disabled"]);
    },
  );
});

test("HTTP/2 takes a tab within a value, and none at its ends", async () => {
  const h2 = await H2Client.connect(gateway.port);
  const reply = await h2.request(head("GET", "/node/echo", [["x-tab", "a\tb"]]));
  expect([reply.status, (JSON.parse(reply.text) as Echo).headers["x-tab"]]).toEqual([200, "a\tb"]);
  for (const value of ["\ta", "a\t", "a\x0bb", "a\x01b"]) {
    const refused = await h2.request(head("GET", "/node/echo", [["x-tab", value]]));
    expect(refused.status === 400 || refused.reset >= 0).toBe(true);
  }
  h2.close();
});

describe("a challenge's token", () => {
  test.each(["a b", "tök", "a\xc3\xa4", "\xff", "a%20b", "a.b", "a/b"])("%j is 400 with the text", async (token) => {
    const client = await gateway.connect();
    client.send(Buffer.from(`GET /.well-known/acme-challenge/${token} HTTP/1.1\r\nHost: a\r\n\r\n`, "latin1"));
    const reply = await client.reply();
    expect([reply.status, reply.text]).toEqual([400, "Invalid ACME Challenge Token"]);
    client.close();
  });

  test("a broken request line elsewhere is refused as ever", async () => {
    const reply = await gateway.once("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n");
    expect([reply.status, reply.fields.get("content-type")]).toEqual([400, "application/json"]);
  });
});
