// The time of day is set while the gateway runs: nothing that lasts for a time becomes younger or older by that.
import { afterAll, expect, test } from "bun:test";
import { InProcessGateway } from "../../../src/control/in-process-gateway.ts";

const HOUR_MS = 3_600_000;
const realNow = Date.now;
let setByMs = 0;
Date.now = () => realNow() + setByMs;

let asked = 0;
const origin = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch: () => new Response(`answer ${++asked}`, { headers: { "cache-control": "public, max-age=1" } }),
});
const gateway = await InProcessGateway.start({
  config: "server: {host: 127.0.0.1, port: 0, workers: 1, cache: {enabled: true}}",
  routes: `[{type: upstream, prefix: /, target: "http://127.0.0.1:${origin.port}"}]`,
});
const url = `http://127.0.0.1:${gateway.port}`;

afterAll(() => {
  Date.now = realNow;
  gateway.stop();
  void origin.stop(true);
});

async function ask(path: string): Promise<{ text: string; age: string | null; result: string | null }> {
  const reply = await fetch(`${url}${path}`);
  return { text: await reply.text(), age: reply.headers.get("age"), result: reply.headers.get("x-cache") };
}

/** The gateway reads the time of day once a tick. */
async function setTimeBy(ms: number): Promise<void> {
  setByMs += ms;
  await Bun.sleep(120);
}

test("a stored answer ends when its second is over, although the time of day was set back by an hour", async () => {
  const first = await ask("/back");
  await setTimeBy(-HOUR_MS);
  const stored = await ask("/back");
  expect([stored.text, stored.result]).toEqual([first.text, "HIT"]);
  await Bun.sleep(1100);
  expect((await ask("/back")).text).not.toBe(first.text);
});

test("and does not end, nor is it an hour old, when the time of day was set forward", async () => {
  const first = await ask("/forward");
  await setTimeBy(HOUR_MS);
  const stored = await ask("/forward");
  expect(stored).toEqual({ text: first.text, age: "0", result: "HIT" });
});

test("the uptime goes on", async () => {
  const uptime = async () => ((await (await fetch(`${url}/api/status`)).json()) as { uptime: string }).uptime;
  await setTimeBy(5 * HOUR_MS);
  expect(await uptime()).toMatch(/^(\d+m)?\d+s$/);
  await setTimeBy(-10 * HOUR_MS);
  expect(await uptime()).toMatch(/^(\d+m)?\d+s$/);
});
