import { expect, test } from "bun:test";
import fc from "fast-check";
import { createIncidentRing, IncidentReader } from "../../../src/memory/incident-ring.ts";
import { incidentOf } from "./incident-of.ts";

const PER_WRITER = 20_000;
/** With few slots the threads meet in them all the time; the gateway's thousand make that rare. */
const slotCounts = fc.constantFrom(1, 2, 3, 1000);
const writerCounts = fc.integer({ min: 1, max: 4 });

function recordInThread(buffer: SharedArrayBuffer, writer: number, seed: number): Promise<void> {
  const worker = new Worker(new URL("./incident-worker.ts", import.meta.url).href);
  return new Promise((resolve, reject) => {
    worker.onmessage = () => {
      worker.terminate();
      resolve();
    };
    worker.onerror = reject;
    worker.postMessage({ buffer, writer, count: PER_WRITER, seed });
  });
}

function expectWhole(reader: IncidentReader): number {
  const found = reader.recent(1000, 0);
  for (const one of found) {
    if (!Bun.deepEquals(one, incidentOf(one.timestampMs))) expect(one).toEqual(incidentOf(one.timestampMs));
  }
  return found.length;
}

test("threads that write at once and a reader among them never make a mixture", async () => {
  await fc.assert(
    fc.asyncProperty(writerCounts, slotCounts, fc.nat(1_000_000), async (writers, slots, seed) => {
      const buffer = createIncidentRing(slots);
      const reader = new IncidentReader(buffer);
      let open = writers;
      const running = Array.from({ length: writers }, (_, writer) =>
        recordInThread(buffer, writer, seed).finally(() => open--),
      );
      let readings = 0;
      while (open > 0) {
        for (let i = 0; i < 200; i++) expectWhole(reader);
        readings++;
        await Bun.sleep(0);
      }
      await Promise.all(running);
      expect(readings).toBeGreaterThan(0);
      expect(reader.total()).toBe(writers * PER_WRITER);
      // Now and then an incident was given up to another writer in its slot.
      expect(expectWhole(reader)).toBeGreaterThan(slots * 0.9 - writers);
    }),
    { numRuns: 10 },
  );
}, 60_000);
