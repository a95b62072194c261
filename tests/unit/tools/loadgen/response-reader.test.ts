import { describe, expect, test } from "bun:test";
import { Method } from "../../../../src/message/request-head.ts";
import { ResponseReader, ResponseState } from "../../../../src/tools/loadgen/response-reader.ts";

const HEAD = "HTTP/1.1 200 OK\r\n";

/** The state after each piece, and what was read in the end. */
function read(pieces: readonly string[], method = Method.Get) {
  const reader = new ResponseReader(method);
  reader.begin();
  for (const piece of pieces) reader.receive(Buffer.from(piece, "latin1"));
  return { state: reader.state, status: reader.status, keepAlive: reader.keepAlive, reader };
}

function everySplit(text: string): string[][] {
  return Array.from({ length: text.length - 1 }, (_, i) => [text.slice(0, i + 1), text.slice(i + 1)]);
}

describe("a whole answer", () => {
  test.each([
    ["with a length", `${HEAD}Content-Length: 5\r\n\r\nhello`, 200, true],
    ["in chunks", `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-A: b\r\n\r\n`, 200, true],
    [
      "behind interim answers",
      `HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n${HEAD}Content-Length: 0\r\n\r\n`,
      200,
      true,
    ],
    ["without a body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", 304, true],
    ["that closes", "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx", 400, false],
  ])("%s is read whatever its pieces", (_, text, status, keepAlive) => {
    for (const pieces of [[text], [...text], ...everySplit(text)]) {
      expect(read(pieces)).toMatchObject({ state: ResponseState.Done, status, keepAlive });
    }
  });

  test("to HEAD has no body", () => {
    expect(read([`${HEAD}Content-Length: 5\r\n\r\n`], Method.Head).state).toBe(ResponseState.Done);
  });

  test("without a length ends with the connection", () => {
    const { state, reader } = read([`${HEAD}\r\nsome`, "thing"]);
    expect([state, reader.receiveEnd(), reader.keepAlive]).toEqual([ResponseState.Body, ResponseState.Done, false]);
  });
});

describe("a broken answer", () => {
  test.each([
    ["is no HTTP", "hello\r\n\r\n"],
    ["has two lengths", `${HEAD}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`],
    ["has a bad chunk", `${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`],
    ["is followed by one that nobody asked for", `${HEAD}Content-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n`],
    ["switches protocols", "HTTP/1.1 101 Switching Protocols\r\n\r\n"],
    ["is an endless row of interim ones", "HTTP/1.1 100 Continue\r\n\r\n".repeat(150)],
  ])("%s", (_, text) => {
    expect(read([text]).state).toBe(ResponseState.Malformed);
  });

  test("that is cut is never whole", () => {
    const cut = [
      `${HEAD}Content-Length: 5\r\n\r\nhell`,
      `${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n`,
      HEAD,
    ];
    expect(cut.map((text) => read([text]).reader.receiveEnd())).toEqual([1, 1, 0]);
  });
});
