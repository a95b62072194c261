import { afterAll, beforeAll, expect, test } from "bun:test";
import fc from "fast-check";
import { FakeConnect } from "../unit/features/forward/fake-connect.ts";
import { ForwardSession } from "../unit/features/forward/forward-session.ts";
import { IN_PLACE } from "../unit/proto/carriers.ts";
import { chunkLog } from "../unit/proto/h1/chunk-log.ts";
import { type CutPoint, cutAt, cutPoints } from "./h1-arbitraries.ts";

const text = fc.string({ maxLength: 30, unit: "binary-ascii" });
const fields = fc.subarray(["X-A: b\r\n", "Set-Cookie: c=d\r\n", "ETag: x\r\n"]).map((lines) => lines.join(""));
const chunks = fc.array(fc.string({ minLength: 1, maxLength: 12, unit: "binary-ascii" }), { maxLength: 4 });
const interim = fc.constantFrom("", "", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 103 x\r\nLink: </a>\r\n\r\n");
const head = "HTTP/1.1 200 OK\r\n";
const good = fc.oneof(
  fc.tuple(fields, text).map(([lines, body]) => `${head}${lines}Content-Length: ${body.length}\r\n\r\n${body}`),
  fc.tuple(fields, chunks, fc.constantFrom("", "X-T: y\r\n")).map(([lines, parts, trailers]) => {
    const coded = parts.map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join("");
    return `${head}${lines}Transfer-Encoding: chunked\r\n\r\n${coded}0\r\n${trailers}\r\n`;
  }),
  fc.tuple(fields, text).map(([lines, body]) => `${head}${lines}\r\n${body}`),
  fc.constantFrom("HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 304 x\r\nContent-Length: 5\r\n\r\n"),
);
const bad = fc.constantFrom(
  "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
  "HTTP/1.1 200 OK\r\nX : y\r\n\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokX",
  "garbage\r\n\r\n",
);
const answer = fc
  .tuple(interim, fc.oneof({ weight: 5, arbitrary: good }, { weight: 1, arbitrary: bad }), fc.constantFrom("", "", "x"))
  .map((parts) => Buffer.from(parts.join(""), "latin1"));
const request = fc.constantFrom("GET /a HTTP/1.1\r\nHost: a\r\n\r\n", "HEAD /a HTTP/1.1\r\nHost: a\r\n\r\n");
const ending = fc.constantFrom("end" as const, "lose" as const);

let connect: FakeConnect;
beforeAll(() => {
  connect = new FakeConnect();
});
afterAll(() => connect.restore());

/** What the client got, chunk borders left out; whether it was cut; whether the connection was kept before the end. */
function outcome(sent: string, pieces: readonly Buffer[], how: "end" | "lose") {
  const session = new ForwardSession([81], { retryAttempts: 0 });
  session.client.send(sent);
  const origin = connect.last.open().send(...pieces.map((piece) => piece.toString("latin1")));
  const wasKept = session.kept;
  origin[how]();
  const { client } = session;
  const isCut = client.endings.includes("terminate");
  return {
    // The request id is new every time. Of an answer that is cut, what has not left by then is lost.
    got: isCut ? "" : withoutChunkBorders(client.got.replace(/X-Request-Id: [^\r]*\r\n/, "")),
    isCut,
    ended: client.ended,
    exceptions: client.exceptions,
    wasKept,
    isKept: session.kept,
    isClosed: origin.isEnded,
  };
}

/** An answer that turns out malformed is 502 as long as nothing of it has left, else it is cut: that is up to the split. */
function withoutKindOfFailure({ got, isCut, ended, ...rest }: ReturnType<typeof outcome>) {
  return isCut || /HTTP\/1\.1 502/.test(got) ? { hasFailed: true, ...rest } : { got, ended, ...rest };
}

function withoutChunkBorders(got: string): string {
  const at = got.lastIndexOf("HTTP/1.1 200");
  const bodyAt = got.indexOf("\r\n\r\n", at) + 4;
  if (at < 0 || !got.slice(at, bodyAt).includes("Transfer-Encoding: chunked")) return got;
  const { consumed: _, ...body } = JSON.parse(chunkLog([Buffer.from(got.slice(bodyAt), "latin1")], IN_PLACE));
  return got.slice(0, bodyAt) + JSON.stringify(body);
}

test("any split of an origin's answer gives the client the same answer", () => {
  const property = (sent: string, bytes: Buffer, points: readonly CutPoint[], how: "end" | "lose"): void => {
    const whole = outcome(sent, [bytes], how);
    expect(withoutKindOfFailure(outcome(sent, cutAt(bytes, points), how))).toEqual(withoutKindOfFailure(whole));
    expect(whole.exceptions).toEqual([]);
    expect([whole.isKept, whole.isClosed]).toEqual([0, true]);
  };
  fc.assert(fc.property(request, answer, cutPoints, ending, property), { numRuns: 1500 });
});

test("an answer comes through whole, or the client can see that it did not", () => {
  const property = (bytes: Buffer, share: number, how: "end" | "lose"): void => {
    const cut = bytes.subarray(0, Math.floor(share * bytes.length));
    const { got, isCut, ended } = outcome("GET /a HTTP/1.1\r\nHost: a\r\n\r\n", [cut], how);
    expect(ended.length).toBe(1);
    const whole = outcome("GET /a HTTP/1.1\r\nHost: a\r\n\r\n", [bytes], "end");
    const isWhole = got === whole.got && isCut === whole.isCut;
    const isRefused = /HTTP\/1\.1 502/.test(got);
    const isUntilClose = !/Content-Length|Transfer-Encoding/.test(bytes.toString("latin1")) && how === "end";
    expect(isWhole || isRefused || isCut || isUntilClose).toBe(true);
  };
  fc.assert(fc.property(answer, fc.double({ min: 0, max: 1, noNaN: true }), ending, property), { numRuns: 800 });
});
