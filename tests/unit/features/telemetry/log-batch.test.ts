import { describe, expect, test } from "bun:test";
import { COUNTERS } from "../../../../src/memory/counter-rows.ts";
import { fakeTelemetry } from "./telemetry-fake.ts";

const LINE = `${"x".repeat(1023)}\n`;

describe("log batch", () => {
  test("lines leave together, at a call or when there are many", () => {
    const { batch, batches } = fakeTelemetry();
    batch.flush();
    batch.add("a\n");
    batch.add("b\n");
    expect(batches).toEqual([]);
    batch.flush();
    expect(batches).toEqual(["a\nb\n"]);
    for (let i = 0; i < 40; i++) batch.add(LINE);
    expect(batches.length).toBe(2);
    expect(batches[1]!.length).toBe(32 * 1024);
  });

  test("a control thread that stands still costs lines, not memory", () => {
    const { batch, batches, totals } = fakeTelemetry();
    const lines = 20_000;
    for (let i = 0; i < lines; i++) batch.add(LINE);
    batch.flush();
    const sent = batches.join("").length / LINE.length;
    expect(sent).toBeLessThan(9000);
    expect(totals.sum(COUNTERS.logLinesDropped)).toBe(lines - sent);
    totals.logTaken(0, batches.join("").length);
    batches.length = 0;
    batch.add(LINE);
    batch.flush();
    expect(batches).toEqual([LINE]);
  });
});
