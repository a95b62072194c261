import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { FAULTS } from "../../src/core/fault-rows.ts";
import { exportRequest } from "../../src/features/telemetry/otlp/messages.ts";
import { SpanEncoder } from "../../src/features/telemetry/otlp/span-encoder.ts";
import {
  CALL_OUTCOMES,
  createSpanRings,
  SpanKind,
  SpanReader,
  SpanWriter,
  TEXT_LIMITS,
} from "../../src/memory/span-ring.ts";
import { CACHE_RESULT_NAMES } from "../../src/message/cache-result.ts";
import { referenceSpans } from "../harness/reference-spans.ts";
import { recordSpan, type SpanRecord, spanOf } from "../harness/span-records.ts";

const sender = {
  resource: { "service.name": "caf\u00e9 \u2615", zone: "z".repeat(300) },
  scope: { name: "edge", version: "1.2.3" },
};

const text = (max: number) =>
  fc.oneof(
    fc.constant(""),
    fc.string({ maxLength: Math.min(max, 40) }),
    fc.string({ maxLength: max * 2, unit: fc.integer({ min: 0, max: 255 }).map((c) => String.fromCharCode(c)) }),
  );
const id = (length: number) =>
  fc.uint8Array({ minLength: length, maxLength: length }).filter((bytes) => bytes.some((byte) => byte !== 0));
const ms = fc.double({ min: 1, max: 4.2e12, noNaN: true });
const size = fc.oneof(fc.nat(300), fc.nat(), fc.maxSafeNat());
const record: fc.Arbitrary<SpanRecord> = fc.record({
  startMs: ms,
  endMs: ms,
  sentMs: fc.oneof(fc.constant(-1), ms),
  upstreamMs: fc.oneof(fc.constant(-1), fc.nat(1000)),
  bytesIn: size,
  bytesOut: size,
  status: fc.integer({ min: 100, max: 599 }),
  attempts: fc.nat(200),
  port: fc.nat(65535),
  tls: fc.boolean(),
  flags: fc.nat(255),
  traceId: id(16),
  spanId: id(8),
  parentId: fc.oneof(id(8), fc.constant(new Uint8Array(8))),
  clientSpanId: id(8),
  protocol: fc.constantFrom(10, 11, 20, 30),
  method: fc.oneof(fc.constantFrom("GET", "POST", "OPTIONS", "TRACE", "BREW"), text(32)),
  host: fc.oneof(
    fc.constantFrom("shop.test", "shop.test:81", "[::1]:8080", "[::1]", ":80", "a:b", "a:123456"),
    text(255),
  ),
  path: text(1024),
  route: fc.oneof(fc.constantFrom("/", "unmatched", "/unmatched"), text(256)),
  upstream: fc.oneof(
    fc.constantFrom("http://10.0.0.1:8080", "https://shop.test", "unix:/run/app.sock", "h2c://a:1"),
    text(256),
  ),
  client: fc.oneof(fc.ipV4(), fc.ipV6()),
  userAgent: text(256),
  requestId: text(128),
  fault: fc.nat(FAULTS.length - 1),
  cache: fc.constantFrom(...CACHE_RESULT_NAMES),
  kind: fc.oneof(fc.constant(0), fc.nat(4)),
  queueUs: size,
  outcome: fc.constantFrom(...CALL_OUTCOMES),
  module: fc.oneof(fc.constantFrom("/srv/functions/shop.ts", "shop.ts", "/a/"), text(256)),
});
/** A request of `ctx.upstream()` has been sent. */
const span = record.map((one) => (one.kind === SpanKind.Upstream ? { ...one, sentMs: Math.max(1, one.sentMs) } : one));

function encoded(spans: readonly SpanRecord[], encoder: SpanEncoder): { ours: Buffer; library: Buffer } {
  const [ring] = createSpanRings(1);
  const writer = new SpanWriter(ring!);
  for (const one of spans) expect(recordSpan(writer, one)).toBe(true);
  const stored: SpanRecord[] = [];
  new SpanReader(ring!).each(spans.length, (one) => {
    encoder.add(one);
    stored.push(spanOf(one));
  });
  const reference = stored.flatMap((one) => referenceSpans(one));
  expect(encoder.count).toBe(reference.length);
  const library = exportRequest("traces", sender, reference);
  return { ours: Buffer.from(encoder.take()), library: Buffer.from(library) };
}

describe("spans on the wire", () => {
  test("are to the byte what @bufbuild/protobuf makes of them", () => {
    const encoder = new SpanEncoder(sender);
    fc.assert(
      fc.property(fc.array(span, { minLength: 1, maxLength: 6 }), (spans) => {
        const { ours, library } = encoded(spans, encoder);
        expect(ours.toString("hex")).toBe(library.toString("hex"));
      }),
      { numRuns: 300 },
    );
  });

  test("a request with the longest texts has room in a message that is not full, and a message is at most as long as it was said", () => {
    const long = (which: number) => "\xff".repeat(TEXT_LIMITS[which]!);
    const [one] = fc.sample(span, { numRuns: 1, seed: 7 });
    const worst: SpanRecord = {
      ...one!,
      ...{ method: long(0), host: long(1), path: long(2), route: long(3), upstream: long(4), client: long(5) },
      ...{ userAgent: long(6), requestId: long(7), sentMs: 1, upstreamMs: 1, bytesIn: 2 ** 53 - 1 },
      ...{ kind: 0, module: long(8) },
    };
    const encoder = new SpanEncoder(sender);
    const [ring] = createSpanRings(1);
    const writer = new SpanWriter(ring!);
    const reader = new SpanReader(ring!);
    while (!encoder.isFull) {
      recordSpan(writer, worst);
      reader.each(1, (stored) => encoder.add(stored));
    }
    const { length } = encoder.take();
    expect(length).toBeLessThan((2 << 20) + 1024);
    expect(length).toBeGreaterThan((2 << 20) - (16 << 10));
    expect<boolean>(encoder.isFull).toBe(false);
  });
});
