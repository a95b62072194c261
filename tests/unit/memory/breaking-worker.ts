import { NodeTable } from "../../../src/memory/node-table.ts";

/** A worker thread that fails, tries and succeeds on one breaker, and reports what it got. */
declare const self: Worker;

interface Order {
  readonly buffer: SharedArrayBuffer;
  readonly worker: number;
  readonly rounds: number;
}

self.onmessage = ({ data }: MessageEvent<Order>) => {
  const { buffer, worker, rounds } = data;
  const table = new NodeTable(buffer);
  let trips = 0;
  let trials = 0;
  for (let i = 0; i < rounds; i++) {
    if (table.failed(0, 5)) trips++;
    // Whoever is first plays the control thread.
    table.halfOpen(0);
    if (!table.takeTrial(0, worker)) continue;
    trials++;
    if (!table.endTrial(0, i % 3 !== 0)) throw new Error("somebody else ended our trial");
  }
  self.postMessage({ trips, trials });
};
