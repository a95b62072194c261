import type { RefusedRow } from "../harness/refusal.ts";

// Requests whose head breaks the rules of docs/wire.md. Each is refused with the status, one response, and a closed
// connection.

type Row = readonly [name: string, bytes: string];

const POST = "POST /node/echo HTTP/1.1\r\nHost: gw.test\r\n";
const GET = "GET /node/canary HTTP/1.1\r\nHost: gw.test\r\n";

/** A head of GET with one more line. */
const line = (name: string, text: string): Row => [name, `${GET}${text}\r\n\r\n`];
/** A POST with one framing line and a body of five bytes. */
const framed = (name: string, text: string, body = "hello"): Row => [name, `${POST}${text}\r\n\r\n${body}`];
/** A whole request line. */
const start = (name: string, text: string): Row => [name, `${text}\r\nHost: gw.test\r\n\r\n`];
/** A Host line as the only field. */
const host = (name: string, text: string): Row => [name, `GET /node/canary HTTP/1.1\r\n${text}\r\n\r\n`];

const REQUEST_LINES: readonly Row[] = [
  start("two spaces before the target", "GET  /node/canary HTTP/1.1"),
  start("two spaces before the version", "GET /node/canary  HTTP/1.1"),
  start("a space behind the version", "GET /node/canary HTTP/1.1 "),
  start("a space before the method", " GET /node/canary HTTP/1.1"),
  start("a space in the target", "GET /node/can ary HTTP/1.1"),
  start("tabs for spaces", "GET\t/node/canary\tHTTP/1.1"),
  start("a carriage return for a space", "GET /node/canary\rHTTP/1.1"),
  start("no version", "GET /node/canary"),
  start("only a method", "GET"),
  start("an empty target", "GET  HTTP/1.1"),
  start("an empty method", " /node/canary HTTP/1.1"),
  start("a lower-case protocol", "GET /node/canary http/1.1"),
  start("a version without a minor number", "GET /node/canary HTTP/1"),
  start("a version of three digits", "GET /node/canary HTTP/1.11"),
  start("a version of three parts", "GET /node/canary HTTP/1.1.1"),
  start("a version with a letter", "GET /node/canary HTTP/1.x"),
  start("another protocol", "GET /node/canary HTTPS/1.1"),
  start("a method that is no token", "G(T /node/canary HTTP/1.1"),
  start("a method with a NUL", "GE\0T /node/canary HTTP/1.1"),
  start("a method with a byte above 127", "GET\xe9 /node/canary HTTP/1.1"),
  start("an answer in place of a request", "HTTP/1.1 200 OK"),
  start("a PROXY line", "PROXY TCP4 192.0.2.1 192.0.2.2 1 2"),
  start("a NUL in the target (ADV-03)", "GET /node/can\0ary HTTP/1.1"),
  start("a control character in the target", "GET /node/can\x01ary HTTP/1.1"),
  start("DEL in the target", "GET /node/can\x7fary HTTP/1.1"),
  start("a target that does not begin with a slash", "GET node/canary HTTP/1.1"),
  start("an asterisk with GET", "GET * HTTP/1.1"),
  start("an authority with GET", "GET gw.test:80 HTTP/1.1"),
  start("an absolute target that disagrees with Host", "GET http://other.test/node/canary HTTP/1.1"),
  ["an absolute target without Host", "GET http://gw.test/node/canary HTTP/1.1\r\n\r\n"],
  ["two empty lines before the request line", `\r\n\r\n${GET}\r\n`],
  ["a bare LF before the request line", `\n${GET}\r\n`],
];

const FIELDS: readonly Row[] = [
  line("a space before the colon (VECTOR-05, ADV-05)", "X-A : 1"),
  line("a tab before the colon", "X-A\t: 1"),
  line("Content-Length with a space before the colon", "Content-Length : 5"),
  line("Transfer-Encoding with a space before the colon", "Transfer-Encoding : chunked"),
  line("a folded line (ADV-04)", "X-A: 1\r\n 2"),
  line("a line folded with a tab", "X-A: 1\r\n\t2"),
  line("a line folded into emptiness", "X-A: 1\r\n "),
  ["a space before the first field", "GET /node/canary HTTP/1.1\r\n X-A: 1\r\nHost: gw.test\r\n\r\n"],
  ["a folded Host", "GET /node/canary HTTP/1.1\r\nHost: gw\r\n .test\r\n\r\n"],
  line("no colon", "X-A"),
  line("an empty name", ": 1"),
  line("only a colon", ":"),
  ...['"', "(", ")", ",", "/", ";", "<", "=", ">", "?", "@", "[", "\\", "]", "{", "}", "\x7f", "\x80", "\xff", " "].map(
    (char) => line(`a name with ${JSON.stringify(char)}`, `X${char}A: 1`),
  ),
  ...["\0", "\x01", "\x08", "\x0b", "\x0c", "\x1f", "\x7f"].flatMap((char) => [
    line(`a value with ${JSON.stringify(char)}`, `X-A: a${char}b`),
    line(`a name with ${JSON.stringify(char)}`, `X${char}A: 1`),
  ]),
  line("a value that begins with NUL", "X-A: \0"),
  line("a lone CR in a value", "X-A: a\rb"),
  line("a CR before CRLF", "X-A: 1\r"),
  line("a bare LF in a value", "X-A: a\nb"),
  line("a bare LF that ends a line", "X-A: 1\nX-B: 2"),
  ["bare LF throughout", "GET /node/canary HTTP/1.1\nHost: gw.test\n\n"],
  ["a bare LF behind the request line", "GET /node/canary HTTP/1.1\nHost: gw.test\r\n\r\n"],
  ["a bare LF as the empty line", `${GET}\n`],
  ["a lone CR behind the request line", "GET /node/canary HTTP/1.1\rHost: gw.test\r\n\r\n"],
];

const HOSTS: readonly Row[] = [
  host("no Host", "X-A: 1"),
  host("two Hosts", "Host: gw.test\r\nHost: other.test"),
  host("the same Host twice", "Host: gw.test\r\nHost: gw.test"),
  host("Host with user information", "Host: user@gw.test"),
  host("Host with a space", "Host: gw test"),
  host("Host with a slash", "Host: gw.test/x"),
  host("Host with a backslash", "Host: gw.test\\x"),
  host("Host with a question mark", "Host: gw.test?x"),
  host("Host with a hash", "Host: gw.test#x"),
  host("Host in quotes", 'Host: "gw.test"'),
  host("Host with a port of letters", "Host: gw.test:http"),
  host("Host with two ports", "Host: gw.test:80:80"),
  host("Host with an open bracket", "Host: [::1"),
  host("Host with a bad address in brackets", "Host: [nonsense]"),
  host("Host with bytes above 127", "Host: g\xf6.test"),
  host("Host with a NUL", "Host: gw\0.test"),
  host("Host with markup", "Host: <gw>"),
];

const LENGTHS: readonly Row[] = [
  ...[
    "+5",
    "-5",
    "-0",
    "0x5",
    "5e0",
    "5.0",
    "0_5",
    "5 5",
    '"5"',
    "5,",
    ",5",
    "5, 5",
    "5, 6",
    "5;",
    "five",
    "",
    "5\x85",
    "5\xa0",
    "\xb2",
  ].map((value) => framed(`Content-Length ${JSON.stringify(value)}`, `Content-Length: ${value}`)),
  framed("Content-Length beyond 2^53", "Content-Length: 9007199254740993"),
  framed("Content-Length beyond 64 bits", "Content-Length: 18446744073709551621"),
  framed("Content-Length twice and different", "Content-Length: 5\r\nContent-Length: 6"),
  framed("Content-Length twice and equal", "Content-Length: 5\r\nContent-Length: 5"),
  framed("Content-Length twice in another case", "Content-Length: 5\r\ncontent-length: 0"),
  framed("Content-Length twice with GET", "Content-Length: 0\r\nContent-Length: 44"),
];

const CHUNKS = "0\r\n\r\n";
const ENCODINGS: readonly Row[] = [
  framed(
    "Content-Length and Transfer-Encoding (VECTOR-04, ADV-01)",
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    CHUNKS,
  ),
  framed("Transfer-Encoding and Content-Length (ADV-02)", "Transfer-Encoding: chunked\r\nContent-Length: 5", CHUNKS),
  framed("Transfer-Encoding and Content-Length 0", "Transfer-Encoding: chunked\r\nContent-Length: 0", CHUNKS),
  framed("an empty Transfer-Encoding and Content-Length", "Transfer-Encoding:\r\nContent-Length: 5", "hello"),
  framed(
    "a smuggled request behind CL.TE (VECTOR-06)",
    "Content-Length: 6\r\nTransfer-Encoding: chunked",
    `${CHUNKS}G`,
  ),
  framed(
    "a smuggled request behind TE.CL (VECTOR-06)",
    "Transfer-Encoding: chunked\r\nContent-Length: 4",
    "5c\r\nGET /node/canary HTTP/1.1\r\nHost: gw.test\r\n\r\n",
  ),
  framed("Transfer-Encoding twice", "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", CHUNKS),
  framed("Transfer-Encoding behind a tab", "Transfer-Encoding:\tchunked", CHUNKS),
  framed("Transfer-Encoding behind a space and a tab", "Transfer-Encoding: \tchunked", CHUNKS),
  framed("Transfer-Encoding before a tab", "Transfer-Encoding: chunked\t", CHUNKS),
  framed("Transfer-Encoding behind a vertical tab", "Transfer-Encoding: \x0bchunked", CHUNKS),
  framed("chunked with a control character", "Transfer-Encoding: chunked\x01", CHUNKS),
  framed("chunked with a NUL", "Transfer-Encoding: chunked\0", CHUNKS),
  framed("chunked in a folded line", "Transfer-Encoding:\r\n chunked", CHUNKS),
  ...[
    "",
    ",chunked",
    "chunked,",
    "chunked, chunked",
    "chunked,,chunked",
    "identity",
    "identity, chunked",
    "chunked, identity",
  ].map((value) => framed(`Transfer-Encoding ${JSON.stringify(value)}`, `Transfer-Encoding: ${value}`, CHUNKS)),
  [
    "Transfer-Encoding in HTTP/1.0",
    `POST /node/echo HTTP/1.0\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
  ],
  [
    "both framings in HTTP/1.0",
    `POST /node/echo HTTP/1.0\r\nHost: gw.test\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS}`,
  ],
];

/** Refused with 400. */
export const BAD_REQUESTS: readonly RefusedRow[] = [
  ...REQUEST_LINES,
  ...FIELDS,
  ...HOSTS,
  ...LENGTHS,
  ...ENCODINGS,
].map(([name, bytes]) => ({ name, bytes, status: 400 }));

/** Refused with another status. */
export const OTHER_REFUSALS: readonly RefusedRow[] = [
  { name: "HTTP/2.0", bytes: start("", "GET /node/canary HTTP/2.0")[1], status: 505 },
  { name: "HTTP/3.0", bytes: start("", "GET /node/canary HTTP/3.0")[1], status: 505 },
  { name: "the line of HTTP/2's preface with fields", bytes: start("", "PRI * HTTP/2.0")[1], status: 505 },
  { name: "a preface of HTTP/2 that goes wrong", bytes: "PRI * HTTP/2.0\r\n\r\nSN\r\n\r\n", status: 505 },
  { name: "HTTP/0.9", bytes: start("", "GET /node/canary HTTP/0.9")[1], status: 505 },
  ...["gzip", "gzip, chunked", "deflate", "x, chunked"].map((value) => ({
    name: `Transfer-Encoding ${value}`,
    bytes: framed("", `Transfer-Encoding: ${value}`, CHUNKS)[1],
    status: 501,
  })),
  ...["chunke", "chunked;q=1", '"chunked"', "'chunked'", "chunked x", "x\xa0chunked", "chunked, gzip"].map((value) => ({
    name: `Transfer-Encoding ${JSON.stringify(value)}`,
    bytes: framed("", `Transfer-Encoding: ${value}`, CHUNKS)[1],
    status: [400, 501],
  })),
  { name: "a declared body of 100 MB (ADV-08)", bytes: `${POST}Content-Length: 104857600\r\n\r\n`, status: 413 },
  { name: "a declared body one byte over the limit", bytes: `${POST}Content-Length: 4194305\r\n\r\n`, status: 413 },
  { name: "an unknown expectation", bytes: framed("", "Expect: x\r\nContent-Length: 5")[1], status: 417 },
];
