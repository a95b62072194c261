// docs/sidecar.md#who-asks: names of peers, bounded whoever comes.
import { expect, test } from "bun:test";
import { createCounterBuffers, WorkerCounters } from "../../../src/memory/counter-table.ts";
import { CounterTotals } from "../../../src/memory/counter-totals.ts";
import { LabelRegistry, OVERFLOW_ID } from "../../../src/memory/label-registry.ts";
import { createNameTable, MAX_LABEL_BYTES, MAX_NAMES, NameWriter, namesIn } from "../../../src/memory/name-table.ts";

test("a name has one number, which a successor knows", () => {
  const buffer = createNameTable();
  const writer = new NameWriter(buffer);
  const ids = ["spiffe://a", "spiffe://b", "spiffe://a"].map((name) => writer.idOf(name));
  expect(ids).toEqual([1, 2, 1]);
  expect(namesIn(buffer)).toEqual(["", "spiffe://a", "spiffe://b"]);
  const next = new NameWriter(buffer);
  expect([next.idOf("spiffe://b"), next.idOf("spiffe://c")]).toEqual([2, 3]);
});

test("it does not grow: names that are too long, too many or too much have the number of the overflow", () => {
  const many = new NameWriter(createNameTable());
  for (let i = 1; i < MAX_NAMES; i++) expect(many.idOf(`n${i}`)).toBe(i);
  expect([many.idOf("one more"), many.idOf("n1")]).toEqual([OVERFLOW_ID, 1]);
  const long = new NameWriter(createNameTable());
  expect(long.idOf("x".repeat(MAX_LABEL_BYTES + 1))).toBe(OVERFLOW_ID);
  const ids = Array.from({ length: 200 }, (_, i) => long.idOf(`${i}`.padStart(MAX_LABEL_BYTES, "x")));
  expect(ids.filter((id) => id !== OVERFLOW_ID).length).toBe(Math.floor(32_768 / MAX_LABEL_BYTES));
});

test("the sum over workers has so many rows at most, and loses no request", () => {
  const buffers = [createCounterBuffers(), createCounterBuffers()];
  const labels = { routes: new Map(), upstreams: new Map() };
  const workers = buffers.map((one) => new WorkerCounters(one, labels));
  const registry = () => new LabelRegistry([], 8);
  const totals = new CounterTotals(buffers, registry(), registry());
  workers[0]!.peerEnded("both", 200);
  workers[1]!.peerEnded("both", 200);
  for (let i = 0; i < 300; i++) for (const [w, worker] of workers.entries()) worker.peerEnded(`w${w}-${i}`, 200);
  const found = totals.peers();
  expect(found.find(({ label }) => label === "both")?.count).toBe(2);
  expect(found.length).toBeLessThanOrEqual(MAX_NAMES);
  expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(602);
  expect(found.filter(({ label }) => label === "other").length).toBe(1);
});
