import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { type Echo, EchoOrigin, sha256 } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { Code, type Field, H2Client, head, Type, uint32 } from "../harness/h2-client.ts";
import type { OriginCall } from "../harness/scripted-origin.ts";

// RFC 8441: an extended CONNECT becomes a request of HTTP/1.1 to upgrade.

let origin: EchoOrigin;
let gateway: Gateway;

beforeAll(async () => {
  origin = EchoOrigin.start();
  origin.on("/ws", acceptAndEcho);
  origin.on("/wrong", (call) => acceptWith(call, "bm90IHRoZSByaWdodCBrZXk="));
  origin.on("/no", (call) => call.reply("403 Forbidden", [], "no"));
  const config = { server: { http2: { extended_connect: true } } };
  gateway = await startGateway({ config, routes: [upstream("/node", origin)] });
});
afterAll(async () => {
  await gateway.stop();
  origin.stop();
});

function acceptWith(call: OriginCall, accept: string): void {
  const lines = [
    "HTTP/1.1 101 Switching Protocols",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Protocol: chat",
  ];
  call.takeOver().send(`${lines.join("\r\n")}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`);
}

async function acceptAndEcho(call: OriginCall): Promise<void> {
  const key = call.request.fields.get("sec-websocket-key") ?? "";
  acceptWith(call, createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64"));
  for (;;) {
    const bytes = await call.connection.takeSome(1e9);
    if (bytes === null) return call.connection.close();
    call.connection.send(bytes);
  }
}

function connect(path: string, more: readonly Field[] = []): Field[] {
  return [
    ...([
      [":method", "CONNECT"],
      [":protocol", "websocket"],
      [":scheme", "http"],
      [":path", path],
    ] as Field[]),
    [":authority", "gw.test"],
    ["sec-websocket-version", "13"],
    ...more,
  ];
}

describe("WebSockets over HTTP/2", () => {
  test("the setting is announced, and without it such a request is refused", async () => {
    const client = await H2Client.connect(gateway.port);
    const settings = await client.frameWhere("SETTINGS", ({ type }) => type === Type.settings);
    expect(settings.payload.toString("hex")).toContain("000800000001");
    client.close();
    const off = await startGateway({ routes: [upstream("/node", origin)] });
    const other = await H2Client.connect(off.port);
    expect((await other.request(connect("/node/ws"))).reset).toBe(Code.protocol);
    other.close();
    await off.stop();
  });

  test("bytes go both ways, those that come early too, and the origin sees a handshake of HTTP/1.1", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(
      connect("/node/ws", [
        ["sec-websocket-key", "of-the-client"],
        ["origin", "http://gw.test"],
      ]),
      false,
    );
    client.data(id, "early ");
    client.data(id, "bird");
    await client.until("the echo", () => (client.seen(id).text === "early bird" ? true : undefined));
    const reply = client.seen(id);
    expect([reply.status, reply.fields.get("sec-websocket-protocol")]).toEqual([200, "chat"]);
    expect([reply.fields.has("sec-websocket-accept"), reply.fields.has("upgrade")]).toEqual([false, false]);
    const { method, fields } = origin.requestsFor("/ws").at(-1)!;
    expect([method, fields.get("connection"), fields.get("upgrade")]).toEqual(["GET", "Upgrade", "websocket"]);
    expect(fields.all("sec-websocket-key").map(({ length }) => length)).toEqual([24]);
    expect(fields.get("sec-websocket-version")).toBe("13");
    const large = Buffer.alloc(200_000, "xyz");
    for (let at = 0; at < large.length; at += 10_000) client.data(id, large.subarray(at, at + 10_000));
    await client.until("all of it", () => (client.seen(id).body.length === large.length + 10 ? true : undefined));
    expect(sha256(client.seen(id).body.subarray(10))).toBe(sha256(large));
    client.data(id, "", true);
    expect((await client.reply(id)).isEnded).toBe(true);
    client.close();
  });

  test("a client that goes away closes the origin's end", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(connect("/node/ws"), false);
    client.data(id, "x");
    await client.until("the echo", () => (client.seen(id).text === "x" ? true : undefined));
    const connection = origin.connections[origin.requestsFor("/ws").at(-1)!.connection]!;
    client.frame(Type.reset, 0, id, uint32(8));
    await eventually(() => expect(connection.ending).not.toBe("open"));
    client.close();
  });

  test("an origin that goes away ends the stream, and not the connection", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(connect("/node/ws"), false);
    client.data(id, "x");
    await client.until("the echo", () => (client.seen(id).text === "x" ? true : undefined));
    origin.connections[origin.requestsFor("/ws").at(-1)!.connection]!.close();
    expect((await client.reply(id)).isEnded).toBe(true);
    expect((await client.request(head("GET", "/node/canary"))).status).toBe(200);
    client.close();
  });

  test("what is not granted is no tunnel: a refusal goes through, anything that looks like consent does not", async () => {
    const client = await H2Client.connect(gateway.port);
    const id = client.headers(connect("/node/no"), false);
    expect((await client.reply(id)).status).toBe(403);
    for (const path of ["/node/wrong", "/node/echo", "/health"]) {
      const other = client.headers(connect(path), false);
      expect([path, (await client.reply(other)).status]).toEqual([path, 502]);
    }
    client.close();
  });

  test("VECTOR-08 is as before: beside another method `:protocol` is dropped", async () => {
    const client = await H2Client.connect(gateway.port);
    const reply = await client.request([[":protocol", "websocket"], [":x", "1"], ...head("GET", "/node/a")]);
    expect((JSON.parse(reply.text) as Echo).fields.filter(([name]) => /^:|upgrade/i.test(name))).toEqual([]);
    client.close();
  });
});
