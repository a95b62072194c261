import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { eventually } from "../harness/eventually.ts";
import { type Gateway, startGateway, upstream } from "../harness/gateway.ts";
import { Code, END_HEADERS, encode, frameBytes, H2Client, head, Type, uint32 } from "../harness/h2-client.ts";
import { expectGrowthBelow, residentBytes } from "../harness/memory.ts";
import { request } from "../harness/raw-client.ts";

// What a client may do to a server of HTTP/2 with few bytes. Each time another client must not notice.

let origin: EchoOrigin;
let gateway: Gateway;
let bystander: H2Client;
/** Has no patience; what is not about time goes to the other one. */
let hasty: Gateway;

beforeAll(async () => {
  origin = EchoOrigin.start();
  origin.on("/never", (call) => void call.takeOver());
  origin.on("/big", (call) => call.reply("200 OK", [], Buffer.alloc(1024 * 1024)));
  const routes = [upstream("/node", origin)];
  gateway = await startGateway({ routes });
  hasty = await startGateway({ config: { server: { write_timeout: "1s", header_timeout: "1s" } }, routes });
  bystander = await H2Client.connect(gateway.port);
});
afterAll(async () => {
  bystander.close();
  await hasty.stop();
  await gateway.stop();
  origin.stop();
});

async function expectUnharmed(): Promise<void> {
  expect((await bystander.request(head("GET", "/node/canary"))).status).toBe(200);
  expect((await gateway.once(request("GET /node/canary"))).status).toBe(200);
}

/** A client that sends this flood must be told to calm down, and be disconnected. */
async function expectCalmed(flood: (client: H2Client) => void): Promise<void> {
  const client = await H2Client.connect(gateway.port);
  flood(client);
  expect(await client.goAway()).toBe(Code.calm);
  await client.ended();
  client.close();
  await expectUnharmed();
}

const repeat = (frame: Buffer, times: number): Buffer => Buffer.concat(new Array(times).fill(frame));

describe("floods end with ENHANCE_YOUR_CALM", () => {
  test.each([
    ["PING", frameBytes(Type.ping, 0, 0, "12345678")],
    ["SETTINGS", frameBytes(Type.settings, 0, 0)],
    ["PRIORITY", frameBytes(Type.priority, 0, 1, Buffer.from("0000000010", "hex"))],
    ["unknown frames", frameBytes(0x77, 0, 0, "x")],
    ["WINDOW_UPDATE", frameBytes(Type.windowUpdate, 0, 0, uint32(1))],
  ])("%s", async (_what, frame) => {
    await expectCalmed((client) => client.send(repeat(frame, 6000)));
  });

  test("empty DATA", async () => {
    await expectCalmed((client) => {
      const id = client.headers(head("POST", "/node/never"), false);
      client.send(repeat(frameBytes(Type.data, 0, id), 300));
    });
  });

  test("CONTINUATION", async () => {
    await expectCalmed((client) => {
      client.frame(Type.headers, 0, 1, encode(head("GET", "/node/a")));
      client.send(repeat(frameBytes(Type.continuation, 0, 1, encode([["x-a", "1"]])), 50));
    });
  });

  test("rapid reset", async () => {
    const before = origin.connections.length;
    await expectCalmed((client) => {
      for (let i = 0; i < 2000; i++) {
        const id = client.headers(head("GET", "/node/never"));
        client.frame(Type.reset, 0, id, uint32(8));
      }
    });
    expect(origin.connections.length - before).toBeLessThan(700);
  });

  test("malformed requests, which we reset ourselves", async () => {
    await expectCalmed((client) => {
      for (let i = 0; i < 2000; i++) client.headers(head("GET", "/node/a", [["connection", "close"]]));
    });
  });

  test("more streams than announced", async () => {
    await expectCalmed((client) => {
      for (let i = 0; i < 2000; i++) client.headers(head("GET", "/node/never"));
    });
  });
});

describe("MadeYouReset: faults of a stream that cost the connection", () => {
  test.each([
    ["WINDOW_UPDATE of nothing", Type.windowUpdate, uint32(0), Code.protocol],
    ["PRIORITY of a wrong length", Type.priority, uint32(0), Code.frameSize],
    ["PRIORITY on itself", Type.priority, Buffer.from("0000000110", "hex"), Code.protocol],
    ["DATA behind the end", Type.data, Buffer.from("a"), Code.streamClosed],
    ["HEADERS behind the end", Type.headers, encode(head("GET", "/node/never")), Code.streamClosed],
  ])("%s", async (_what, type, payload, code) => {
    const client = await H2Client.connect(gateway.port);
    client.headers(head("GET", "/node/never"));
    client.frame(type, type === Type.headers ? END_HEADERS : 0, 1, payload);
    expect(await client.goAway()).toBe(code);
    client.close();
    await expectUnharmed();
  });

  test("windows that grow too large cost the stream, and count as resets", async () => {
    await expectCalmed((client) => {
      for (let i = 0; i < 1000; i++) {
        const id = client.headers(head("GET", "/node/never"));
        client.frame(Type.windowUpdate, 0, id, uint32(0x7fffffff));
      }
    });
  });
});

describe("memory and time", () => {
  test("an HPACK bomb is refused without being unpacked", async () => {
    const client = await H2Client.connect(gateway.port);
    const large = encode([["x-bomb", "b".repeat(4000)]]);
    large[0] = 0x40;
    client.frame(Type.headers, END_HEADERS | 1, 1, Buffer.concat([encode(head("GET", "/node/a")), large]));
    await client.reply(1);
    const before = residentBytes(gateway);
    for (let id = 3; id < 203; id += 2) {
      client.frame(
        Type.headers,
        END_HEADERS | 1,
        id,
        Buffer.concat([encode(head("GET", "/node/a")), Buffer.alloc(16000, 0xbe)]),
      );
    }
    expect((await client.reply(201)).status).toBe(431);
    await expectGrowthBelow(gateway, before, 64 * 1024 * 1024);
    client.close();
    await expectUnharmed();
  });

  test("a malformed header block ends the connection", async () => {
    const client = await H2Client.connect(gateway.port);
    client.frame(Type.headers, END_HEADERS | 1, 1, Buffer.from([0x80]));
    expect(await client.goAway()).toBe(Code.compression);
    client.close();
  });

  test("windows of 0 are not held open for longer than write_timeout", async () => {
    const client = await H2Client.connect(hasty.port, [[4, 0]], false);
    const ids = Array.from({ length: 50 }, () => client.headers(head("GET", "/node/big")));
    for (const id of ids) expect((await client.reply(id)).reset).toBe(Code.cancel);
    client.close();
  });

  test("neither are windows of a byte at a time", async () => {
    const client = await H2Client.connect(hasty.port, [[4, 0]], false);
    const id = client.headers(head("GET", "/node/big"));
    const drip = setInterval(() => client.frame(Type.windowUpdate, 0, id, uint32(1)), 100);
    expect((await client.reply(id)).reset).toBe(Code.cancel);
    clearInterval(drip);
    client.close();
  });

  test("a client that asks and does not read is cut", async () => {
    const connections = async () => hasty.metric("gateway_active_tcp_connections");
    await eventually(async () => expect(await connections()).toBe(1));
    const client = await H2Client.connect(hasty.port, [[4, 0x7fffffff]], false);
    client.frame(Type.windowUpdate, 0, 0, uint32(0x7fff0000));
    client.hold();
    for (let i = 0; i < 100; i++) client.headers(head("GET", "/node/big"));
    await eventually(async () => expect(await connections()).toBe(1));
    client.release();
    await client.ended();
    client.close();
  });

  test("a head that is not completed is given up after header_timeout", async () => {
    const client = await H2Client.connect(hasty.port, [], false);
    client.frame(Type.headers, 0, 1, encode(head("GET", "/node/a")));
    expect(await client.goAway()).toBe(Code.calm);
    client.close();
  });

  test("a preface that is not completed likewise", async () => {
    const client = await hasty.connect();
    client.send("PRI * HTTP/2.0\r\n\r\nSM");
    await client.ended();
    client.close();
  });
});
