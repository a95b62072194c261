import { expect, test } from "bun:test";
import { createNodeTable } from "../../../src/memory/node-table.ts";

const WORKERS = 4;
const ROUNDS = 100_000;

interface Report {
  readonly trips: number;
  readonly trials: number;
}

async function breakInThread(buffer: SharedArrayBuffer, index: number): Promise<Report> {
  const worker = new Worker(new URL("./breaking-worker.ts", import.meta.url).href);
  const report = await new Promise<Report>((resolve, reject) => {
    worker.onmessage = ({ data }) => resolve(data as Report);
    worker.onerror = (event) => reject(new Error(event.message));
    worker.postMessage({ buffer, worker: index, rounds: ROUNDS });
  });
  worker.terminate();
  return report;
}

test("of many threads one makes each step: no two trials at once, no trial that another thread ends", async () => {
  const buffer = createNodeTable(1);
  const reports = await Promise.all(Array.from({ length: WORKERS }, (_, index) => breakInThread(buffer, index)));
  const trips = reports.reduce((sum, report) => sum + report.trips, 0);
  const trials = reports.reduce((sum, report) => sum + report.trials, 0);
  expect(trips).toBeGreaterThan(0);
  // Every time it opened it was closed by a trial or is open still; failed trials open it without a trip.
  expect(trials).toBeGreaterThanOrEqual(trips - 1);
}, 60_000);
