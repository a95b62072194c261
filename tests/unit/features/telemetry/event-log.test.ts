import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { CONNECT_FAILURE_LOG_MS } from "../../../../src/core/event-row.ts";
import { EVENTS } from "../../../../src/facts/events.ts";
import { eventLine, MAX_LOGGED_ORIGINS } from "../../../../src/features/telemetry/event-log.ts";
import { IsoTime, jsonText, jsonTextOrNull } from "../../../../src/features/telemetry/log-batch.ts";
import { fakeTelemetry, loggedLines } from "./telemetry-fake.ts";

describe("event line", () => {
  test("the fields of a waf_block in their order", () => {
    const fields = {
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
        '"action":"blocked","location":"url","time":"1970-01-01T00:00:00.000Z"}\n',
    );
  });

  test("every kind of value", () => {
    const line = eventLine(0, "start", { ok: false, none: null, bad: Number.NaN, list: ["a", '"'], rate: 0.5 });
    expect(JSON.parse(line)).toMatchObject({ ok: false, none: null, bad: null, list: ["a", '"'], rate: 0.5 });
  });

  test("any text stays one line of bounded length", () => {
    const text = fc.string({ unit: "binary", maxLength: 5000 });
    fc.assert(
      fc.property(text, (value) => {
        const line = eventLine(0, "start", { value });
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

test("every event that has a row is written somewhere", () => {
  const src = join(import.meta.dir, "../../../../src");
  const texts = [...new Bun.Glob("**/*.ts").scanSync(src)]
    .filter((file) => !/(^|\/)(\w+-)?events\.ts$/.test(file))
    .map((file) => readFileSync(join(src, file), "utf8"))
    .join("");
  expect(Object.keys(EVENTS).filter((name) => !texts.includes(`"${name}"`))).toEqual([]);
});

describe("an event with a bound for each thing that it is about", () => {
  function setUp() {
    const telemetry = fakeTelemetry();
    const failed = (upstream: string, reason: string) =>
      telemetry.events.eventOf(`${upstream} ${reason}`, "upstream_failed", { upstream, reason });
    return { telemetry, failed };
  }

  test("one line an origin and reason in a while; the next one tells of the gap", () => {
    const { telemetry, failed } = setUp();
    for (let i = 0; i < 1000; i++) failed("http://a", "ECONNREFUSED");
    failed("http://a", "timeout");
    failed("http://b", "ECONNREFUSED");
    telemetry.clock.nowMs += CONNECT_FAILURE_LOG_MS;
    failed("http://a", "ECONNREFUSED");
    failed("http://b", "ECONNREFUSED");
    const lines = loggedLines(telemetry).map(({ event, upstream, reason, not_logged }) => ({
      event,
      upstream,
      reason,
      not_logged,
    }));
    const event = "upstream_failed";
    expect(lines).toEqual([
      { event, upstream: "http://a", reason: "ECONNREFUSED", not_logged: undefined },
      { event, upstream: "http://a", reason: "timeout", not_logged: undefined },
      { event, upstream: "http://b", reason: "ECONNREFUSED", not_logged: undefined },
      { event, upstream: "http://a", reason: "ECONNREFUSED", not_logged: 999 },
      { event, upstream: "http://b", reason: "ECONNREFUSED", not_logged: undefined },
    ]);
  });

  test("a clock that is set back does not silence it", () => {
    const { telemetry, failed } = setUp();
    failed("http://a", "ECONNREFUSED");
    telemetry.clock.nowMs -= 86_400_000;
    failed("http://a", "ECONNREFUSED");
    failed("http://a", "ECONNREFUSED");
    expect(loggedLines(telemetry)).toHaveLength(2);
  });

  test("origins without end, named by clients, are forgotten one after the other", () => {
    const { telemetry, failed } = setUp();
    for (let i = 0; i <= MAX_LOGGED_ORIGINS; i++) failed(`http://h${i}`, "ENOTFOUND");
    failed("http://h0", "ENOTFOUND");
    failed(`http://h${MAX_LOGGED_ORIGINS}`, "ENOTFOUND");
    expect(loggedLines(telemetry)).toHaveLength(MAX_LOGGED_ORIGINS + 2);
  });
});
