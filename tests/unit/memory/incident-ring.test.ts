import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  createIncidentRing,
  INCIDENTS_KEPT,
  type Incident,
  IncidentReader,
  IncidentWriter,
} from "../../../src/memory/incident-ring.ts";

const FIRST_SLOT_AT = 8;

function incident(over: Partial<Incident> = {}): Incident {
  return {
    timestampMs: 1_700_000_000_000,
    clientIp: "192.0.2.7",
    method: "GET",
    path: "/../../etc/passwd",
    category: "traversal",
    ruleId: "TRAVERSAL-001",
    anomalyScore: 5,
    action: "blocked",
    payloadSnippet: "/../../etc/passwd",
    location: "url",
    ...over,
  };
}

function setUp() {
  const buffer = createIncidentRing();
  return { buffer, writer: new IncidentWriter(buffer, 0), reader: new IncidentReader(buffer) };
}

describe("incident ring", () => {
  test("gives back what was recorded, newest first", () => {
    const { writer, reader } = setUp();
    writer.record(incident({ timestampMs: 1 }));
    writer.record(incident({ timestampMs: 2, path: "/é" }));
    expect(reader.total()).toBe(2);
    expect(reader.recent(10, 0)).toEqual([incident({ timestampMs: 2, path: "/é" }), incident({ timestampMs: 1 })]);
  });

  test("keeps the last thousand and counts all", () => {
    const { writer, reader } = setUp();
    for (let i = 0; i < INCIDENTS_KEPT + 250; i++) writer.record(incident({ timestampMs: i }));
    const found = reader.recent(5000, 0);
    expect(reader.total()).toBe(INCIDENTS_KEPT + 250);
    expect(found.map(({ timestampMs }) => timestampMs)).toEqual(
      Array.from({ length: INCIDENTS_KEPT }, (_, i) => INCIDENTS_KEPT + 249 - i),
    );
  });

  test("gives no more than asked for and nothing older than asked for", () => {
    const { writer, reader } = setUp();
    for (let i = 0; i < 20; i++) writer.record(incident({ timestampMs: i }));
    expect(reader.recent(3, 0).map(({ timestampMs }) => timestampMs)).toEqual([19, 18, 17]);
    expect(reader.recent(100, 18).map(({ timestampMs }) => timestampMs)).toEqual([19, 18]);
  });

  test("any texts come back as a beginning of what was recorded, and never part of a character", () => {
    // The sign for what could not be read stands for a part of a character below.
    const text = fc.string({ unit: "grapheme", maxLength: 2000 }).map((any) => any.replaceAll("�", ""));
    fc.assert(
      fc.property(text, text, text, text, fc.nat(1000), (path, clientIp, payloadSnippet, ruleId, anomalyScore) => {
        const { writer, reader } = setUp();
        const recorded = incident({ path, clientIp, payloadSnippet, ruleId, anomalyScore });
        writer.record(recorded);
        writer.record(incident({ timestampMs: 5 }));
        const [next, found] = reader.recent(2, 0);
        expect(next).toEqual(incident({ timestampMs: 5 }));
        expect(found!.anomalyScore).toBe(anomalyScore);
        for (const name of ["path", "clientIp", "payloadSnippet", "ruleId"] as const) {
          const kept = found![name].replaceAll("�", "");
          expect(recorded[name].startsWith(kept)).toBe(true);
        }
        expect(found!.path.length).toBeLessThanOrEqual(512);
        expect(found!.payloadSnippet.length).toBeLessThanOrEqual(256);
      }),
      { numRuns: 50 },
    );
  });

  test("an incident that is being written is passed over, by readers and by other writers", () => {
    const { buffer, writer, reader } = setUp();
    writer.record(incident({ timestampMs: 1 }));
    new Int32Array(buffer)[FIRST_SLOT_AT / 4] = -2;
    expect(reader.recent(10, 0)).toEqual([]);
    for (let i = 0; i < INCIDENTS_KEPT; i++) writer.record(incident({ timestampMs: 2 + i }));
    expect(reader.recent(2000, 0).length).toBe(INCIDENTS_KEPT - 1);
    expect(reader.total()).toBe(INCIDENTS_KEPT + 1);
  });

  test("a thread that takes the place of a dead one frees what that one held", () => {
    const { buffer, writer, reader } = setUp();
    new Int32Array(buffer)[FIRST_SLOT_AT / 4] = -2;
    writer.record(incident());
    expect(reader.recent(10, 0)).toEqual([]);
    new IncidentWriter(buffer, 1);
    for (let i = 0; i < INCIDENTS_KEPT; i++) writer.record(incident());
    expect(reader.recent(2000, 0).length).toBe(INCIDENTS_KEPT);
  });

  test("a torn incident is passed over", () => {
    const { buffer, writer, reader } = setUp();
    writer.record(incident());
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 100 }), fc.integer({ min: 1, max: 255 }), (offset, change) => {
        const bytes = new Uint8Array(buffer);
        bytes[FIRST_SLOT_AT + offset]! ^= change;
        expect(reader.recent(10, 0)).toEqual([]);
        bytes[FIRST_SLOT_AT + offset]! ^= change;
        expect(reader.recent(10, 0)).toEqual([incident()]);
      }),
    );
  });

  test("a writer that was overtaken by a whole round leaves the newer incident", () => {
    const { buffer, writer, reader } = setUp();
    for (let i = 0; i <= INCIDENTS_KEPT; i++) writer.record(incident({ timestampMs: i }));
    const total = new BigInt64Array(buffer, 0, 1);
    total[0] = 0n;
    writer.record(incident({ timestampMs: 999_999 }));
    total[0] = BigInt(INCIDENTS_KEPT + 1);
    expect(reader.recent(1, 0)[0]!.timestampMs).toBe(INCIDENTS_KEPT);
  });
});
