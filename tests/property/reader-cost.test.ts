import { describe, expect, test } from "bun:test";
import type { MatchConfig } from "../../src/config/match-settings.ts";
import { claimTexts } from "../../src/features/auth/claims.ts";
import { attributeOf, canonicalName } from "../../src/features/auth/distinguished-name.ts";
import { claimsOf, readToken } from "../../src/features/auth/jwt/token.ts";
import { TokenFound, TokenPlaces } from "../../src/features/auth/jwt/token-places.ts";
import { readState, returnPath } from "../../src/features/auth/oidc/login-attempt.ts";
import { SessionCookies, takeCookiesOff } from "../../src/features/auth/oidc/session-cookies.ts";
import { requestDirectives, responseDirectives } from "../../src/features/cache/directives.ts";
import { tagsOf } from "../../src/features/cache/tags.ts";
import { forwardedClient } from "../../src/features/client/forwarded-client.ts";
import { RequestMatcher } from "../../src/features/route/request-matcher.ts";
import { JsonCodec } from "../../src/features/transcode/json-codec.ts";
import { SchemaCodec } from "../../src/features/transcode/schema-codec.ts";
import { TRANSFORMATION_OF } from "../../src/features/waf/seclang/transformations.ts";
import { HeaderBlock } from "../../src/message/header-block.ts";
import { Method, RequestHead } from "../../src/message/request-head.ts";
import { CgiResponseParser } from "../../src/proto/fastcgi/cgi-response-parser.ts";
import { RecordReader } from "../../src/proto/fastcgi/record-reader.ts";
import { JsonLines } from "../../src/proto/grpc/json-lines.ts";
import { readJson } from "../../src/proto/grpc/json-text.ts";
import { templatePattern } from "../../src/proto/grpc/path-template.ts";
import { decodeText, FrameWalk } from "../../src/proto/grpc/web-frames.ts";
import { prefersHtml } from "../../src/proto/semantics/accept.ts";
import { codingWeights } from "../../src/proto/semantics/accept-encoding.ts";
import { CookieValues } from "../../src/proto/semantics/cookie-values.ts";
import { judgePreconditions } from "../../src/proto/semantics/precondition.ts";
import { parseDictionary } from "../../src/proto/semantics/structured-fields.ts";
import { parseTemplate } from "../../src/proto/template/template.ts";
import { isTracestate } from "../../src/proto/trace/trace-context.ts";
import { SHOP } from "../harness/grpc-shop.ts";
import { costFault, expectLinear, type Reader, textOf } from "../harness/reader-cost.ts";
import { ruleBody } from "../harness/waf-bodies.ts";

// docs/security.md: what the gateway reads of clients, origins and files costs time in proportion to its length.

/** A head as HTTP/2 makes it of a few bytes: names and values that are known take one. */
const HEAD_CHARS = 65_536;
/** Bodies that are read on the worker itself. */
const BODY_CHARS = 49_152;

function headersOf(name: string, value: string): HeaderBlock {
  const headers = new HeaderBlock();
  headers.resetOwn();
  headers.add(name, value);
  return headers;
}

function headOf(name: string, value: string): RequestHead {
  const head = new RequestHead({
    clientIp: "192.0.2.1",
    country: "",
    agentName: "",
    canonicalPath: "/",
    fromTrustedProxy: false,
    scheme: "http",
    listenerName: "",
  });
  head.reset(Buffer.from("/"));
  head.headers.resetOwn();
  head.headers.add(name, value);
  return head;
}

const NOTHING: MatchConfig = { header: [], query: [], cookie: [], clientIp: [], country: [], share: 1, stickyBy: "" };
const JSON_OPTIONS = { emitDefaults: false, protoNames: false, enumNumbers: false, ignoreUnknown: true };
const ECHO = SHOP.method("/shop.Shop/Echo")!;
const FIELDS = { body: "*", responseBody: "", httpMethod: "POST", isAuto: false, json: JSON_OPTIONS };
const codec = new SchemaCodec(ECHO, SHOP.registry, FIELDS);
const untyped = new JsonCodec();

/** What refuses the text has read it, too. */
function tried(read: () => unknown): void {
  try {
    read();
  } catch {}
}

function encoded(text: string): void {
  const read = readJson(text);
  if (read instanceof Error) return;
  tried(() => codec.encode({ path: [], query: [], body: read.value, large: null, hasOddNumbers: read.hasOddNumbers }));
}

function queried(text: string): void {
  const query = text.split("&").map((pair): [string, string] => {
    const [name = "", value = ""] = pair.split("=", 2);
    return [name, value];
  });
  const input = { path: [], query, body: undefined, large: null, hasOddNumbers: false };
  tried(() => codec.encode(input));
  tried(() => untyped.encode(input));
}

/** In pieces of a few bytes, as a peer may send them. */
function pieces(text: string, take: (piece: Buffer) => void): void {
  const bytes = Buffer.from(text, "latin1");
  for (let at = 0; at < bytes.length; at += 7) take(bytes.subarray(at, at + 7));
}

const cookieTests = ["1", "/^(a|b)+$/", true] as const;
const places = new TokenPlaces(["cookie:t", "header"], false);
const sessions = new SessionCookies("0123456789");
const BLANKS = [" ", "\t", "  "];
const LIST = [
  ...BLANKS,
  ",",
  ", ",
  ";",
  "=",
  '"',
  "\\",
  '\\"',
  "a",
  "a#",
  "*",
  "/",
  "q=0.#",
  "(",
  ")",
  ":",
  "%",
  "0",
  "?1",
];

const READERS: readonly Reader[] = [
  {
    name: "JSON to protobuf",
    maxChars: BODY_CHARS,
    frame: ['{"', "}"],
    words: [
      ...[
        '"',
        '":',
        '","',
        "\\u0030",
        "\\",
        "\\n",
        " ",
        "0",
        "1",
        "-",
        "+",
        ".",
        "e",
        "E9",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
      ],
      ...[
        'text":"',
        'large":',
        'numbers":[',
        "#,",
        '"#",',
        'flags":{',
        '"#":true,',
        'inner":{"',
        'counts":{',
        '"k#":1,',
      ],
      ...['twice":0.', 'any_value":', 'blob":"', "QQ==", 'at":"2020-02-30T', 'mask":"a_b,', 'took":"1', '{"@type":"'],
    ],
    read: encoded,
  },
  {
    name: "fields of a query",
    maxChars: HEAD_CHARS,
    words: [
      "&",
      "=",
      ".",
      "inner.",
      "counts.k#=1&",
      "counts[k#]=1&",
      "numbers=#&",
      "x#=1&",
      "a.b#=1&",
      "a=#&",
      "[",
      "]",
      "a",
    ],
    read: queried,
  },
  {
    name: "base64 of gRPC-Web",
    maxChars: BODY_CHARS,
    words: ["A", "=", "==", "QQ==", "QUE=", "QUFB", "+", "/", "!", "\n"],
    read: (text) => decodeText(Buffer.from(text, "latin1")),
  },
  {
    name: "frames of gRPC-Web",
    maxChars: BODY_CHARS,
    words: ["\0", "\0\0\0\0", "\x80", "\x01", "\x05", "\xff", "a"],
    read: (text) => pieces(text, (piece) => new FrameWalk().pass(piece, 0, piece.length)),
  },
  {
    name: "lines of NDJSON",
    maxChars: BODY_CHARS,
    words: ["\n", "\r\n", "\x1e", " ", "{}", '"a"', "{", "\t"],
    read: (text) => {
      const lines = new JsonLines(2 * BODY_CHARS);
      pieces(text, (piece) => {
        lines.push(piece, 0, piece.length);
        while (lines.next() !== null && !lines.isEmpty);
      });
    },
  },
  ...cookieTests.map((wanted) => ({
    name: `match.cookie ${wanted}`,
    maxChars: HEAD_CHARS,
    words: ["beta=", "beta", "; ", ";", "=", "#", " ", "\t", '"', "%31", "%", "a", "b", "+"],
    read: (text: string) =>
      void new RequestMatcher({ ...NOTHING, cookie: [["beta", wanted]], share: 0.5, stickyBy: "beta" }, "id", 0).fits(
        headOf("Cookie", text),
      ),
  })),
  {
    name: "match.header",
    maxChars: HEAD_CHARS,
    words: ["a", "b", " ", "\t", ",", "#"],
    read: (text) =>
      void new RequestMatcher({ ...NOTHING, header: [["X-A", "/^(a|b)+$/"]] }, "id", 0).fits(headOf("X-A", text)),
  },
  {
    name: "cookies by name",
    maxChars: HEAD_CHARS,
    words: ["a=", "a", ";", "; ", " ", "=", "#"],
    read: (text) => {
      const values = new CookieValues("a");
      values.begin(headersOf("Cookie", text));
      while (values.next());
    },
  },
  {
    name: "cookies of sessions",
    maxChars: HEAD_CHARS,
    words: ["edge-oidc-", "edge-oidc-0123456789", "=", ";", "; ", " ", "-", "a#", "__Host-"],
    read: (text) => {
      sessions.find(headersOf("Cookie", text), false);
      takeCookiesOff(headOf("Cookie", text));
    },
  },
  {
    name: "tokens",
    maxChars: HEAD_CHARS,
    words: ["e30", ".", "eyJhbGciOiJSUzI1NiJ9", "eyJhbGciOiJSUzI1NiJ9.", "e30.", "=", "-", "_", "A", "W1tb", "IiIs"],
    read: (text) => {
      const token = readToken(text);
      if (typeof token !== "string") claimTexts(claimsOf(token) ?? {});
    },
  },
  {
    name: "places of tokens",
    maxChars: HEAD_CHARS,
    words: ["t=", "t", ";", "; ", " ", "=", "a", "#"],
    read: (text) => tried(() => places.find(headOf("Cookie", text)) === TokenFound.Token),
  },
  {
    name: "state and return path of a sign-in",
    maxChars: HEAD_CHARS,
    words: ["0123456789", ".", "/", "\\", "//", "?", "%2f", "%", "a", "..", "\t", "é", "#"],
    read: (text) => {
      readState(text);
      returnPath(text);
    },
  },
  {
    name: "heads of scripts",
    maxChars: HEAD_CHARS,
    words: ["Status: 200", "\n", "\r\n", "A: b", " ", "\t", ":", "Location: ", "Content-Length: 1", "\0", "#"],
    read: (text) => {
      const parser = new CgiResponseParser(100);
      parser.begin(0);
      const bytes = Buffer.from(text, "latin1");
      for (let to = 512; to <= bytes.length; to += 512)
        if (parser.parse(bytes, to, new HeaderBlock(), Method.Get) !== -1) break;
    },
  },
  {
    name: "records of FastCGI",
    maxChars: HEAD_CHARS,
    words: [
      "\x01\x06\0\x01\0\x01\0\0a",
      "\x01\x06\0\x01\0\0\x01\0a",
      "\x01\x07\0\x01\0\x01\0\0a",
      "\x01\x03\0\x01\0\x08\0\0",
      "\0",
    ],
    read: (text) => {
      const reader = new RecordReader();
      reader.begin();
      pieces(text, (piece) => {
        for (let at = 0, turns = 0; at < piece.length && turns < 8; at = reader.consumed, turns++)
          reader.next(piece, at, piece.length);
      });
    },
  },
  {
    name: "bodies for SecLang",
    maxChars: HEAD_CHARS,
    words: ["a=", "&", "#", "%41", "%", "+", "=", "a", ";", "a[#]=b&"],
    read: (text) =>
      void ruleBody(
        headersOf("Content-Type", "application/x-www-form-urlencoded"),
        Buffer.from(text, "latin1"),
        {},
        HEAD_CHARS,
      ),
  },
  {
    name: "JSON for SecLang",
    maxChars: HEAD_CHARS,
    words: ["{", "}", "[", "]", '"a#":', '"a":', '"', "\\", "\\u0041", "#", ",", ":", " ", "true"],
    read: (text) =>
      void ruleBody(headersOf("Content-Type", "application/json"), Buffer.from(text, "latin1"), {}, HEAD_CHARS),
  },
  ...Object.entries(TRANSFORMATION_OF).map(([name, transform]) => ({
    name: `t:${name}`,
    maxChars: HEAD_CHARS,
    words: [
      ...[
        "/*",
        "*/",
        "<!--",
        "-->",
        "--",
        "#",
        "/",
        "//",
        "/./",
        "/../",
        "../",
        "..",
        "\\",
        "\\x41",
        "\\u0041",
        "%u0041",
        "%41",
      ],
      ...[
        "%",
        "&#x41;",
        "&#",
        "&lt",
        ";",
        " ",
        "\t",
        "\0",
        "a",
        "QQ==",
        "=",
        "^",
        '"',
        "'",
        ",",
        "(",
        "\xc3\xa9",
        "\xff",
        "4",
      ],
    ],
    read: (text: string) => void transform(text),
  })),
  {
    name: "templates",
    maxChars: HEAD_CHARS,
    words: ["{", "}", "{{", "}}", "{host}", "{header.X}", "{query.a", "a", ".", "\\"],
    read: (text) => void parseTemplate(text),
  },
  {
    name: "patterns of paths",
    maxChars: HEAD_CHARS,
    words: ["/", "{", "}", "{a}", "{a=", "*", "**", ":", "a", "/a"],
    read: (text) => void templatePattern(text),
  },
  {
    name: "names of certificates",
    maxChars: HEAD_CHARS,
    words: ["CN=", "a", ",", "+", "=", "\\", "\\ ", "\\2c", " ", "1.2", "#", "\t"],
    read: (text) => {
      canonicalName(text);
      attributeOf(text, "CN");
    },
  },
  {
    name: "tracestate",
    maxChars: HEAD_CHARS,
    words: ["a=1", ",", " ", "\t", "=", "a", "a#=b,"],
    read: (text) => void isTracestate(text),
  },
  { name: "structured fields", maxChars: HEAD_CHARS, words: LIST, read: (text) => void parseDictionary(text) },
  {
    name: "lists of fields",
    maxChars: HEAD_CHARS,
    words: [...LIST, "max-age=", "public", "no-cache", "private=", "gzip", "text/html", 'W/"', "br"],
    read: (text) => {
      responseDirectives(headersOf("Cache-Control", text));
      requestDirectives(headersOf("Cache-Control", text));
      tagsOf(headersOf("Cache-Tag", text));
      tagsOf(headersOf("Surrogate-Key", text));
      prefersHtml(headersOf("Accept", text));
      codingWeights(headersOf("Accept-Encoding", text));
      judgePreconditions(headersOf("If-None-Match", text), { etag: '"a"', lastModifiedMs: 0 } as never, 0);
    },
  },
  {
    name: "addresses of clients",
    maxChars: HEAD_CHARS,
    words: ["192.0.2.1", ",", ", ", " ", ":", "::1", "[", "]", "unknown", "a"],
    read: (text) => void forwardedClient(headersOf("X-Forwarded-For", text), { has: () => true } as never),
  },
];

const RUNS = Number(process.env.READER_COST_RUNS ?? 60);

describe("time is in proportion to the text", () => {
  test.each(READERS.map((reader) => [reader.name, reader] as const))(
    "%s",
    (_name, reader) => expectLinear(reader, RUNS, 20_261_126),
    120_000,
  );
});

test("a list that is searched for each of its entries is found", () => {
  const seen: string[] = [];
  const reader: Reader = {
    name: "a list",
    words: ["#,"],
    maxChars: 40_000,
    read: (text) => {
      seen.length = 0;
      for (const one of text.split(",")) if (!seen.includes(one)) seen.push(one);
    },
  };
  const shape = { before: "", unit: "#,", after: "", isNested: false };
  expect(textOf(reader, shape, 6)).toBe("0,1,2,");
  expect(costFault(reader, shape)).not.toBe("");
}, 30_000);
