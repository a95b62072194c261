import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeForwardHead, forwardHeadBound } from "../../src/features/forward/forward-head.ts";
import { HeaderId, headerIdFromName } from "../../src/message/header-block.ts";
import { Framing, type RequestHead } from "../../src/message/request-head.ts";
import { forwardExchange, parsedHead, targetAt } from "../unit/features/forward/forward-exchange.ts";
import { requestVectors } from "../unit/proto/h1/request-log.ts";
import { bytesOf } from "../unit/proto/vector-file.ts";
import { isLookAlike } from "./h1-reference-head.ts";

const END_TO_END = ["Accept", "Cookie", "X-A", "x-b", "Authorization", "Content-Type", "Via", "User-Agent"];
const IDENTITY = ["Forwarded", "x_forwarded-prefix", "X-Original-URL", "True-Client-IP", "X.Forwarded.For"];
const HOP_BY_HOP = [
  "Keep-Alive",
  "Proxy-Connection",
  "TE",
  "Trailer",
  "Upgrade",
  "Proxy-Authorization",
  "HTTP2-Settings",
];
const OURS = ["X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Real-IP", "X-Request-Id", "Expect"];
/** What the gateway writes itself, whatever the client says. */
const OWN_FIELDS = [
  ...["host", "content-length", "transfer-encoding", "x-forwarded-for", "x-real-ip", "x-forwarded-proto"],
  ...["x-forwarded-host", "x-request-id", "via", "te", "connection", "upgrade"],
];
const NEVER_FORWARDED = [
  ...["keep-alive", "proxy-connection", "proxy-authenticate", "proxy-authorization", "trailer", "trailers", "expect"],
  ...["http2-settings"],
];

const blank = fc.constantFrom("", " ", "  ", "\t", " \t");
const value = fc
  .array(fc.oneof(fc.constantFrom("a", "b, c", "1.1 edge", "trailers", "x=y;z", '"q"', "\xe9"), fc.constant(" ")), {
    maxLength: 4,
  })
  .map((parts) => parts.join("").trim());
const field = fc
  .tuple(fc.constantFrom(...END_TO_END, ...HOP_BY_HOP, ...OURS, ...IDENTITY), blank, value, blank)
  .filter(([name, , text]) => name !== "Expect" || text === "")
  .map(([name, before, text, after]) =>
    name === "Expect" ? "Expect: 100-continue" : `${name}:${before}${text}${after}`,
  );
const connection = fc
  .subarray([
    "keep-alive",
    "close",
    "X-A",
    "cookie",
    "Host",
    "Content-Length",
    "TE",
    "Upgrade",
    "X-None",
    "authorization",
    "Forwarded",
  ])
  .map((tokens) => (tokens.length === 0 ? [] : [`Connection: ${tokens.join(", ")}`]));
const framing = fc.constantFrom([], ["Content-Length: 5"], ["Transfer-Encoding: chunked"], ["Content-Length: 0"]);
const target = fc.constantFrom("/", "/p/a?x=1", "/p//a", "/a#f", "/p?x#f", "http://a.test/p", "http://a.test?q", "*");
const lines = fc.tuple(fc.array(field, { maxLength: 12 }), connection, framing).chain(([fields, names, length]) =>
  fc.shuffledSubarray([...fields, ...names, ...length, "Host: a.test"], {
    minLength: fields.length + names.length + length.length + 1,
  }),
);
const anyHead = fc
  .tuple(fc.constantFrom("GET", "POST", "PURGE", "OPTIONS"), target, lines)
  .map(([method, to, fields]) => `${to === "*" ? "OPTIONS" : method} ${to} HTTP/1.1\r\n${fields.join("\r\n")}\r\n\r\n`);

/** Names and values of the fields that go through: not hop-by-hop, not the gateway's own. */
function endToEnd(head: RequestHead): string[] {
  const { headers } = head;
  const all = Array.from({ length: headers.count }, (_, i) => [headers.nameText(i), headers.valueText(i), i] as const);
  const named = all
    .filter(([name]) => name.toLowerCase() === "connection")
    .flatMap(([, text]) => text.split(",").map((token) => token.trim().toLowerCase()))
    .filter((name) => headerIdFromName(name) === HeaderId.Other);
  return all
    .filter(([name]) => !isLookAlike(name))
    .filter(([name]) => ![...OWN_FIELDS, ...NEVER_FORWARDED, ...named].includes(name.toLowerCase()))
    .map(([name, text]) => `${name}: ${text}`);
}

function forward(input: Buffer): { sent: RequestHead; got: RequestHead; text: string } | null {
  const sent = parsedHead(input);
  if (sent === null || sent.methodText() === "CONNECT") return null;
  const ex = forwardExchange(sent);
  const to = targetAt("origin.test:81", "/base");
  const bound = forwardHeadBound(ex, to);
  const out = Buffer.alloc(bound + 64, 0xee);
  const settings = { preserveHost: true };
  const end = encodeForwardHead(ex, settings, to, out, 16);
  expect(end - 16).toBeLessThanOrEqual(bound);
  // Nothing is written beside the place that was given.
  expect(out.subarray(0, 16).every((byte) => byte === 0xee)).toBe(true);
  expect(out.subarray(end).every((byte) => byte === 0xee)).toBe(true);
  const got = parsedHead(Buffer.from(out.subarray(16, end)));
  if (got === null) throw new Error(`the origin would refuse ${out.toString("latin1", 16, end)}`);
  return { sent, got, text: out.toString("latin1", 16, end) };
}

function expectSameMessage(input: Buffer): void {
  const pair = forward(input);
  if (pair === null) return;
  const { sent, got, text } = pair;
  expect(got.methodText()).toBe(sent.methodText());
  expect(got.minor).toBe(1);
  expect(got.framing).toBe(sent.framing);
  expect(got.contentLength).toBe(sent.contentLength);
  expect(endToEnd(got)).toEqual(endToEnd(sent));
  const names = Array.from({ length: got.headers.count }, (_, i) => got.headers.nameText(i).toLowerCase());
  expect(names.filter((name) => NEVER_FORWARDED.includes(name))).toEqual([]);
  expect(names.filter((name) => name === "connection").length).toBe(got.upgrade ? 1 : 0);
  for (const name of OWN_FIELDS.filter((own) => own !== "via")) {
    expect(names.filter((found) => found === name).length).toBeLessThanOrEqual(1);
  }
  for (let i = 0; i < got.headers.count; i++) expect(got.headers.valueText(i)).not.toMatch(/[\r\n\0]/);
  const path = sent.path() === "*" ? "/*" : sent.path();
  const query = input.latin1Slice(sent.pathTo, sent.queryTo);
  expect(text.split(" ")[1]).toBe(`/base${path}${query}`);
  if (sent.framing === Framing.Chunked) expect(names).not.toContain("content-length");
}

test("a head that is forwarded says the same, and nothing that was meant for this hop", () => {
  fc.assert(
    fc.property(anyHead, (text) => expectSameMessage(Buffer.from(text, "latin1"))),
    { numRuns: 6000 },
  );
});

// At the limits of a line or of the number of fields there is no room for what the gateway adds.
test("every accepted request vector below the limits can be forwarded", () => {
  const roomy = requestVectors().filter((vector) => vector.head !== undefined && vector.head.fields.length <= 80);
  for (const vector of roomy) if (vector.head!.end < 1500) expectSameMessage(bytesOf(vector.input));
  expect(roomy.length).toBeGreaterThan(150);
});
