import { afterAll, describe, expect, test } from "bun:test";
import { EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { json, type RawClient, request } from "../harness/raw-client.ts";
import type { OriginCall, OriginConnection } from "../harness/scripted-origin.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { stopAll } from "../harness/teardown.ts";

const origin = EchoOrigin.start();
const gateway = await startGateway({ routes: [upstream("/node", origin)] });
afterAll(() => stopAll(gateway, origin));

const UPGRADE = [
  "Connection: Upgrade",
  "Upgrade: websocket",
  "Sec-WebSocket-Version: 13",
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];
const SWITCH = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

const H2C = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"];

async function openTunnel(path = "/node/socket"): Promise<RawClient> {
  const client = await gateway.connect();
  const reply = await client.exchange(request(`GET ${path}`, UPGRADE));
  expect(reply.status).toBe(101);
  expect(reply.fields.get("upgrade")).toBe("websocket");
  expect(reply.fields.get("connection")?.toLowerCase()).toBe("upgrade");
  return client;
}

/** An origin's end of a tunnel: a shutdown waits for tunnels, and cuts those that nobody ends. */
async function leaveAfter(connection: ReturnType<OriginCall["takeOver"]>): Promise<void> {
  await connection.ended();
  connection.close();
}

describe("after the origin's 101", () => {
  test("bytes go both ways unchanged", async () => {
    const body = new SeededRandom(5).bytes(1024 * 1024);
    const client = await openTunnel();
    client.send(body);
    expect(sha256(await client.take(body.byteLength))).toBe(sha256(body));
    client.send("GET /node/canary HTTP/1.1\r\n\r\n");
    expect((await client.take(28)).toString("latin1")).toStartWith("GET /node/canary");
    client.close();
  });

  test("the origin has seen the whole handshake", async () => {
    const client = await openTunnel();
    const { fields } = origin.requestsFor("/socket").at(-1)!;
    expect([fields.get("connection")?.toLowerCase(), fields.get("upgrade")]).toEqual(["upgrade", "websocket"]);
    expect(fields.get("sec-websocket-key")).toBe("dGhlIHNhbXBsZSBub25jZQ==");
    client.close();
  });

  test("bytes right behind the 101 and right behind the request are not lost", async () => {
    origin.on("/eager", async (call) => {
      const connection = call.takeOver();
      call.send(`${SWITCH}welcome`);
      call.send(await connection.take(5));
      await leaveAfter(connection);
    });
    const client = await gateway.connect();
    client.send(Buffer.concat([request("GET /node/eager", UPGRADE), Buffer.from("early")]));
    expect((await client.reply()).status).toBe(101);
    expect((await client.take(12)).toString()).toBe("welcomeearly");
    client.close();
  });

  test("the client's end reaches the origin, whose last bytes still reach the client", async () => {
    origin.on("/farewell", async (call) => {
      const connection = call.takeOver();
      call.send(SWITCH);
      const bytes = await connection.takeRest();
      call.sendAndFinish(`got ${bytes.byteLength}`);
    });
    const client = await openTunnel("/node/farewell");
    client.send("12345");
    client.finish();
    expect((await client.takeRest()).toString()).toBe("got 5");
    client.close();
  });

  test("the origin's end and reset reach the client", async () => {
    let connection: OriginConnection | undefined;
    origin.on("/ending", (call) => {
      connection = call.takeOver();
      call.send(SWITCH);
    });
    const first = await openTunnel("/node/ending");
    connection!.close();
    await first.ended();
    const second = await openTunnel("/node/ending");
    connection!.reset();
    await second.ended();
    first.close();
    second.close();
  });

  test("a client that is gone takes the origin's connection with it", async () => {
    const client = await openTunnel();
    const { connection } = origin.requestsFor("/socket").at(-1)!;
    client.reset();
    await origin.until("the tunnel's end", () => origin.connections[connection]!.ending !== "open" || undefined);
  });
});

describe("without a 101", () => {
  test.each([
    ["200", (call: OriginCall) => call.reply("200 OK", [], "no tunnel"), 200],
    ["426", (call: OriginCall) => call.reply("426 Upgrade Required", ["Upgrade: websocket"], "no tunnel"), 426],
    ["a reset", (call: OriginCall) => call.takeOver().reset(), 502],
  ])("there is no tunnel (%s): what follows is a request, or it is not read at all", async (_name, script, status) => {
    origin.on("/plain", script);
    const before = origin.sequence;
    const client = await gateway.connect();
    client.send(Buffer.concat([request("GET /node/plain", UPGRADE), request("GET /node/canary")]));
    const reply = await client.reply();
    expect(reply.status).toBe(status);
    if (reply.fields.all("connection").some((option) => option.toLowerCase() === "close")) {
      expect((await client.takeRest()).byteLength).toBe(0);
      expect(origin.sequence).toBe(before);
    } else {
      expect(json(await client.reply())).toEqual({ status: "canary_ok", sequence: before + 1 });
    }
    client.close();
  });

  test.each([
    ["without Upgrade", "Connection: Upgrade"],
    ["with an empty Upgrade", "Connection: Upgrade\r\nUpgrade:"],
    ["to something else", "Connection: Upgrade\r\nUpgrade: chat"],
    ["to HTTP/2", "Connection: Upgrade\r\nUpgrade: h2c"],
    ["to HTTP/2 as well", "Connection: Upgrade\r\nUpgrade: websocket, h2c"],
    ["twice", "Connection: Upgrade\r\nUpgrade: websocket\r\nUpgrade: chat"],
  ])(
    "an origin that switches %s has not granted what was asked: 502, and nothing is tunnelled",
    async (_name, fields) => {
      origin.on("/other", (call) => {
        call.takeOver();
        call.send(`HTTP/1.1 101 Switching Protocols\r\n${fields}\r\n\r\nhello`);
      });
      const client = await gateway.connect();
      const reply = await client.exchange(request("GET /node/other", UPGRADE));
      expect([reply.status, reply.fields.get("connection")]).toEqual([502, "close"]);
      await client.ended();
      client.close();
    },
  );

  test("the name of a protocol has no case, and one of several may be granted", async () => {
    origin.on("/one", async (call) => {
      const connection = call.takeOver();
      call.send(SWITCH.replace("websocket", "WebSocket"));
      await leaveAfter(connection);
    });
    const client = await gateway.connect();
    const lines = ["Connection: upgrade", "Upgrade: chat/2, websocket"];
    expect((await client.exchange(request("GET /node/one", lines))).status).toBe(101);
    client.close();
  });

  test("a 101 says no length", async () => {
    origin.on("/length", async (call) => {
      const connection = call.takeOver();
      call.send(SWITCH.replace("\r\n\r\n", "\r\nContent-Length: 0\r\n\r\n"));
      await leaveAfter(connection);
    });
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /node/length", UPGRADE));
    expect([reply.status, reply.fields.has("content-length")]).toEqual([101, false]);
    client.close();
  });

  test("Upgrade that Connection does not name is no upgrade", async () => {
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /node/canary", ["Upgrade: websocket"]));
    expect(reply.status).toBe(200);
    expect(origin.requestsFor("/canary").at(-1)!.fields.has("upgrade")).toBe(false);
    client.close();
  });

  test.each([
    "h2c",
    "websocket, h2c",
    "h2c/14",
    "H2C",
    "HTTP/2.0",
    "h2c-14",
    "h2-17",
    "https",
    "TLS/1.0",
    "websocket, TLS/1.2",
    "http",
    "foo h2c",
    '"h2c"',
    "",
    ",",
  ])("an upgrade to HTTP never opens a way past the gateway, however it is spelt: %j", async (upgrade) => {
    origin.on("/h2c", (call) => {
      if (!call.request.fields.has("upgrade")) return call.reply("200 OK", [], "plain");
      call.takeOver();
      call.send(SWITCH.replace("websocket", "h2c"));
    });
    const lines = ["Connection: Upgrade, HTTP2-Settings", `Upgrade: ${upgrade}`, "HTTP2-Settings: AAMAAABk"];
    const client = await gateway.connect();
    const reply = await client.exchange(request("GET /node/h2c", lines));
    expect([reply.status, reply.text]).toEqual([200, "plain"]);
    client.close();
  });

  test.each(["/node/canary", "/health", "/nowhere"])(
    "a wish for HTTP/2 is ignored, and the connection goes on: %s",
    async (path) => {
      const client = await gateway.connect();
      for (const method of ["GET", "GET", "HEAD"]) {
        const reply = await client.exchange(request(`${method} ${path}`, H2C), method);
        expect([reply.status, reply.fields.get("connection") ?? ""]).toEqual([path === "/nowhere" ? 404 : 200, ""]);
      }
      client.close();
    },
  );

  test.each(["GET /node/canary HTTP/1.1\r\nHost: a\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "Hot diggity dogg"])(
    "what comes behind a wish for HTTP/2 before the answer is not read: %j",
    async (behind) => {
      const before = origin.sequence;
      const client = await gateway.connect();
      client.send(Buffer.concat([request("GET /node/canary", H2C), Buffer.from(behind)]));
      const reply = await client.reply();
      expect([reply.status, reply.fields.get("connection")]).toEqual([200, "close"]);
      expect((await client.takeRest()).byteLength).toBe(0);
      expect(origin.sequence).toBe(before + 1);
      client.close();
    },
  );
});
