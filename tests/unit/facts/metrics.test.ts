import { expect, test } from "bun:test";
import { type MetricRow, type MetricRows, metricOf } from "../../../src/core/metric-row.ts";
import { METRICS } from "../../../src/facts/metrics.ts";
import { COUNTERS } from "../../../src/memory/counter-rows.ts";

const ROWS: Readonly<Record<string, MetricRow>> = METRICS;

test("every number of a worker that is shown has its metric, of its kind and with its labels", () => {
  const shown = Object.entries(COUNTERS).filter(([, { metric }]) => metric !== "");
  expect(shown.length).toBeGreaterThan(50);
  for (const [name, { metric, isGauge, labels }] of shown) {
    const row = ROWS[metric];
    expect([name, row?.kind, row?.labels]).toEqual([name, isGauge ? "gauge" : "counter", Object.keys(labels)]);
  }
});

test("counters end in _total, and no other metric does", () => {
  expect(Object.entries(ROWS).filter(([name, { kind }]) => name.endsWith("_total") !== (kind === "counter"))).toEqual(
    [],
  );
});

test("samples that have other labels than the row do not compile", () => {
  const rows = {
    gateway_x_total: { kind: "counter", help: "", labels: ["a"], group: "Traffic", title: "", advice: "" },
  } as const satisfies MetricRows;
  metricOf(rows, "gateway_x_total", () => [{ value: 1, labels: { a: "" } }]);
  // @ts-expect-error: there is no such metric
  expect(() => metricOf(rows, "gateway_y_total", () => [{ value: 1, labels: { a: "" } }])).toThrow();
  // @ts-expect-error: a label is missing
  metricOf(rows, "gateway_x_total", () => [{ value: 1, labels: {} }]);
  // @ts-expect-error: its name is another
  metricOf(rows, "gateway_x_total", () => [{ value: 1, labels: { b: "" } }]);
});
