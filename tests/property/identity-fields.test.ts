import { expect, test } from "bun:test";
import fc from "fast-check";
import { encodeForwardHead, forwardHeadBound } from "../../src/features/forward/forward-head.ts";
import { ChunkEvent, ChunkedDecoder } from "../../src/proto/h1/chunked-decoder.ts";
import { isForbiddenTrailer } from "../../src/proto/h1/trailer-names.ts";
import { forwardExchange, parsedHead, targetAt } from "../unit/features/forward/forward-exchange.ts";

// docs/security.md#identity-headers, docs/security.md#trailers: a defect is a class, not a spelling.
const RUNS = 3000;
const FORGED = "forged-4711";
const EXACT = [
  ...["Forwarded", "Forwarded-For", "X-Forwarded", "X-Real-IP", "X-Client-IP", "X-Cluster-Client-IP", "Client-IP"],
  ...["True-Client-IP", "Fastly-Client-IP", "CF-Connecting-IP", "X-Method-Override", "X-Forwarded-For"],
  ...["X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Client-Cert"],
];
const FAMILIES = ["X-Forwarded-", "X-Original-", "X-Rewrite-", "X-HTTP-Method"];
const OTHER_TRAILERS = [
  ...[
    "Authorization",
    "Cookie",
    "Set-Cookie",
    "Expect",
    "Range",
    "Cache-Control",
    "Max-Forwards",
    "Pragma",
    "Via",
    "Host",
  ],
  ...["Transfer-Encoding", "Content-Length", "Connection", "Keep-Alive", "TE", "Trailer", "Upgrade"],
];
const OTHER_FAMILIES = ["Content-", "If-", "Proxy-"];

const tail = fc.string({ unit: fc.constantFrom(..."abcXYZ019-_"), minLength: 1, maxLength: 12 });
function spelled(exact: readonly string[], families: readonly string[]) {
  const name = fc.oneof(
    fc.constantFrom(...exact),
    fc.tuple(fc.constantFrom(...families), tail).map(([family, rest]) => family + rest),
  );
  const signs = fc.array(fc.constantFrom(..."-_.~!#$%&'*+^`|"), { minLength: 6, maxLength: 6 });
  const shifts = fc.array(fc.boolean(), { minLength: 40, maxLength: 40 });
  return fc.tuple(name, signs, shifts).map(([text, separators, upper]) => {
    let sign = 0;
    return [...text]
      .map((c, i) =>
        c === "-"
          ? separators[sign++ % separators.length]!
          : upper[i % upper.length]
            ? c.toUpperCase()
            : c.toLowerCase(),
      )
      .join("");
  });
}

test("no spelling of an identity field of a client goes on, whatever Connection names", () => {
  const names = fc.array(spelled(EXACT, FAMILIES), { minLength: 1, maxLength: 8 });
  const property = fc.property(names, fc.boolean(), (spellings, isNamed) => {
    const connection = isNamed ? [`Connection: keep-alive, ${spellings.join(", ")}`] : [];
    const lines = [...connection, ...spellings.map((name) => `${name}: ${FORGED}`), "X-Kept: yes"];
    const head = parsedHead(Buffer.from(`GET / HTTP/1.1\r\nHost: a.test\r\n${lines.join("\r\n")}\r\n\r\n`, "latin1"))!;
    const ex = forwardExchange(head);
    const target = targetAt("origin.test:81", "");
    const out = Buffer.alloc(forwardHeadBound(ex, target));
    const text = out.latin1Slice(0, encodeForwardHead(ex, { preserveHost: true }, target, out, 0));
    expect(text).not.toContain(FORGED);
    expect(text).toContain("X-Kept: yes");
  });
  fc.assert(property, { numRuns: RUNS });
});

test("no spelling of a name that does not belong in a request's trailers is taken", () => {
  const property = fc.property(spelled([...EXACT, ...OTHER_TRAILERS], [...FAMILIES, ...OTHER_FAMILIES]), (name) => {
    const decoder = new ChunkedDecoder(isForbiddenTrailer);
    decoder.begin(0);
    const bytes = Buffer.from(`0\r\nX-Sum: 5\r\n${name}: 1\r\n\r\n`, "latin1");
    expect(decoder.next(bytes, 0, bytes.length)).toBe(ChunkEvent.Failed);
  });
  fc.assert(property, { numRuns: RUNS });
});

test("names that only resemble them are taken", () => {
  const names = [
    "X-Forwarder",
    "X-Forwards-For",
    "Reforwarded",
    "X-Originals",
    "X-Rewriter",
    "X-Http-Meth",
    "If",
    "Contents",
  ];
  for (const name of [...names, "X-Client-IPs", "X-Sum", "Proxy", "Host-Name", "Ranges", "Viable", "Cookies", "TEX"]) {
    const decoder = new ChunkedDecoder(isForbiddenTrailer);
    decoder.begin(0);
    const bytes = Buffer.from(`0\r\n${name}: 1\r\n\r\n`, "latin1");
    expect([name, decoder.next(bytes, 0, bytes.length)]).toEqual([name, ChunkEvent.Done]);
  }
});
