import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { FakeConnect } from "../unit/features/forward/fake-connect.ts";
import { ForwardSession } from "../unit/features/forward/forward-session.ts";
import { IN_PLACE } from "../unit/proto/carriers.ts";
import { chunkLog, chunkVectors, LENIENT_CHUNK_FILE, lenientChunkLog } from "../unit/proto/h1/chunk-log.ts";
import { lenientLog, lenientVectors, strictLog } from "../unit/proto/h1/lenient-log.ts";
import { responseVectors } from "../unit/proto/h1/response-log.ts";
import { readVectors, type Vector } from "../unit/proto/vector-file.ts";
import { anyOf, type CutPoint, carrier, cutAt, cutPoints, mutated } from "./h1-arbitraries.ts";

const MUTATED_BYTES = 1500;
const heads = [...lenientVectors(), ...responseVectors()];
const chunks = [...readVectors<Vector>(LENIENT_CHUNK_FILE), ...chunkVectors()];
const method = fc.constantFrom("GET", "HEAD", "POST");

let connect: FakeConnect;
beforeAll(() => {
  connect = new FakeConnect();
});
afterAll(() => connect.restore());

function bytesOf(text: string): Buffer {
  return Buffer.from(text, "latin1");
}

test("any split of an old origin's head gives the same log", () => {
  const vector = anyOf(lenientVectors());
  fc.assert(
    fc.property(vector, cutPoints, carrier, ({ bytes, vector: { method: asked } }, points, way) => {
      expect(lenientLog(cutAt(bytes, points), way, asked)).toBe(lenientLog([bytes], IN_PLACE, asked));
    }),
    { numRuns: 4000 },
  );
});

test("any split of a mutated head, or of mutated chunks, of an old origin gives the same log", () => {
  fc.assert(
    fc.property(mutated(heads, MUTATED_BYTES), cutPoints, carrier, method, (text, points, way, asked) => {
      const bytes = bytesOf(text);
      expect(lenientLog(cutAt(bytes, points), way, asked)).toBe(lenientLog([bytes], IN_PLACE, asked));
    }),
    { numRuns: 5000 },
  );
  fc.assert(
    fc.property(mutated(chunks, MUTATED_BYTES), cutPoints, carrier, (text, points, way) => {
      const bytes = bytesOf(text);
      expect(lenientChunkLog(cutAt(bytes, points), way)).toBe(lenientChunkLog([bytes], IN_PLACE));
    }),
    { numRuns: 5000 },
  );
});

test("what the strict parser accepts, the lenient one reads in the same way; 204, 304 and answers to HEAD are the last of their connection", () => {
  let accepted = 0;
  const property = (text: string, asked: string): void => {
    const strict = JSON.parse(strictLog([bytesOf(text)], IN_PLACE, asked));
    if (strict.status === undefined) return;
    accepted++;
    const isLast = strict.status === 204 || strict.status === 304 || asked === "HEAD";
    const wanted = { ...strict, keepAlive: strict.keepAlive && !isLast };
    expect(JSON.parse(lenientLog([bytesOf(text)], IN_PLACE, asked))).toEqual(wanted);
  };
  fc.assert(fc.property(mutated(heads, MUTATED_BYTES), method, property), { numRuns: 5000 });
  expect(accepted).toBeGreaterThan(200);
  fc.assert(
    fc.property(mutated(chunks, MUTATED_BYTES), (text) => {
      const log = chunkLog([bytesOf(text)], IN_PLACE);
      if (JSON.parse(log).fault === undefined) expect(lenientChunkLog([bytesOf(text)], IN_PLACE)).toBe(log);
    }),
    { numRuns: 5000 },
  );
});

test("a head that needed leniency is the last of its connection, and in strict form it says the same", () => {
  let needy = 0;
  const property = (text: string, asked: string): void => {
    const read = JSON.parse(lenientLog([bytesOf(text)], IN_PLACE, asked));
    if (read.status === undefined || read.needs.length === 0) return;
    needy++;
    expect(read.keepAlive).toBe(false);
    const lines = read.fields.map(([name, value]: [string, string]) => `${name}: ${value}\r\n`).join("");
    const rewritten = `HTTP/1.${read.minor} ${read.status} \r\n${lines}\r\n`;
    const { end: _, keepAlive: __, needs: ___, ...said } = read;
    expect(JSON.parse(strictLog([bytesOf(rewritten)], IN_PLACE, asked))).toMatchObject(said);
  };
  fc.assert(fc.property(mutated(lenientVectors(), MUTATED_BYTES), method, property), { numRuns: 5000 });
  expect(needy).toBeGreaterThan(200);
});

/** Heads with their bodies, and what comes behind them. */
const lineEnd = fc.constantFrom("\n", "\r\n");
const field = fc.constantFrom("X-A: b", "X-A: b\r\n c", "Connection: keep-alive", "Content-Length: 5", "ETag: x");
const framing = fc.constantFrom(
  ["Content-Length: 5", "hello"],
  ["Content-Length: 5, 5", "hello"],
  ["Transfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n"],
  ["Transfer-Encoding: chunked", "5\nhello\n0\nX-T: y\n\n"],
  ["Content-Length: 0", ""],
);
const status = fc.constantFrom("200 OK", "204 No Content", "304 Not Modified", "404 Not Found");
const answer = fc
  .tuple(fc.array(lineEnd, { minLength: 6, maxLength: 6 }), status, fc.array(field, { maxLength: 3 }), framing)
  .map(([ends, said, fields, [length, body]]) => {
    const lines = [`HTTP/1.1 ${said}`, ...fields, length, ""];
    return lines.map((line, i) => `${line}${ends[i]}`).join("") + body;
  });
const surplus = fc.constantFrom("", "", "x", "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison");

/** What becomes of an answer of a lenient origin. */
function outcome(pieces: readonly Buffer[]) {
  const session = new ForwardSession([81], { retryAttempts: 0 }, [], true);
  session.client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
  const origin = connect.last.open();
  for (const piece of pieces) origin.send(piece.toString("latin1"));
  return { session, origin };
}

test("no connection is kept over which an answer needed leniency, or has left a byte", () => {
  let kept = 0;
  const property = (text: string, more: string, points: readonly CutPoint[]): void => {
    const bytes = bytesOf(text + more);
    const { session, origin } = outcome(cutAt(bytes, points));
    if (session.kept > 0) {
      kept++;
      expect([session.leniencies, more]).toEqual([[], ""]);
      expect(strictLog([bytes], IN_PLACE)).toContain('"keepAlive":true');
      expect(text).not.toMatch(/^HTTP\/1.1 [23]04/);
      // Else it is closed, or the answer is under way.
    } else expect(origin.isEnded || session.client.ended.length === 0).toBe(true);
    expect(session.client.exceptions).toEqual([]);
  };
  fc.assert(fc.property(answer, surplus, cutPoints, property), { numRuns: 500 });
  expect(kept).toBeGreaterThan(3);
});

test("what reaches the client has strict lines, one length, and no body behind 204", () => {
  const property = (text: string, more: string, points: readonly CutPoint[]): void => {
    const { session } = outcome(cutAt(bytesOf(text + more), points));
    const { got } = session.client;
    const headTo = got.indexOf("\r\n\r\n");
    if (headTo < 0) return;
    const head = got.slice(0, headTo);
    expect(head.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    expect(head).not.toMatch(/\r\n[ \t]/);
    expect(head.match(/content-length: /gi)?.length ?? 0).toBeLessThanOrEqual(1);
    expect(head).not.toMatch(/content-length: .*,/i);
    expect(got).not.toContain("poison");
    if (/^HTTP\/1.1 204/.test(head))
      expect([got.length, /content-length|transfer-/i.test(head)]).toEqual([headTo + 4, false]);
  };
  fc.assert(fc.property(answer, surplus, cutPoints, property), { numRuns: 500 });
});
