import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { createSpanRings, SpanReader, SpanWriter } from "../../../src/memory/span-ring.ts";
import { recordSpan, type SpanRecord, spanOf } from "../../harness/span-records.ts";

function numbered(n: number, path = "/x"): SpanRecord {
  return {
    startMs: 1000.5 + n,
    endMs: 1001.25 + n,
    sentMs: -1,
    upstreamMs: -1,
    bytesIn: n,
    bytesOut: 2 * n,
    status: 200,
    attempts: 1,
    port: 443,
    tls: n % 2 === 1,
    flags: 3,
    traceId: new Uint8Array(16).fill(n),
    spanId: new Uint8Array(8).fill(n + 1),
    parentId: new Uint8Array(8),
    clientSpanId: new Uint8Array(8).fill(n + 2),
    protocol: 11,
    method: "GET",
    host: "a.test",
    path,
    route: "/",
    upstream: "",
    client: "127.0.0.1",
    userAgent: "",
    requestId: `id-${n}`,
    fault: 0,
    cache: "",
    kind: 0,
    queueUs: 0,
    outcome: "ok",
    module: "",
  };
}

function take(reader: SpanReader, limit: number): SpanRecord[] {
  const taken: SpanRecord[] = [];
  expect(reader.each(limit, (stored) => taken.push(spanOf(stored)))).toBe(taken.length);
  return taken;
}

describe("the ring of spans", () => {
  test("gives what was recorded, in its order", () => {
    const [buffer] = createSpanRings(1, 64 * 1024);
    const writer = new SpanWriter(buffer!);
    for (const n of [1, 2, 3]) recordSpan(writer, numbered(n));
    const reader = new SpanReader(buffer!);
    expect(take(reader, 2)).toEqual([numbered(1), numbered(2)]);
    expect(take(reader, 9)).toEqual([numbered(3)]);
    expect(take(reader, 9)).toEqual([]);
  });

  test("cuts long texts, and keeps every byte of a character", () => {
    const [buffer] = createSpanRings(1, 64 * 1024);
    recordSpan(new SpanWriter(buffer!), numbered(1, `/\xe9${"x".repeat(5000)}`));
    const [span] = take(new SpanReader(buffer!), 1);
    expect(span!.path).toBe(`/\xe9${"x".repeat(1022)}`);
  });

  test("a reader that sleeps costs what comes beyond the ring, which is counted, and nothing that is in it", () => {
    const [buffer] = createSpanRings(1, 16 * 1024);
    const writer = new SpanWriter(buffer!);
    const reader = new SpanReader(buffer!);
    for (let n = 0; n < 200; n++) recordSpan(writer, numbered(n));
    const taken = take(reader, 200);
    expect(taken.length).toBeGreaterThan(20);
    expect(taken).toEqual(taken.map((_, n) => numbered(n)));
    expect(reader.takeDropped()).toBe(200 - taken.length);
    expect(reader.takeDropped()).toBe(0);
    recordSpan(writer, numbered(7));
    expect(take(reader, 1)).toEqual([numbered(7)]);
  });

  test("whatever the order of writing and reading, what was taken is a run of what was recorded", () => {
    const step = fc.oneof(
      fc.record({ write: fc.integer({ min: 1, max: 60 }), path: fc.integer({ min: 0, max: 1500 }) }),
      fc.record({ take: fc.integer({ min: 1, max: 60 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        const [buffer] = createSpanRings(1, 16 * 1024);
        const writer = new SpanWriter(buffer!);
        const reader = new SpanReader(buffer!);
        let written = 0;
        const ids: string[] = [];
        for (const one of steps) {
          if ("take" in one) ids.push(...take(reader, one.take).map(({ requestId }) => requestId));
          else for (let i = 0; i < one.write; i++) recordSpan(writer, numbered(written++ % 200, "y".repeat(one.path)));
        }
        ids.push(...take(reader, 1000).map(({ requestId }) => requestId));
        expect(ids.length + reader.takeDropped()).toBe(written);
        // Dropped ones leave gaps; the others are in order, and none comes twice.
        let at = -1;
        for (const id of ids) {
          const n = Number(id.slice(3));
          const next = at < 0 ? n : at + 1 + ((((n - ((at + 1) % 200)) % 200) + 200) % 200);
          expect(next).toBeGreaterThan(at);
          at = next;
        }
        expect(at).toBeLessThan(Math.max(written, 1));
      }),
      { numRuns: 60 },
    );
  });
});
