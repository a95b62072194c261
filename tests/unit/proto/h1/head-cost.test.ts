import { expect, test } from "bun:test";
import { HeaderBlock } from "../../../../src/message/header-block.ts";
import { Method, RequestHead } from "../../../../src/message/request-head.ts";
import { RequestParser } from "../../../../src/proto/h1/request-parser.ts";
import { ResponseParser } from "../../../../src/proto/h1/response-parser.ts";
import { MAX_HEAD_BYTES } from "./request-log.ts";

const START = "GET / HTTP/1.1\r\nHost: a.test\r\n";
const FIELDS = 90;
const LINES = 7;
/** How much dearer a head may be than one of the same length that asks for nothing. */
const MAX_RATIO = 25;
const ROUNDS = 20;
/** So often it is measured before it counts as dear: what is dear is dear every time. */
const TRIES = 5;

const plain = START + `X: ${"y".repeat(8000)}\r\n`.repeat(LINES) + "a: b\r\n".repeat(FIELDS);

/** Heads that make work out of few bytes. */
const DEAR: readonly (readonly [name: string, head: string])[] = [
  ["of Connection options", START + `Connection: ${"a,".repeat(4000)}\r\n`.repeat(LINES) + "a: b\r\n".repeat(FIELDS)],
  [
    "of empty Connection options",
    START + `Connection: ${",".repeat(8000)}\r\n`.repeat(LINES) + "a: b\r\n".repeat(FIELDS),
  ],
  ["of codings", START + `Transfer-Encoding: ${"a,".repeat(4000)}chunked\r\n`],
  ["of a length", START + `Content-Length: ${"0".repeat(8000)}\r\n`],
  ["of a host", START.replace("a.test", "%61".repeat(2700))],
  ["of a target", `GET /${"%2f".repeat(2700)} HTTP/1.1\r\nHost: a.test\r\n`],
];

/** Milliseconds of the fastest of some rounds: what else the machine does falls out. */
function fastest(run: () => void): number {
  let best = Number.POSITIVE_INFINITY;
  for (let i = 0; i < ROUNDS; i++) {
    const started = performance.now();
    run();
    best = Math.min(best, performance.now() - started);
  }
  return best;
}

function requestMs(text: string): number {
  const bytes = Buffer.from(`${text}\r\n`, "latin1");
  const parser = new RequestParser(MAX_HEAD_BYTES);
  const head = new RequestHead();
  return fastest(() => {
    parser.begin(0);
    head.reset(bytes);
    parser.parse(bytes, bytes.length, head);
  });
}

function responseMs(text: string): number {
  const bytes = Buffer.from(`HTTP/1.1 200 OK\r\n${text.slice(text.indexOf("\n") + 1)}\r\n`, "latin1");
  const parser = new ResponseParser();
  const headers = new HeaderBlock();
  return fastest(() => {
    parser.begin(0);
    headers.reset(bytes);
    parser.parse(bytes, bytes.length, headers, Method.Get);
  });
}

/** How much dearer the head is than the plain one, at best of some tries. */
function lowestRatio(head: string, costMs: (text: string) => number): number {
  let lowest = Number.POSITIVE_INFINITY;
  for (let i = 0; i < TRIES && lowest >= MAX_RATIO; i++) lowest = Math.min(lowest, costMs(head) / costMs(plain));
  return lowest;
}

test.each(DEAR)("a request's head %s costs about what its length costs", (_name, head) => {
  expect(lowestRatio(head, requestMs)).toBeLessThan(MAX_RATIO);
});

test.each(DEAR)("an answer's head %s costs about what its length costs", (_name, head) => {
  expect(lowestRatio(head, responseMs)).toBeLessThan(MAX_RATIO);
});
