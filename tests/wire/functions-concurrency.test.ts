// `functions.concurrency` is of a thread, whatever data workers its requests come by. docs/functions.md#limits
import { afterAll, expect, test } from "bun:test";
import { connect } from "node:http2";
import { eventually } from "../harness/eventually.ts";
import { binaryWithHooks, startGateway } from "../harness/gateway.ts";
import { request } from "../harness/raw-client.ts";
import { stopAll } from "../harness/teardown.ts";

const gateway = await startGateway({
  binary: binaryWithHooks(),
  config: { server: { workers: 3, shutdown_timeout: "1s" }, functions: { concurrency: 2, queue: 300 } },
  routes: [{ type: "function", prefix: "/counts", module: "./counts.ts", timeout: "20s" }],
  files: {
    "counts.ts": `
      let now = 0;
      export default { async fetch(request) {
        const beside = ++now;
        await Bun.sleep(request.url.endsWith("held") ? 2000 : 40);
        now--;
        return new Response(String(beside));
      } };`,
  },
});
afterAll(() => stopAll(gateway));

test("requests of one connection have all places, and those of many connections no more", async () => {
  const session = connect(`http://127.0.0.1:${gateway.port}`);
  const overOne = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const stream = session.request({ ":path": "/counts/x" });
      let text = "";
      for await (const chunk of stream.setEncoding("utf8")) text += chunk;
      return Number(text);
    }),
  );
  session.close();
  expect([Math.max(...overOne), overOne.filter((beside) => beside === 2).length >= 3]).toEqual([2, true]);
  const overMany = await Promise.all(Array.from({ length: 60 }, () => gateway.once(request("GET /counts/x"))));
  expect(new Set(overMany.map(({ status }) => status))).toEqual(new Set([200]));
  const most = overMany.map(({ text }) => Number(text));
  expect(Math.max(...most)).toBe(2);
}, 30_000);

test("a worker that waits gets its turn beside one that always has requests", async () => {
  let isOver = false;
  const session = connect(`http://127.0.0.1:${gateway.port}`);
  const busy = Array.from({ length: 8 }, async () => {
    while (!isOver) {
      const stream = session.request({ ":path": "/counts/x" });
      for await (const _ of stream);
    }
  });
  await Bun.sleep(100);
  for (let n = 0; n < 15; n++) {
    const reply = gateway.once(request("GET /counts/x"));
    expect((await Promise.race([reply, Bun.sleep(3000).then(() => null)]))?.status).toBe(200);
  }
  isOver = true;
  await Promise.all(busy);
  session.close();
}, 60_000);

test("what a worker had that has ended is free", async () => {
  // All workers have some, and one of them ends.
  const held = Array.from({ length: 2 }, () => gateway.once(request("GET /counts/held")).catch(() => null));
  await Bun.sleep(200);
  for (let n = 0; n < 3; n++) {
    const victim = await eventually(() => gateway.connect());
    victim.send(request("GET /__test/crash"));
    await victim.ended();
    victim.close();
  }
  await Promise.all(held);
  await eventually(async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => gateway.once(request("GET /counts/x"))));
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(Math.max(...replies.map(({ text }) => Number(text)))).toBe(2);
  });
}, 60_000);

test("`functions.queue` is of a module, whatever data workers its requests come by", async () => {
  const queued = await startGateway({
    config: { server: { workers: 4 }, functions: { concurrency: 1, queue: 8, workers: 1 } },
    routes: [{ type: "function", prefix: "/waits", module: "./waits.ts", timeout: "20s" }],
    files: { "waits.ts": `export default { fetch: async () => (await Bun.sleep(100), new Response("ok")) };` },
  });
  // One connection is one worker's.
  const session = connect(`http://127.0.0.1:${queued.port}`);
  const statusOf = async (): Promise<number> => {
    const stream = session.request({ ":path": "/waits/x" });
    let status = 0;
    stream.on("response", (head) => {
      status = head[":status"] as number;
    });
    for await (const _ of stream);
    return status;
  };
  const statuses = async (count: number): Promise<number[]> =>
    (await Promise.all(Array.from({ length: count }, statusOf))).sort((a, b) => a - b);
  expect(await statuses(9)).toEqual(new Array(9).fill(200));
  expect(await statuses(12)).toEqual([...new Array(9).fill(200), ...new Array(3).fill(503)]);
  session.close();
  // Those of many connections take no more places together, and give all of them back.
  for (let round = 0; round < 3; round++) {
    const replies = await Promise.all(Array.from({ length: 40 }, () => queued.once(request("GET /waits/x"))));
    const served = replies.filter(({ status }) => status === 200).length;
    expect(served).toBeGreaterThanOrEqual(9);
    expect(replies.filter(({ status }) => status === 503).length).toBe(40 - served);
    // As long as the slowest client takes to send, places become free.
    expect(served).toBeLessThan(20);
  }
  await stopAll(queued);
}, 60_000);
