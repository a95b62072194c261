import type { SeededRandom } from "../harness/seeded-random.ts";
import { mutate } from "./mutation.ts";

const SMUGGLED = "GET /node/smuggled HTTP/1.1\r\nHost: gw.test\r\n\r\n";

/** Requests to begin with: right ones, and the classics of request smuggling. */
const SEEDS: readonly string[] = [
  "GET /node/echo HTTP/1.1\r\nHost: gw.test\r\n\r\n",
  "GET /node/echo?a=1&b=%20 HTTP/1.1\r\nHost: gw.test:8080\r\nAccept: */*\r\nX-A:  b \r\n\r\n",
  "HEAD /node/echo HTTP/1.1\r\nHost: gw.test\r\n\r\n",
  "GET /health HTTP/1.1\r\nHost: gw.test\r\n\r\n",
  "GET /node/echo HTTP/1.0\r\n\r\n",
  "GET /node/echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
  "GET http://gw.test/node/echo HTTP/1.1\r\nHost: gw.test\r\n\r\n",
  "DELETE /nowhere HTTP/1.1\r\nHost: gw.test\r\nConnection: close\r\n\r\n",
  "POST /node/echo HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 5\r\n\r\nhello",
  "POST /nowhere HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 5\r\n\r\nhello",
  `POST /node/echo HTTP/1.1\r\nHost: gw.test\r\nContent-Length: ${SMUGGLED.length}\r\n\r\n${SMUGGLED}`,
  "PUT /node/echo HTTP/1.1\r\nHost: gw.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\nhello",
  "POST /node/echo HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
  "POST /node/echo HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nX-Sum: 1\r\n\r\n",
  "GET /node/echo HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0;x\r\n\r\n",
  `POST /node/echo HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n${SMUGGLED.length.toString(16)}\r\n${SMUGGLED}\r\n0\r\n\r\n`,
  `POST /node/echo HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${SMUGGLED}`,
  `POST /node/echo HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n2e\r\n${SMUGGLED}\r\n0\r\n\r\n`,
  `GET /node/echo HTTP/1.1\r\nHost: gw.test\r\nContent-Length: 0\r\nConnection: Content-Length\r\n\r\n${SMUGGLED}`,
];

const LINES: readonly string[] = [
  "Content-Length: 0",
  "Content-Length: 5",
  "Content-Length: 46",
  "Content-Length : 5",
  "Content-Length:\t5",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: Chunked",
  "Transfer-Encoding : chunked",
  "Transfer-Encoding:\tchunked",
  "Transfer-Encoding: identity",
  "Transfer-Encoding: gzip, chunked",
  "Transfer-Encoding: chunked, chunked",
  "Transfer_Encoding: chunked",
  "X: a\nTransfer-Encoding: chunked",
  " folded",
  "\tfolded",
  "Connection: close",
  "Connection: keep-alive",
  "Connection: close, keep-alive",
  "Connection: transfer-encoding, host, x-forwarded-for",
  "Upgrade: h2c",
  "Host: other.test",
  "Host:",
  "host: a:b@c",
  "Expect: 100-continue",
  "Expect: something",
  "TE: trailers",
  "Trailer: Content-Length",
  "X-A: \0",
  "X-A: \x7f",
  "X-A: \xe9",
  "X-A:",
  ": a",
  "no colon",
  "X-Forwarded-For: 1.2.3.4",
  'X-Request-Id: "quoted"',
  `X-Big: ${"a".repeat(9000)}`,
  ...Array.from({ length: 4 }, (_, i) => Array.from({ length: 40 }, (_, j) => `X-${i}-${j}: 1`).join("\r\n")),
  "0",
  "5",
  '5;x="y"',
  "fffffffffffffffff",
  "X-Trailer: 1",
  "GET /node/smuggled HTTP/1.1",
];

/** One attack: one to three requests in a row, each with up to three mutations. */
export function makeAttack(random: SeededRandom): string {
  let text = "";
  const count = random.pick([1, 1, 1, 2, 3]);
  for (let i = 0; i < count; i++) {
    let next = random.pick(SEEDS);
    for (let left = random.pick([0, 1, 1, 1, 2, 3]); left > 0; left--) next = mutate(next, LINES, random);
    text += next;
  }
  return text;
}

/** Cuts the attack as the network might. */
export function makePieces(text: string, random: SeededRandom): Buffer[] {
  const bytes = Buffer.from(text, "latin1");
  if (random.chance(0.6)) return [bytes];
  const pieces: Buffer[] = [];
  const longest = random.pick([1, 3, 20, 200]);
  // Very long attacks in single bytes would only take time.
  if (bytes.byteLength / longest > 400) return [bytes];
  for (let at = 0; at < bytes.byteLength; ) {
    const next = at + random.integer(1, longest);
    pieces.push(bytes.subarray(at, next));
    at = next;
  }
  return pieces;
}
