import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { type EventFields, eventLine } from "../../../src/features/telemetry/event-line.ts";
import { IsoTime } from "../../../src/features/telemetry/iso-time.ts";
import { jsonText, jsonTextOrNull } from "../../../src/features/telemetry/json-text.ts";

describe("event line", () => {
  test("the fields of a waf_block in their order", () => {
    const fields: EventFields = {
      client_ip: "192.0.2.1",
      method: "GET",
      path: "/../../etc/passwd",
      category: "traversal",
      rule_id: "TRAVERSAL-001",
      anomaly_score: 5,
      action: "blocked",
      location: "url",
    };
    expect(eventLine(0, "waf_block", fields)).toBe(
      '{"timestamp":"1970-01-01T00:00:00.000Z","event":"waf_block","client_ip":"192.0.2.1","method":"GET",' +
        '"path":"/../../etc/passwd","category":"traversal","rule_id":"TRAVERSAL-001","anomaly_score":5,' +
        '"action":"blocked","location":"url"}\n',
    );
  });

  test("every kind of value", () => {
    const line = eventLine(0, "x", { ok: false, none: null, bad: Number.NaN, list: ["a", '"'], rate: 0.5 });
    expect(JSON.parse(line)).toMatchObject({ ok: false, none: null, bad: null, list: ["a", '"'], rate: 0.5 });
  });

  test("any text stays one line of bounded length", () => {
    const text = fc.string({ unit: "binary", maxLength: 5000 });
    fc.assert(
      fc.property(text, (value) => {
        const line = eventLine(0, "x", { value });
        expect(line.indexOf("\n")).toBe(line.length - 1);
        expect((JSON.parse(line) as { value: string }).value.length).toBeLessThanOrEqual(2049);
      }),
    );
  });
});

test("JSON text is what JSON reads back, with controls escaped", () => {
  expect(jsonText("plain /path?x=1", 100)).toBe('"plain /path?x=1"');
  expect(jsonText('a"b\\c\nd\x00\x7f\x9b', 100)).toBe('"a\\"b\\\\c\\nd\\u0000\\u007f\\u009b"');
  expect(jsonText("abcdef", 3)).toBe('"abc…"');
  expect(jsonTextOrNull("", 3)).toBe("null");
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(JSON.parse(jsonText(text, 1000))).toBe(text);
    }),
  );
});

test("times are those of toISOString", () => {
  const isoTime = new IsoTime();
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 4_000_000_000_000 }), fc.nat(2000), (ms, later) => {
      expect(isoTime.text(ms)).toBe(new Date(ms).toISOString());
      expect(isoTime.text(ms + later)).toBe(new Date(ms + later).toISOString());
      expect(isoTime.text(ms + 0.75)).toBe(new Date(ms).toISOString());
    }),
  );
});
