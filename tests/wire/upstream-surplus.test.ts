import { afterAll, describe, expect, test } from "bun:test";
import { eventually } from "../harness/eventually.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { type OriginCall, ScriptedOrigin } from "../harness/scripted-origin.ts";
import { stopAll } from "../harness/teardown.ts";

// Bytes of an origin that belong to no exchange: they close the connection, and are given to nobody.

const origin = ScriptedOrigin.start();
const gateway = await startGateway({ routes: [upstream("/", origin)] });
afterAll(() => stopAll(gateway, origin));

const POISON = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison";
const GOOD = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ngood";

/** An origin that says more than it was asked for, on one connection: `first` is given in place of the first answer. */
function says(first: (call: OriginCall) => void | Promise<void>): void {
  const before = origin.connections.length;
  origin.otherwise((call) => {
    if (call.connection.number > before) return call.send(GOOD);
    return call.request.index === 0 ? first(call) : call.send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nold");
  });
}

/** Leaves no connection in the pool. */
async function closeKept(): Promise<void> {
  for (const connection of origin.connections) connection.close();
  await eventually(() => expect(origin.openConnections).toBe(0));
  await Bun.sleep(20);
}

const surplus: readonly (readonly [string, string])[] = [
  ["a second answer", POISON],
  ["the beginning of one", "HTTP/1.1 200 OK\r\nContent-Len"],
  ["an interim answer", "HTTP/1.1 100 Continue\r\n\r\n"],
  ["a line break", "\r\n"],
  ["one byte", "x"],
  ["NUL", "\0"],
];

describe.each(surplus)("%s", (_, bytes) => {
  const rows: readonly (readonly [string, string, (call: OriginCall) => void | Promise<void>])[] = [
    ["behind a body with a length", "GET", (call) => call.send(GOOD + bytes)],
    [
      "behind a body in chunks",
      "GET",
      (call) => call.send(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n${bytes}`),
    ],
    ["behind a 204", "GET", (call) => call.send(`HTTP/1.1 204 No Content\r\n\r\n${bytes}`)],
    ["behind a 304 with a length", "GET", (call) => call.send(`HTTP/1.1 304 x\r\nContent-Length: 4\r\n\r\n${bytes}`)],
    [
      "behind the answer to a HEAD",
      "HEAD",
      (call) => call.send(`HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n${bytes}`),
    ],
    [
      "on the idle connection",
      "GET",
      async (call) => {
        call.send(GOOD);
        await Bun.sleep(30);
        call.send(bytes);
      },
    ],
  ];

  test.each(rows)("%s closes the connection and reaches nobody", async (name, method, first) => {
    await closeKept();
    says(first);
    const client = await gateway.connect();
    const one = await client.exchange(request(`${method} /first`), method);
    expect(["", "good"]).toContain(one.text);
    if (name === "on the idle connection") await Bun.sleep(80);
    const used = origin.connections.length;
    for (let i = 0; i < 3; i++) {
      const next = await client.exchange(request("GET /next"));
      expect([next.status, next.text]).toEqual([200, "good"]);
    }
    expect(origin.connections.length).toBe(used + 1);
    const other = await gateway.once(request("POST /other", [], "x"));
    expect([other.status, other.text]).toEqual([200, "good"]);
    client.close();
  });
});

test("an answer to a request whose body was broken off leaves no connection in the pool", async () => {
  await closeKept();
  says((call) => call.send(GOOD));
  const client = await gateway.connect();
  client.send(request("POST /first", ["Content-Length: 100000"]));
  client.send(Buffer.alloc(1000));
  await client.reply("POST");
  client.reset();
  await Bun.sleep(50);
  const used = origin.connections.length;
  expect((await gateway.once(request("GET /next"))).text).toBe("good");
  expect(origin.connections.length).toBe(used + 1);
});
