// docs/tracing.md#metrics-and-logs
import { describe, expect, test } from "bun:test";
import protobuf from "protobufjs";
import type { Metric } from "../../../../../src/core/metric-row.ts";
import { EVENTS } from "../../../../../src/facts/events.ts";
import { logsRequest } from "../../../../../src/features/telemetry/otlp/log-data.ts";
import { rejectedOf } from "../../../../../src/features/telemetry/otlp/messages.ts";
import { metricsRequest } from "../../../../../src/features/telemetry/otlp/metric-data.ts";

const sender = { resource: { "service.name": "shop" }, scope: { name: "edge", version: "1" } };
/** The fields that are looked at, by opentelemetry-proto, for a decoder that is not the gateway's. */
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Any { oneof v { string s = 1; bool b = 2; int64 i = 3; double d = 4; Many list = 5; Fields object = 6; } }
  message Many { repeated Any values = 1; }
  message Fields { repeated Field values = 1; }
  message Field { string key = 1; Any value = 2; }
  message Logs { repeated LR r = 1; } message LR { repeated LS s = 2; } message LS { repeated Line lines = 2; }
  message Line { fixed64 time = 1; int32 severity = 2; Any body = 5; repeated Field attributes = 6; bytes trace = 9; fixed64 seen = 11; string event = 12; }
  message Metrics { repeated MR r = 1; } message MR { repeated MS s = 2; } message MS { repeated Metric metrics = 2; }
  message Metric { string name = 1; Points sum = 7; Buckets histogram = 9; }
  message Points { repeated Point points = 1; int32 temporality = 2; bool monotonic = 3; } message Point { double value = 4; }
  message Buckets { repeated Bucketed points = 1; } message Bucketed { fixed64 count = 4; double sum = 5; repeated fixed64 buckets = 6; repeated double bounds = 7; }
`);
// biome-ignore lint/suspicious/noExplicitAny: what a decoder gives has the fields of the schema above.
type Decoded = any;

function decode(type: "Logs" | "Metrics", bytes: Uint8Array): Decoded {
  const reader = root.lookupType(type);
  return reader.toObject(reader.decode(bytes), { longs: String, oneofs: false }).r[0].s[0];
}

function lineOf(text: string): Decoded {
  return decode("Logs", logsRequest([text], sender, EVENTS, 2000)).lines[0];
}

describe("a line of the log", () => {
  test("has its time to the nanosecond, its trace and its level", () => {
    const line = lineOf(
      JSON.stringify({
        time: "2026-01-02T03:04:05.678Z",
        event: "access",
        trace_id: "0af7651916cd43dd8448eb211c80319c",
      }),
    );
    expect([line.time, line.seen]).toEqual(["1767323045678000000", "2000000000"]);
    expect([line.event, line.severity, line.body.s]).toEqual(["access", 9, "access"]);
    expect(Buffer.from(line.trace).toString("hex")).toBe("0af7651916cd43dd8448eb211c80319c");
  });

  test.each<[string, unknown, object | null]>([
    ["a text", "caf\u00e9", { s: "caf\u00e9" }],
    ["an empty text", "", { s: "" }],
    ["half a surrogate pair", "\ud800", { s: "\ufffd" }],
    ["false", false, { b: false }],
    ["zero", 0, { i: "0" }],
    ["a negative number", -5, { i: "-5" }],
    ["a fraction", 1.5, { d: 1.5 }],
    ["a number beyond whole ones", 1e300, { d: 1e300 }],
    ["a list", ["a", null, 1], { list: { values: [{ s: "a" }, {}, { i: "1" }] } }],
    [
      "an object",
      { a: { b: 1 } },
      { object: { values: [{ key: "a", value: { object: { values: [{ key: "b", value: { i: "1" } }] } } }] } },
    ],
    ["null", null, null],
  ])("keeps %s", (_, value, expected) => {
    const { attributes = [] } = lineOf(JSON.stringify({ event: "access", value }));
    expect(attributes).toEqual(expected === null ? [] : [{ key: "value", value: expected }]);
  });

  test("that is nested deeply costs no more than its text", () => {
    const line = `{"event":"x","value":${"[".repeat(5000)}${"]".repeat(5000)}}`;
    expect(JSON.stringify(lineOf(line)).length).toBeLessThan(12_000);
  });

  test.each(["not JSON", '{"event":', "{", '{"trace_id":"zz"}', '{"time":"never"}'])(
    "of any text is a record: %s",
    (text) => {
      const line = lineOf(text);
      expect([line.event, line.trace]).toEqual(["access", undefined]);
      expect(line.time).toBe("2000000000");
    },
  );
});

test("buckets that were read while a worker counted are no negative numbers", () => {
  const bucket = (le: string, value: number) => ({ metricName: "t_bucket", labels: { le }, value });
  const samples = [
    bucket("0.1", 3),
    bucket("1", 7),
    bucket("+Inf", 6),
    { metricName: "t_sum", labels: {}, value: 1.25 },
    { metricName: "t_count", labels: {}, value: 6 },
  ];
  const metrics: Metric[] = [
    { name: "t", help: "", type: "histogram", read: () => samples },
    { name: "n", help: "", type: "counter", read: () => [{ value: 0, labels: {} }] },
    { name: "none", help: "", type: "counter", read: () => [] },
  ];
  const decoded = decode("Metrics", metricsRequest(metrics, sender, 0, 1)).metrics;
  expect(decoded.map(({ name }: Decoded) => name)).toEqual(["t", "n"]);
  expect(decoded[0].histogram.points).toEqual([{ count: "6", sum: 1.25, buckets: ["3", "4", "0"], bounds: [0.1, 1] }]);
  expect(decoded[1].sum).toEqual({ points: [{ value: 0 }], temporality: 2, monotonic: true });
});

test("what a collector has not taken is read from its response, and no other bytes count", () => {
  const partial = Buffer.from([0x0a, 7, 0x08, 3, 0x12, 3, 0x6e, 0x6f, 0x21]);
  expect(rejectedOf(partial)).toEqual({ count: 3, why: "no!" });
  for (const other of ["", "\n", "\n\x7f", "<html>", "\x00\xff\xff"])
    expect(rejectedOf(Buffer.from(other, "latin1"))).toEqual({ count: 0, why: "" });
});
