import { expect, test } from "bun:test";
import { Fault, FaultKind } from "../../../../src/core/fault.ts";
import { COUNTERS } from "../../../../src/memory/counter-rows.ts";
import { fakeTelemetry, loggedLines } from "./telemetry-fake.ts";

test("a flood is counted whole, logged at a hundred lines a second, and the gap is told", () => {
  const telemetry = fakeTelemetry();
  for (let i = 0; i < 5000; i++) telemetry.refusals.framing(Fault.BadChunkSize, "192.0.2.1");
  telemetry.clock.nowMs += 1000;
  telemetry.refusals.framing(Fault.MissingHost, "192.0.2.2");
  telemetry.refusals.framing(Fault.MissingHost, "192.0.2.2");
  const lines = loggedLines(telemetry);
  expect(lines.length).toBe(102);
  expect(lines[99]).toMatchObject({ reason: "bad_chunk_size", status: 400 });
  expect(lines[100]).toMatchObject({ reason: "missing_host", not_logged: 4900 });
  expect(lines[101]).not.toHaveProperty("not_logged");
  const counts = telemetry.totals.faults(FaultKind.Framing).filter(({ count }) => count > 0);
  expect(counts).toEqual([
    { label: "missing_host", count: 2 },
    { label: "bad_chunk_size", count: 5000 },
  ]);
  expect(telemetry.totals.sum(COUNTERS.logLinesDropped)).toBe(4900);
});
