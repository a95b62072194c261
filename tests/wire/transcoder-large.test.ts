import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { startGateway } from "../harness/gateway.ts";
import { CHAT_FILE, GrpcChat } from "../harness/grpc-chat.ts";
import { GrpcShop, SHOP_FILE } from "../harness/grpc-shop.ts";
import { json, RawClient, type Reply, request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

// docs/transcoder.md#large-messages
const shop = await GrpcShop.start();
const route = (http_method: string, http_path: string, method: string) => ({
  http_method,
  http_path,
  grpc_method: `/shop.Shop/${method}`,
  upstream_url: shop.url,
});
const chat = await GrpcChat.start();
const talk = (http_path: string, method: string) => ({
  ...route("POST", http_path, ""),
  grpc_method: `/chat.Chat/${method}`,
  upstream_url: chat.url,
  descriptor_set: CHAT_FILE,
});
const gateway = await startGateway({
  config: {
    server: { workers: 1 },
    transcoder: {
      enabled: true,
      max_body_bytes: 16_000_000,
      descriptor_set: SHOP_FILE,
      routes: [
        route("POST", "/echo", "Echo"),
        route("GET", "/items/:id", "GetItem"),
        route("POST", "/upload", "Upload"),
        talk("/talk", "Talk"),
        talk("/tell", "Tell"),
      ],
    },
  },
});
afterAll(() => stopAll(gateway, shop, chat));

const JSON_TYPE = ["Content-Type: application/json"];

async function echo(body: string): Promise<Reply> {
  const client = await RawClient.connect(gateway.port);
  try {
    client.send(request("POST /echo", JSON_TYPE, body));
    return await client.reply("POST", 60_000);
  } finally {
    client.close();
  }
}

/** A map with so many entries. */
function map(entries: number): Record<string, number> {
  return Object.fromEntries(Array.from({ length: entries }, (_, i) => [`k${i}`, i]));
}

describe("large messages", () => {
  test("become messages and JSON as small ones do", async () => {
    for (const entries of [10, 3000, 30_000]) {
      const counts = map(entries);
      const reply = await echo(JSON.stringify({ counts, large: "1e3" }));
      expect(reply.status).toBe(200);
      expect(JSON.parse(reply.body.toString())).toEqual({ counts, large: "1000" });
    }
  }, 60_000);

  test("leave the worker to others meanwhile", async () => {
    let isOver = false;
    const large = echo(JSON.stringify({ counts: map(200_000) })).finally(() => {
      isOver = true;
    });
    let others = 0;
    for (; !isOver && others < 20; others++) expect((await gateway.once(request("GET /items/7"))).status).toBe(200);
    expect([others, isOver]).toEqual([20, false]);
    expect((await large).status).toBe(200);
  }, 60_000);

  test("are refused as small ones are", async () => {
    const filler = `"text":"${"x".repeat(60_000)}"`;
    for (const [body, message] of [
      [`{${filler},"nope":1}`, "nope"],
      [`{${filler},"large":"0x10"}`, "not a number"],
      [`{${filler},${filler}}`, "a name occurs twice in one object"],
      [`{${filler}`, "the body is not JSON"],
      [`{${filler},"blob":"\xff"}`, "the body is not UTF-8"],
    ] as const) {
      const reply = await gateway.once(request("POST /echo", JSON_TYPE, body));
      expect([reply.status, json<{ code: number }>(reply).code]).toEqual([400, 3]);
      expect(json<{ message: string }>(reply).message).toContain(message);
    }
  });

  test("a client that leaves, and one that comes after it", async () => {
    const client = await gateway.connect();
    client.send(request("POST /echo", JSON_TYPE, JSON.stringify({ counts: map(50_000) })));
    client.reset();
    expect((await echo(JSON.stringify({ counts: map(5000) }))).status).toBe(200);
  }, 60_000);

  test("of a stream keep their places among small ones, and its end is the last", async () => {
    const sizes = [1, 90_000, 2, 3, 150_000, 60_000, 4];
    const lines = sizes.map((size, i) => `${JSON.stringify({ number: String(i), text: "x".repeat(size) })}\n`).join("");
    const NDJSON = ["Content-Type: application/x-ndjson", "Accept: application/x-ndjson"];
    const talked = await gateway.once(request("POST /talk", NDJSON, lines));
    const told = talked.text
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { number?: string; text: string });
    expect(told.map(({ number = "0", text }) => [number, text.length])).toEqual(
      sizes.map((size, i) => [String(i), size]),
    );
    const broken = '{"count":3,"code":9,"message":"at its end","padBytes":100000}';
    const reply = await gateway.once(request("POST /tell", [...JSON_TYPE, "Accept: application/x-ndjson"], broken));
    const records = reply.text.trim().split("\n");
    expect(records.length).toBe(4);
    expect(JSON.parse(records[3]!)).toEqual({ error: { code: 9, message: "at its end", details: [] } });
  }, 60_000);

  test("an array for a method that takes a stream", async () => {
    const items = Array.from({ length: 2000 }, (_, i) => ({ id: `item number ${i} of many` }));
    const reply = await gateway.once(request("POST /upload", JSON_TYPE, JSON.stringify(items)));
    expect([reply.status, json<{ serial: string }>(reply).serial]).toEqual([200, "2000"]);
  });

  // What the worker itself answers would come later, were the large message before it transcoded on the worker.
  const counts = JSON.stringify({ counts: map(200_000) });
  const item = JSON.stringify({
    metadata: Object.fromEntries(Object.entries(map(200_000)).map(([k, v]) => [k, `${v}`])),
  });
  test.each([
    ["a line", "/talk", ["Content-Type: application/x-ndjson"], `${counts}\n{"nope":1}\n`],
    ["an element of an array", "/upload", JSON_TYPE, `[ ${item} ,{"nope":1}]`],
  ])(
    "of a stream leave the worker to others: %s",
    async (_name, path, fields, body) => {
      const client = await gateway.connect();
      client.send(request(`POST ${path}`, fields, body));
      await expectOthersFirst(client.reply("POST", 60_000).then(({ status }) => expect(status).toBe(400)));
      client.close();
    },
    120_000,
  );

  test("of a stream leave the worker to others: a WebSocket's", async () => {
    const socket = new WebSocket(`ws://127.0.0.1:${gateway.port}/talk`);
    await new Promise((resolve) => {
      socket.onopen = resolve;
    });
    const closed = new Promise<number>((resolve) => {
      socket.onclose = ({ code }) => resolve(code);
    });
    socket.send(counts);
    socket.send('{"nope":1}');
    await expectOthersFirst(closed.then((code) => expect(code).toBe(4003)));
  }, 120_000);
});

/** That other requests are answered by the same worker before something is over that it does. */
async function expectOthersFirst(work: Promise<unknown>): Promise<void> {
  let isOver = false;
  const done = work.finally(() => {
    isOver = true;
  });
  let others = 0;
  for (; !isOver && others < 100; others++) expect((await gateway.once(request("GET /health"))).status).toBe(200);
  expect([others, isOver]).toEqual([100, false]);
  await done;
}

describe("a message that takes seconds", () => {
  // A client that sends it makes no other wait, and takes no processor when it has left.
  const endless = JSON.stringify({ counts: map(600_000) });

  test("makes none of another connection wait for it", async () => {
    const slow = await Promise.all([gateway.connect(), gateway.connect()]);
    let isOver = false;
    const first = Promise.race(
      slow.map((client) => {
        // It is refused as soon as it has been read.
        client.send(request("POST /echo", JSON_TYPE, `${endless.slice(0, -1)},"nope":1}`));
        return client.reply("POST", 60_000).catch(() => null);
      }),
    ).finally(() => {
      isOver = true;
    });
    for (let n = 0; n < 3; n++) expect((await echo(JSON.stringify({ counts: map(5000) }))).status).toBe(200);
    expect(isOver).toBe(false);
    for (const client of slow) client.reset();
    await first;
  }, 120_000);

  test("ends with its client", async () => {
    const ticks = (): number => {
      const stat = readFileSync(`/proc/${gateway.pid}/stat`, "latin1").split(") ")[1]!.split(" ");
      return Number(stat[11]) + Number(stat[12]);
    };
    await Bun.sleep(500);
    for (let n = 0; n < 3; n++) {
      const client = await gateway.connect();
      client.send(request("POST /echo", JSON_TYPE, endless));
      await client.flushed();
      await Bun.sleep(300);
      client.reset();
    }
    await Bun.sleep(1000);
    const before = ticks();
    await Bun.sleep(1000);
    // Hundredths of a second: threads that went on would take a whole processor at least.
    expect(ticks() - before).toBeLessThan(50);
    expect((await echo(JSON.stringify({ counts: map(5000) }))).status).toBe(200);
  }, 120_000);
});
