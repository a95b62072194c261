import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodedParams, FieldParams, fieldParamsBound, writeNumberParam } from "../../src/proto/fastcgi/params.ts";
import { RecordEvent, RecordReader } from "../../src/proto/fastcgi/record-reader.ts";
import {
  BEGIN_RECORD_BYTES,
  frameParams,
  HEADER_BYTES,
  paramsFramingBound,
  writeBegin,
} from "../../src/proto/fastcgi/records.ts";
import { endRecord, readParams, readRecords, record, responseOf, STDERR, STDOUT } from "../harness/fastcgi-records.ts";
import { type CutPoint, cutAt, cutPoints } from "./h1-arbitraries.ts";

/** What a reader makes of pieces: the output, the errors, and how it ended. */
function read(pieces: readonly Uint8Array[]): object {
  const reader = new RecordReader();
  reader.begin();
  let output = "";
  let errors = "";
  let isOver = false;
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at = reader.consumed) {
      const event = reader.next(piece, at, piece.length);
      if (event !== RecordEvent.Failed) expect(reader.consumed).toBeGreaterThan(at);
      if (event === RecordEvent.Output) output += Buffer.from(piece).latin1Slice(reader.from, reader.to);
      else if (event === RecordEvent.ErrorText) errors += Buffer.from(piece).latin1Slice(reader.from, reader.to);
      else if (event === RecordEvent.End) isOver = true;
      else if (event === RecordEvent.Failed) return { output, errors, isOver, failed: true };
    }
  }
  return { output, errors, isOver, status: reader.protocolStatus, failed: false };
}

const text = fc.string({ unit: "binary", maxLength: 300 }).map((one) => Buffer.from(one, "utf8"));
const goodRecord = fc
  .tuple(fc.constantFrom(STDOUT, STDERR), text, fc.nat(255))
  .filter(([type, content]) => type === STDERR || content.length > 0)
  .map(([type, content, padding]) => ({ type, content, bytes: record(type, content, { padding }) }));

test("any split of a response's records gives the same output", () => {
  const property = (
    records: { type: number; content: Buffer; bytes: Buffer }[],
    points: CutPoint[],
    status: number,
  ) => {
    const bytes = Buffer.concat([...records.map((one) => one.bytes), record(STDOUT), endRecord(status)]);
    const of = (type: number) =>
      Buffer.concat(records.filter((one) => one.type === type).map((one) => one.content)).latin1Slice();
    const wanted = { output: of(STDOUT), errors: of(STDERR), isOver: true, status, failed: false };
    expect(read([bytes])).toEqual(wanted);
    expect(read(cutAt(bytes, points))).toEqual(wanted);
    expect(read([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(wanted);
  };
  fc.assert(fc.property(fc.array(goodRecord, { maxLength: 6 }), cutPoints, fc.nat(3), property), { numRuns: 500 });
});

test("whatever comes, a reader goes on or fails, and splits change nothing", () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
    goodRecord.map(({ bytes }) => bytes),
    fc.constant(endRecord()),
    fc.tuple(fc.nat(12), fc.nat(3), fc.nat(2)).map(([type, id, version]) => record(type, "abc", { id, version })),
  );
  const property = (pieces: Buffer[], points: CutPoint[]) => {
    const bytes = Buffer.concat(pieces);
    expect(read(cutAt(bytes, points))).toEqual(read([bytes]));
  };
  fc.assert(fc.property(fc.array(piece, { maxLength: 8 }), cutPoints, property), { numRuns: 2000 });
});

test("what belongs to no response of ours fails", () => {
  const output = record(STDOUT, "a");
  const bad: Record<string, Buffer> = {
    "another request": record(STDOUT, "a", { id: 2 }),
    "no request": record(STDOUT, "a", { id: 0 }),
    "another version": record(STDOUT, "a", { version: 2 }),
    "a type that is not sent back": record(5, "a"),
    "an unknown type": record(11, "\x0b\0\0\0\0\0\0\0"),
    "an end that is too short": record(3, "\0\0\0\0"),
    "an end that is too long": record(3, "\0\0\0\0\0\0\0\0\0"),
    "output after its end": Buffer.concat([output, record(STDOUT), output]),
    "output after the end of the request": Buffer.concat([output, endRecord(), output]),
  };
  for (const [name, bytes] of Object.entries(bad))
    expect([name, (read([bytes]) as { failed: boolean }).failed]).toEqual([name, true]);
  // Without the empty record, too: only the end of the request counts.
  expect(read([Buffer.concat([output, endRecord()])])).toMatchObject({ output: "a", isOver: true, failed: false });
  expect(read([responseOf("x".repeat(200_000), 65_535)])).toMatchObject({ output: "x".repeat(200_000), isOver: true });
});

test("parameters of any length are read as they were written", () => {
  const value = fc.oneof(
    fc.string({ maxLength: 200 }),
    fc.nat(70_000).map((length) => "v".repeat(length)),
  );
  const pairs = fc.array(fc.tuple(fc.stringMatching(/^[A-Z_]{1,200}$/), value), { minLength: 1, maxLength: 6 });
  const property = (all: [string, string][]) => {
    const latin = all.map(([name, one]) => [name, Buffer.from(one, "utf8").latin1Slice()] as [string, string]);
    const params = encodedParams(latin);
    const out = Buffer.alloc(BEGIN_RECORD_BYTES + params.length + paramsFramingBound(params.length));
    const from = writeBegin(out, 0, true) + HEADER_BYTES;
    const end = frameParams(out, from, from + params.copy(out, from));
    const { records, rest } = readRecords(out.subarray(0, end));
    expect(rest.length).toBe(0);
    expect(records.map(({ id }) => id).every((id) => id === 1)).toBe(true);
    expect(records[0]).toEqual({ type: 1, id: 1, content: Buffer.from([0, 1, 1, 0, 0, 0, 0, 0]) });
    expect(records.at(-1)!.content.length).toBe(0);
    // An empty record ends the stream: none but the last is.
    expect(records.slice(1, -1).every(({ type, content }) => type === 4 && content.length > 0)).toBe(true);
    expect(readParams(Buffer.concat(records.slice(1).map(({ content }) => content)))).toEqual(latin);
  };
  fc.assert(fc.property(pairs, property), { numRuns: 300 });
});

const name = fc.oneof(
  fc.constantFrom(
    "Host",
    "Content-Type",
    "Content-Length",
    "Proxy",
    "proxy",
    "Cookie",
    "X-A",
    "x-a",
    "X_A",
    "X.A",
    "Te",
    "Connection",
    "Upgrade",
    "Keep-Alive",
  ),
  fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}$/),
);
const fieldValue = fc.oneof(
  fc.stringMatching(/^[!-~]{0,20}$/),
  fc.nat(400).map((length) => "v".repeat(length)),
);

test("fields become variables that no other name can become", () => {
  const property = (fields: [string, string][]) => {
    const head = Buffer.from(
      `GET / HTTP/1.1\r\n${fields.map(([one, v]) => `${one}: ${v}\r\n`).join("")}\r\n`,
      "latin1",
    );
    const out = Buffer.alloc(fieldParamsBound(head.length));
    const end = new FieldParams().write(head, head.length, out, 0);
    const seen = readParams(out.subarray(0, end));
    const dropped =
      /^(content-length|content-type|connection|transfer-encoding|keep-alive|proxy-connection|upgrade|te|expect|http2-settings|proxy)$/i;
    const wanted = new Map<string, string[]>();
    for (const [one, v] of fields) {
      if (!/^[A-Za-z0-9-]+$/.test(one) || dropped.test(one)) continue;
      const variable = `HTTP_${one.toUpperCase().replaceAll("-", "_")}`;
      wanted.set(variable, [...(wanted.get(variable) ?? []), v]);
    }
    expect(seen).toEqual([...wanted].map(([one, values]) => [one, values.join(one === "HTTP_COOKIE" ? "; " : ", ")]));
  };
  fc.assert(fc.property(fc.array(fc.tuple(name, fieldValue), { maxLength: 150 }), property), { numRuns: 1000 });
});

test("numbers are written as texts are", () => {
  fc.assert(
    fc.property(fc.maxSafeNat(), (value) => {
      const out = Buffer.alloc(64);
      const end = writeNumberParam(out, 0, Buffer.from("CONTENT_LENGTH"), value);
      expect(readParams(out.subarray(0, end))).toEqual([["CONTENT_LENGTH", String(value)]]);
    }),
  );
});
