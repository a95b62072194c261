import type { RefusedRow } from "../harness/refusal.ts";

// Chunked bodies that break the rules of docs/bodies.md#chunk-syntax, and those at the edge of them that do not.

const HEAD = "POST /node/echo HTTP/1.1\r\nHost: gw.test\r\nTransfer-Encoding: chunked\r\n\r\n";

/** A body as it stands behind the head. */
function body(name: string, text: string, status = 400): RefusedRow {
  return { name, bytes: HEAD + text, status };
}

/** A chunk-size line before five bytes of data and a good end. */
const size = (name: string, text: string, status = 400) => body(name, `${text}\r\nhello\r\n0\r\n\r\n`, status);
/** A trailer section behind a good chunk. */
const trailer = (name: string, text: string, status = 400) => body(name, `5\r\nhello\r\n0\r\n${text}\r\n\r\n`, status);

const SIZES: readonly RefusedRow[] = [
  size("a plus", "+5"),
  size("a minus", "-5"),
  size("a space before", " 5"),
  size("a space behind", "5 "),
  size("a tab before", "\t5"),
  size("a tab behind", "5\t"),
  size("an embedded space", "0 5"),
  size("an embedded tab", "0\t5"),
  size("0x", "0x5"),
  size("0X", "0X5"),
  size("no digits", ""),
  size("only an extension", ";x"),
  size("a letter beyond f", "g"),
  size("a digit and a letter", "5g"),
  size("a comma", "5,"),
  size("a dot", "5.0"),
  size("an underscore", "0_5"),
  size("quotes", '"5"'),
  size("a NUL", "5\0"),
  size("a vertical tab", "5\x0b"),
  size("a form feed", "5\x0c"),
  size("a byte above 127", "5\xa0"),
  size("a full-width digit", "\xef\xbc\x95"),
  size("a space before the extension", "5 ;x"),
  size("17 significant digits", "10000000000000005"),
  size("20 significant digits", "ffffffffffffffffffff"),
  body("a bare LF behind the size", "5\nhello\r\n0\r\n\r\n"),
  body("a lone CR behind the size", "5\rhello\r\n0\r\n\r\n"),
  body("CR CR LF behind the size", "5\r\r\nhello\r\n0\r\n\r\n"),
  body("CRLF before the first size", "\r\n5\r\nhello\r\n0\r\n\r\n"),
  size("64 bits full, over any limit", "ffffffffffffffff", 413),
  size("2^63", "8000000000000000", 413),
  size("2^53 + 1, which a double cannot hold", "20000000000001", 413),
  size("2^32 + 5, which 32 bits would wrap", "100000005", 413),
  size("2^31, which 32 bits would turn negative", "80000000", 413),
  size("one byte over the default limit", "400001", 413),
];

const EXTENSIONS: readonly RefusedRow[] = [
  size("an extension of 258 bytes", `5;${"x".repeat(258)}`),
  size("an extension of 4 KiB", `5;${"x".repeat(4096)}`),
  size("many extensions over 256 bytes in sum", `5${";abc=def".repeat(40)}`),
  body("a long extension on the last chunk", `5\r\nhello\r\n0;${"x".repeat(300)}\r\n\r\n`),
  body("an extension without end", `5;${"x".repeat(20000)}`),
  ...["\0", "\x01", "\x07", "\x0b", "\x0c", "\x1b", "\x1f", "\x7f"].flatMap((char) => [
    size(`${JSON.stringify(char)} in an extension's name`, `5;x${char}y=1`),
    size(`${JSON.stringify(char)} in an extension's value`, `5;x="a${char}b"`),
  ]),
  size("a bare LF in an extension", "5;x\ny"),
  size("a lone CR in an extension", "5;x\ry"),
  body("a bare LF behind an extension", "5;x\nhello\r\n0\r\n\r\n"),
];

const DELIMITERS: readonly RefusedRow[] = [
  body("a bare LF behind the data", "5\r\nhello\n0\r\n\r\n"),
  body("a lone CR behind the data", "5\r\nhello\r0\r\n\r\n"),
  body("CR CR LF behind the data", "5\r\nhello\r\r\n0\r\n\r\n"),
  body("LF CR behind the data", "5\r\nhello\n\r0\r\n\r\n"),
  body("nothing behind the data", "5\r\nhello0\r\n\r\n"),
  body("two other bytes behind the data", "5\r\nhelloXX0\r\n\r\n"),
  body("more data than the size says", "5\r\nhello world\r\n0\r\n\r\n"),
  body("a space behind the data", "5\r\nhello \r\n0\r\n\r\n"),
  body("a bare LF as the end", "5\r\nhello\r\n0\r\n\n"),
  body("a bare LF behind the last size", "5\r\nhello\r\n0\n\r\n"),
  body("a lone CR behind the last size", "5\r\nhello\r\n0\r\r\n"),
  body("a request in place of the trailers", "5\r\nhello\r\n0\r\nGET /node/canary HTTP/1.1\r\nHost: gw.test\r\n\r\n"),
];

const FORBIDDEN = [
  "Transfer-Encoding: chunked",
  "Content-Length: 5",
  "Connection: close",
  "Host: gw.test",
  "Keep-Alive: timeout=5",
  "TE: trailers",
  "Trailer: X-A",
  "Trailers: X-A",
  "Upgrade: x",
  ":path: /",
  ":x: 1",
];

const TRAILERS: readonly RefusedRow[] = [
  ...FORBIDDEN.flatMap((line) => [
    trailer(`the trailer ${line}`, line),
    trailer(`the trailer ${line.toUpperCase()} behind a good one`, `X-A: 1\r\n${line.toUpperCase()}`),
  ]),
  trailer("a trailer without a colon", "X-A"),
  trailer("a trailer without a name", ": 1"),
  trailer("a space before a trailer's colon", "X-A : 1"),
  trailer("a folded trailer", "X-A: 1\r\n 2"),
  trailer("a trailer that begins with a space", " X-A: 1"),
  trailer("a trailer name that is no token", "X(A: 1"),
  trailer("a byte above 127 in a trailer's name", "X\xe9A: 1"),
  trailer("a NUL in a trailer", "X-A: a\0b"),
  trailer("a control character in a trailer", "X-A: a\x01b"),
  trailer("a bare LF in the trailers", "X-A: 1\nX-B: 2"),
  trailer("a lone CR in a trailer", "X-A: a\rb"),
  trailer("trailers over 4096 bytes", `X-A: ${"a".repeat(4200)}`, 431),
  trailer(
    "many trailers over 4096 bytes",
    Array.from({ length: 90 }, (_, i) => `X-${i}: ${"a".repeat(50)}`).join("\r\n"),
    431,
  ),
  body("trailers without end", `5\r\nhello\r\n0\r\nX-A: ${"a".repeat(10000)}`, 431),
];

/** Refused. */
export const BAD_CHUNKS: readonly RefusedRow[] = [...SIZES, ...EXTENSIONS, ...DELIMITERS, ...TRAILERS];

/** Served, each with the five bytes `hello`. */
export const GOOD_CHUNKS: readonly (readonly [name: string, bytes: string])[] = [
  ["leading zeros", "0005\r\nhello\r\n0\r\n\r\n"],
  ["16 digits", "0000000000000005\r\nhello\r\n0\r\n\r\n"],
  ["many zeros as the last size", "5\r\nhello\r\n0000000000000000\r\n\r\n"],
  ["chunks of one byte", "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n0\r\n\r\n"],
  ["an extension", "5;name=value\r\nhello\r\n0\r\n\r\n"],
  ["several extensions", '5;a;b=c;d="e;f"\r\nhello\r\n0\r\n\r\n'],
  ["a tab in a quoted extension", '5;a="b\tc"\r\nhello\r\n0\r\n\r\n'],
  ["an extension of 255 bytes", `5;${"x".repeat(255)}\r\nhello\r\n0\r\n\r\n`],
  ["an extension on the last chunk", "5\r\nhello\r\n0;last\r\n\r\n"],
  ["a trailer", "5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n"],
  ["trailers of almost 4096 bytes", `5\r\nhello\r\n0\r\nX-A: ${"a".repeat(4000)}\r\n\r\n`],
  ["a trailer with bytes above 127", "5\r\nhello\r\n0\r\nX-A: caf\xe9\r\n\r\n"],
].map(([name, text]) => [name!, HEAD + text!] as const);

/** Cut off by the client's end: 400 or no answer, and the connection closed. */
export const TRUNCATED: readonly (readonly [name: string, bytes: string])[] = [
  ["in a size", "5"],
  ["in the CRLF behind a size", "5\r"],
  ["before the data", "5\r\n"],
  ["in the data", "5\r\nhel"],
  ["behind the data", "5\r\nhello"],
  ["in the CRLF behind the data", "5\r\nhello\r"],
  ["before the next size", "5\r\nhello\r\n"],
  ["behind the last size", "5\r\nhello\r\n0"],
  ["before the trailers", "5\r\nhello\r\n0\r\n"],
  ["in a trailer", "5\r\nhello\r\n0\r\nX-A"],
  ["behind a trailer", "5\r\nhello\r\n0\r\nX-A: 1\r\n"],
  ["in an extension", "5;abc"],
].map(([name, text]) => [name!, HEAD + text!] as const);
