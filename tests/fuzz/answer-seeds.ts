import type { SeededRandom } from "../harness/seeded-random.ts";
import { mutate } from "./mutation.ts";

const BODY = "0123456789abcdef";

/** Answers to begin with. */
const SEEDS: readonly string[] = [
  `HTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n${BODY}`,
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\nContent-Length: 16\r\n\r\n${BODY}`,
  `HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n${BODY}`,
  `HTTP/1.0 200 OK\r\n\r\n${BODY}`,
  `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n${BODY}\r\n0\r\n\r\n`,
  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\n01234\r\n1\r\n5\r\n0\r\nX-Sum: 1\r\n\r\n",
  "HTTP/1.1 204 No Content\r\n\r\n",
  'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\nContent-Length: 16\r\n\r\n',
  "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n",
  `HTTP/1.1 500 \r\nContent-Length: 16\r\n\r\n${BODY}`,
  `HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 16\r\n\r\n${BODY}`,
  `HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n${BODY}\r\n0\r\n\r\n`,
  `HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n012HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\npoisoned`,
];

const LINES: readonly string[] = [
  "Content-Length: 0",
  "Content-Length: 15",
  "Content-Length: 17",
  "Content-Length : 16",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: identity",
  "Transfer-Encoding: gzip",
  "Transfer-Encoding : chunked",
  " folded",
  "Connection: close",
  "Connection: keep-alive",
  "Connection: content-length",
  "Upgrade: websocket",
  "X-A: a\0b",
  "X-A: \xe9",
  "X-A",
  ": x",
  "HTTP/1.1 200 OK",
  "HTTP/1.1 103 Early Hints",
  "0",
  "10",
  `X-Big: ${"a".repeat(9000)}`,
];

/** One answer with up to three mutations. */
export function makeAnswer(random: SeededRandom): string {
  let text = random.pick(SEEDS);
  for (let left = random.pick([0, 1, 1, 1, 2, 3]); left > 0; left--) text = mutate(text, LINES, random);
  return text;
}
