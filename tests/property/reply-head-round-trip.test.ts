import { expect, test } from "bun:test";
import fc from "fast-check";
import { HeaderBlock } from "../../src/message/header-block.ts";
import { Framing, Method, ResponseHead } from "../../src/message/request-head.ts";
import {
  encodeInterim,
  encodeResponseHead,
  Persistence,
  responseHeadBound,
} from "../../src/proto/h1/response-encoder.ts";
import { ResponseParser } from "../../src/proto/h1/response-parser.ts";

const DATE = Buffer.from("Sun, 06 Nov 1994 08:49:37 GMT");
const CLEAR = ["X-A", "x-b", "Set-Cookie", "ETag", "Content-Type", "Vary", "Location", "Via"];
const DROPPED = [
  "Connection",
  "Content-Length",
  "Transfer-Encoding",
  "Keep-Alive",
  "TE",
  "Trailer",
  "Proxy-Connection",
];
const fields = fc.array(
  fc.tuple(
    fc.constantFrom(...CLEAR, ...DROPPED, "Date"),
    fc
      .array(fc.oneof(fc.constantFrom("a", "b c", "x=1; y", "é"), fc.constant(",")), { maxLength: 3 })
      .map((parts) => parts.join("").trim()),
  ),
  { maxLength: 10 },
);
/** What a status line may have after its status: the parser gives back none that is the status's own. */
const phrases = fc.stringMatching(/^(?:|[Xx\xe9][\x20-\x7e\xa0-\xff]{0,60})$/);
const reply = fc.record({
  status: fc.oneof(fc.constantFrom(200, 204, 206, 301, 304, 404, 500), fc.integer({ min: 200, max: 599 })),
  framing: fc.constantFrom(Framing.None, Framing.Length, Framing.Chunked),
  length: fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.constant(Number.MAX_SAFE_INTEGER)),
  persistence: fc.constantFrom(Persistence.Silent, Persistence.KeepAlive, Persistence.Close),
  isHead: fc.boolean(),
  fromUpstream: fc.boolean(),
  phrase: phrases,
  fields,
});

type Reply = typeof reply extends fc.Arbitrary<infer T> ? T : never;

/** Answers that may not have a body have none. RFC 9110 §15. */
function replyHead(init: Reply): ResponseHead {
  const head = new ResponseHead();
  const bodyless = init.isHead || init.status === 204 || init.status === 304;
  head.status = init.status;
  head.giveReason(init.status, init.phrase);
  head.framing = bodyless ? Framing.None : init.framing;
  head.contentLength = head.framing === Framing.Length ? init.length : 0;
  head.withoutBody = init.isHead || init.status === 304;
  if (head.withoutBody && init.status !== 204 && init.framing === Framing.Length) {
    head.lengthWithoutBody = true;
    head.contentLength = init.length;
  }
  head.fromUpstream = init.fromUpstream;
  head.headers.resetOwn();
  for (const [name, value] of init.fields) head.headers.add(name, value);
  return head;
}

function pairs(headers: HeaderBlock): string[] {
  return Array.from({ length: headers.count }, (_, i) => `${headers.nameText(i)}: ${headers.valueText(i)}`);
}

function read(bytes: Buffer, method: Method): { parser: ResponseParser; headers: HeaderBlock } {
  const parser = new ResponseParser();
  const headers = new HeaderBlock();
  parser.begin(0);
  headers.reset(bytes);
  expect(parser.parse(bytes, bytes.length, headers, method)).toBe(bytes.length);
  return { parser, headers };
}

test("an encoded reply head says what it was made from", () => {
  fc.assert(
    fc.property(reply, (init) => {
      const head = replyHead(init);
      const bound = responseHeadBound(head);
      const out = Buffer.alloc(bound + 64, 0xee);
      const isChunked = head.framing === Framing.Chunked;
      const end = encodeResponseHead(out, 7, head, isChunked, init.persistence, DATE);
      expect(end - 7).toBeLessThanOrEqual(bound);
      expect(out.subarray(end).every((byte) => byte === 0xee)).toBe(true);
      const { parser, headers } = read(out.subarray(7, end), init.isHead ? Method.Head : Method.Get);
      expect([parser.status, parser.reason]).toEqual([init.status, init.phrase]);
      expect(parser.framing).toBe(head.framing);
      expect(parser.contentLength).toBe(head.contentLength);
      // Where nothing is said of a body, a reader must not wait for the end of the connection.
      expect(parser.keepAlive).toBe(init.persistence !== Persistence.Close);
      const expected = pairs(head.headers).filter((line) => !DROPPED.some((name) => line.startsWith(`${name}:`)));
      const own = ["Date", "Server", "Content-Length", "Transfer-Encoding", "Connection"];
      expect(pairs(headers).slice(0, expected.length)).toEqual(expected);
      for (const line of pairs(headers).slice(expected.length)) expect(own).toContain(line.split(":")[0]!);
      expect(pairs(headers).some((line) => line.startsWith("Date:"))).toBe(true);
      expect(pairs(headers).includes("Server: edge")).toBe(!init.fromUpstream);
    }),
    { numRuns: 4000 },
  );
});

test("an encoded interim answer says what it was made from", () => {
  fc.assert(
    fc.property(fc.integer({ min: 102, max: 199 }), phrases, fields, (status, phrase, sent) => {
      const block = new HeaderBlock();
      block.resetOwn();
      for (const [name, value] of sent) block.add(name, value);
      const out = Buffer.alloc(2048);
      const end = encodeInterim(out, 0, status, phrase, block);
      const { parser, headers } = read(out.subarray(0, end), Method.Get);
      expect([parser.status, parser.reason]).toEqual([status, phrase]);
      const expected = pairs(block).filter((line) => !DROPPED.some((name) => line.startsWith(`${name}:`)));
      expect(pairs(headers)).toEqual(expected);
    }),
    { numRuns: 500 },
  );
});
