import { afterAll, expect, test } from "bun:test";
import { runPaced } from "../../../bench/paced-run.ts";
import { ScriptedOrigin } from "../../../harness/scripted-origin.ts";

const STALL_MS = 300;
const origin = ScriptedOrigin.start();
/** The stall begins with the first request that meets it. */
const state = { stallMs: 0, stallUntilMs: 0 };
origin.on("/x", async (call) => {
  if (state.stallMs > 0) state.stallUntilMs = performance.now() + state.stallMs;
  state.stallMs = 0;
  await Bun.sleep(Math.max(0, state.stallUntilMs - performance.now()));
  call.reply("200 OK", [], "ok");
});
origin.on("/missing", (call) => call.reply("404 Not Found"));
origin.on("/once", (call) => {
  call.connection.isTaken = true;
  call.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok");
  call.connection.finish();
});
afterAll(() => origin.stop());

const RATES = { benignPerSecond: 500, attacksPerSecond: 0, seconds: 0.4 };
const load = (path: string, connections: number) => runPaced({ port: origin.port, path, connections, ...RATES });

test("the rate is kept to the request, and every answer is counted", async () => {
  const { benignTotal, benignGood } = await load("/x", 3);
  expect([benignTotal, benignGood]).toEqual([200, 200]);
  const missing = await load("/missing", 3);
  expect([missing.benignTotal, missing.benignGood]).toEqual([200, 0]);
  expect([...missing.benignFailures]).toEqual([[404, 200]]);
});

test("connections are kept, and those that the server closes are made anew", async () => {
  const before = origin.connections.length;
  await load("/x", 3);
  expect(origin.connections.length - before).toBe(3);
  expect([...(await load("/once", 3)).benignFailures]).toEqual([]);
});

test("a stall counts for every request that was due in it, not only for the one that met it", async () => {
  state.stallMs = STALL_MS + 50;
  const { latency, service, benignTotal } = await load("/x", 1);
  // Of 400 ms, 300 stand still: half of the requests were due in the first 200 of them.
  expect(benignTotal).toBe(200);
  expect(latency.percentileMs(50)).toBeGreaterThan(STALL_MS / 4);
  expect(service.percentileMs(50)).toBeLessThan(latency.percentileMs(50));
});

test("requests that were due while this machine stood still at the end are sent all the same", async () => {
  const running = runPaced({ port: origin.port, path: "/x", connections: 3, ...RATES });
  await Bun.sleep(200);
  // Nothing runs until long after the last one was due: not the alarm, not the beat.
  Bun.sleepSync(600);
  expect((await running).benignTotal).toBe(200);
});
