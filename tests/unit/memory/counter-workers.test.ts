import { expect, test } from "bun:test";
import { COUNTERS } from "../../../src/memory/counter-rows.ts";
import { type CounterBuffers, type CounterLabels, createCounterBuffers } from "../../../src/memory/counter-table.ts";
import { CounterTotals } from "../../../src/memory/counter-totals.ts";
import { LabelRegistry } from "../../../src/memory/label-registry.ts";

const REQUESTS = 50_000;

async function countInThread(buffers: CounterBuffers, labels: CounterLabels): Promise<void> {
  const worker = new Worker(new URL("./counting-worker.ts", import.meta.url).href);
  await new Promise((resolve, reject) => {
    worker.onmessage = resolve;
    worker.onerror = reject;
    worker.postMessage({ buffers, labels, requests: REQUESTS });
  });
  worker.terminate();
}

test("threads count side by side, a successor counts on, and nothing is lost", async () => {
  const routes = new LabelRegistry([], 10);
  const upstreams = new LabelRegistry([], 10);
  for (const label of ["/even", "/odd"]) routes.idOf(label);
  const labels: CounterLabels = { routes: routes.ids(), upstreams: upstreams.ids() };
  const buffers = [createCounterBuffers(), createCounterBuffers(), createCounterBuffers()];
  const totals = new CounterTotals(buffers, routes, upstreams);

  const running = Promise.all(buffers.map((one) => countInThread(one, labels)));
  let last = 0;
  const watch = setInterval(() => {
    const now = totals.requestLatency().count;
    expect(now).toBeGreaterThanOrEqual(last);
    last = now;
  }, 1);
  await running;
  clearInterval(watch);
  totals.workerDied(0);
  expect(totals.sum(COUNTERS.activeConnections)).toBe(2);
  await countInThread(buffers[0]!, labels);

  const expected = REQUESTS * 4;
  const requests = totals.requests();
  expect(requests.length).toBe(100);
  expect(requests.reduce((sum, { count }) => sum + count, 0)).toBe(expected);
  expect(totals.requestLatency().count).toBe(expected);
  expect(totals.bodyBytes().bytesOut).toBe(expected * 2);
  expect(totals.sum(COUNTERS.acceptedConnections)).toBe(4);
  expect(totals.sum(COUNTERS.requestsInFlight)).toBe(3);
});
