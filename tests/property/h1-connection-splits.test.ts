import { expect, test } from "bun:test";
import fc from "fast-check";
import type { Exchange } from "../../src/message/exchange.ts";
import { ClientSession } from "../unit/edge/client-session.ts";
import { statusesIn } from "../unit/edge/reply-text.ts";
import { beginReply, LateAnswers, textReply, writeReply } from "../unit/edge/scripts.ts";
import { type CutPoint, cutAt, cutPoints } from "./h1-arbitraries.ts";

const HOST = "Host: a.test\r\n";
/** What the handlers do: answer at once, answer with the body, stream without a look at it, answer when the test says. */
const target = fc.constantFrom("/now", "/echo", "/stream", "/late");
const method = fc.constantFrom("GET", "POST", "PUT");
const body = fc.oneof(
  fc.constant("\r\n"),
  fc.string({ maxLength: 20, unit: "binary-ascii" }).map((text) => `Content-Length: ${text.length}\r\n\r\n${text}`),
  fc.array(fc.string({ minLength: 1, maxLength: 9, unit: "binary-ascii" }), { maxLength: 3 }).map((chunks) => {
    const coded = chunks.map((text) => `${text.length.toString(16)};x=y\r\n${text}\r\n`).join("");
    return `Transfer-Encoding: chunked\r\n\r\n${coded}0\r\nX-T: y\r\n\r\n`;
  }),
);
const good = fc.tuple(method, target, body).map(([name, to, rest]) => `${name} ${to} HTTP/1.1\r\n${HOST}${rest}`);
const odd = fc.constantFrom(
  `GET /now HTTP/1.1\r\n${HOST}Connection: close\r\n\r\n`,
  `GET /now HTTP/1.0\r\n\r\n`,
  `\r\nGET /now HTTP/1.1\r\n${HOST}\r\n`,
  `GET /now HTTP/1.1\r\n\r\n`,
  `BAD\r\n\r\n`,
  `POST /echo HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
  `POST /stream HTTP/1.1\r\n${HOST}Transfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n`,
  `GET /now HTTP/1.1\r\n${HOST}X : y\r\n\r\n`,
);
const stream = fc
  .array(fc.oneof({ weight: 6, arbitrary: good }, { weight: 1, arbitrary: odd }), { minLength: 1, maxLength: 6 })
  .map((requests) => Buffer.from(requests.join(""), "latin1"));

function echo(ex: Exchange): void {
  let text = "";
  ex.body = {
    onBody: (_ex, bytes, from, to) => {
      text += Buffer.from(bytes.subarray(from, to)).toString("latin1");
    },
    onBodyEnd: () => ex.sink.fixed(ex, textReply(text)),
    onBodyFault: () => {},
  };
  if (!ex.request.hasBody()) ex.sink.fixed(ex, textReply("no body"));
}

function streamed(ex: Exchange): void {
  beginReply(ex, 6);
  writeReply(ex, "stream");
  ex.sink.end(ex);
}

/** What a connection made of the pieces: what was handled, what was answered, how it ended. */
function outcome(pieces: readonly Uint8Array[]) {
  const late = new LateAnswers();
  const session = new ClientSession((ex) => {
    const name = ex.request.target();
    if (name === "/echo") echo(ex);
    else if (name === "/stream") streamed(ex);
    else if (name === "/late") late.script(ex);
    else ex.sink.fixed(ex, textReply(name));
  });
  session.send(...pieces);
  session.end();
  while (late.waiting.length > 0) session.inTurn(() => late.answer());
  const { handled, got, ended, closes, exceptions } = session;
  return { handled, got, ended, closes, exceptions, isCut: session.endings.includes("terminate") };
}

function expectSame(bytes: Buffer, points: readonly CutPoint[]): void {
  const whole = outcome([bytes]);
  expect(outcome(cutAt(bytes, points))).toEqual(whole);
  expect([whole.exceptions, whole.closes]).toEqual([[], 1]);
  // One answer for each exchange that is over, and for nothing else.
  expect(statusesIn(whole.got).length).toBe(whole.ended.length);
}

test("any split of a pipelined stream is handled and answered the same way", () => {
  fc.assert(fc.property(stream, cutPoints, expectSame), { numRuns: 1500 });
});

test("byte by byte, too", () => {
  fc.assert(
    fc.property(stream, (bytes) =>
      expectSame(
        bytes,
        Array.from(bytes, (_, i) => i / bytes.length),
      ),
    ),
    { numRuns: 150 },
  );
});
