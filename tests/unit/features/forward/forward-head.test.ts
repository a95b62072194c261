import { describe, expect, test } from "bun:test";
import { encodeForwardHead, forwardHeadBound, isLoop } from "../../../../src/features/forward/forward-head.ts";
import type { Exchange } from "../../../../src/message/exchange.ts";
import { isForwardableUpgrade } from "../../../../src/proto/h1/upgrade-tokens.ts";
import { forwardExchange, headOf, targetAt } from "./forward-exchange.ts";

/** What is sent upstream, without the line of the request id, which is new every time. */
function sent(text: string, amend: (ex: Exchange) => void = () => {}, preserveHost = true, basePath = ""): string {
  const ex = forwardExchange(headOf(text));
  amend(ex);
  const target = targetAt("origin.test:81", basePath);
  const out = Buffer.alloc(forwardHeadBound(ex, target));
  const end = encodeForwardHead(ex, { preserveHost }, target, out, 0);
  return out.latin1Slice(0, end).replace(/X-Request-Id: [^\r]*\r\n/, "");
}

function get(target: string, ...lines: readonly string[]): string {
  return `GET ${target} HTTP/1.1\r\nHost: a.test\r\n${lines.map((line) => `${line}\r\n`).join("")}\r\n`;
}

function firstLine(text: string): string {
  return text.slice(0, text.indexOf("\r\n"));
}

const CLIENT = "X-Forwarded-For: 192.0.2.7\r\nX-Real-IP: 192.0.2.7\r\nX-Forwarded-Proto: http\r\n";

describe("a forwarded head", () => {
  test("is the client's, with the gateway's own fields behind", () => {
    expect(sent(get("/a?x=1", "User-Agent: test", "Accept:  */* "))).toBe(
      `GET /a?x=1 HTTP/1.1\r\nHost: a.test\r\nUser-Agent: test\r\nAccept: */*\r\n${CLIENT}X-Forwarded-Host: a.test\r\nVia: 1.1 edge\r\n\r\n`,
    );
  });

  test.each([
    ["a prefix", "/node/x?q", 5, "", "/x?q"],
    ["a prefix that is the whole path", "/node", 5, "", "/"],
    ["a prefix that is the whole path, and a query", "/node?q=1", 5, "", "/?q=1"],
    ["a prefix that ends in a slash", "/node/", 5, "", "/"],
    ["a rewritten path", "/node/../x?q", -1, "/x", "/x?q"],
    ["a fragment", "/a?q#f", 0, "", "/a?q"],
    ["a fragment without a query", "/a#f?q", 0, "", "/a"],
    ["an encoded slash", "/a%2Fb", 0, "", "/a%2Fb"],
  ])("leaves out %s", (_name, target, prefixLength, forwardPath, expected) => {
    const amend = (ex: Exchange): void => void Object.assign(ex, { prefixLength, forwardPath });
    expect(firstLine(sent(get(target), amend))).toBe(`GET ${expected} HTTP/1.1`);
    expect(firstLine(sent(get(target), amend, true, "/base"))).toBe(`GET /base${expected} HTTP/1.1`);
  });

  test("names the host that the client named, or the target's", () => {
    expect(sent(get("/"))).toContain("\r\nHost: a.test\r\n");
    expect(sent(get("/"), () => {}, false)).toContain("\r\nHost: origin.test:81\r\n");
    expect(sent(get("/"), () => {}, false)).toContain("\r\nX-Forwarded-Host: a.test\r\n");
    expect(sent("GET http://A.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n")).toStartWith(
      "GET /x HTTP/1.1\r\nHost: a.test\r\n",
    );
    expect(sent("GET / HTTP/1.0\r\n\r\n")).toContain("\r\nHost: origin.test:81\r\n");
  });

  test("says the length of the body that follows", () => {
    const post = (line: string, method = "POST"): string => `${method} / HTTP/1.1\r\nHost: a\r\n${line}\r\n`;
    expect(sent(post("Content-Length: 007\r\n"))).toContain("\r\nContent-Length: 7\r\n");
    expect(sent(post("Transfer-Encoding:  CHUNKED\r\n"))).toContain("\r\nTransfer-Encoding: chunked\r\n");
    for (const method of ["POST", "PUT", "PATCH"]) {
      expect(sent(post("", method))).toContain("\r\nContent-Length: 0\r\n");
    }
    for (const method of ["GET", "HEAD", "DELETE", "OPTIONS", "PURGE"]) {
      expect(sent(post("", method))).not.toContain("Content-Length");
    }
    for (const method of ["GET", "DELETE", "OPTIONS"]) {
      expect(sent(post("Content-Length: 0\r\n", method))).toContain("\r\nContent-Length: 0\r\n");
    }
    expect(sent(post("Content-Length: 5\r\n", "GET"))).toContain("\r\nContent-Length: 5\r\n");
  });

  test("does not hold what was meant for this hop", () => {
    const lines = [
      ...["Connection: close, X-Mine", "X-Mine: 1", "Keep-Alive: timeout=5", "Proxy-Connection: x", "TE: gzip"],
      ...["Proxy-Authorization: Basic x", "Trailer: X-T", "Upgrade: x", "HTTP2-Settings: x", "Expect: 100-continue"],
    ];
    const text = sent(get("/", ...lines, "X-Other: 2"));
    expect(text).toBe(
      `GET / HTTP/1.1\r\nHost: a.test\r\nX-Other: 2\r\n${CLIENT}X-Forwarded-Host: a.test\r\nVia: 1.1 edge\r\n\r\n`,
    );
  });

  test("keeps TE: trailers", () => {
    expect(sent(get("/", "TE: trailers"))).toContain("\r\nTE: trailers\r\n");
    expect(sent(get("/", "TE: Trailers"))).toContain("\r\nTE: trailers\r\n");
    expect(sent(get("/", "TE: trailers, gzip"))).not.toContain("gzip");
  });

  test("does not believe what a client says of itself", () => {
    const lies = ["X-Forwarded-For: 1.2.3.4", "X-Real-IP: 1.2.3.4", "X-Forwarded-Proto: https", "X-Forwarded-Host: b"];
    expect(sent(get("/", ...lies, "X-Forwarded-Client-Cert: By=x"))).toBe(sent(get("/")));
  });

  test("believes a trusted proxy, and appends its address", () => {
    const text = sent(get("/", "X-Forwarded-For: 1.2.3.4, 5.6.7.8", "X-Forwarded-Proto: https"), (ex) => {
      ex.fromTrustedProxy = true;
      ex.forwardedIp = "1.2.3.4";
    });
    expect(text).toContain("\r\nX-Forwarded-For: 1.2.3.4, 5.6.7.8, 192.0.2.7\r\n");
    expect(text).toContain("\r\nX-Real-IP: 1.2.3.4\r\n");
    expect(text).toContain("\r\nX-Forwarded-Proto: https\r\n");
  });

  test("asks to leave HTTP where the client did", () => {
    const text = sent(get("/", "Connection: Upgrade, X-Mine", "Upgrade: websocket", "X-Mine: 1"));
    expect(text).toContain("\r\nUpgrade: websocket\r\n");
    expect(text).toContain("\r\nConnection: Upgrade\r\n");
    expect(text).not.toContain("X-Mine");
  });
});

describe("an upgrade to HTTP/2 is not forwarded", () => {
  test.each(["h2c", "H2C", "h2c, websocket", "websocket, h2c", "websocket,h2c", "h2c,foo", "x , H2c"])(
    "%s",
    (value) => {
      const head = headOf(get("/", "Connection: Upgrade", `Upgrade: ${value}`));
      expect(isForwardableUpgrade(head.headers)).toBe(false);
      const text = sent(get("/", "Connection: Upgrade", `Upgrade: ${value}`));
      expect(text.toLowerCase()).not.toContain("h2c");
      expect(text).not.toContain("Connection: Upgrade");
    },
  );

  test("spread over two fields", () => {
    const head = headOf(get("/", "Connection: Upgrade", "Upgrade: websocket", "Upgrade: h2c"));
    expect(isForwardableUpgrade(head.headers)).toBe(false);
  });

  test("but others are", () => {
    const head = headOf(get("/", "Connection: Upgrade", "Upgrade: websocket"));
    expect(isForwardableUpgrade(head.headers)).toBe(true);
  });
});

describe("a loop", () => {
  const hop = "1.1 edge";

  test.each([
    ["nine hops in one field", [`Via: ${Array(9).fill(hop).join(", ")}`], false],
    ["ten hops in one field", [`Via: ${Array(10).fill(hop).join(", ")}`], true],
    ["ten hops in ten fields", Array(10).fill(`Via: ${hop}`), true],
    ["ten hops among others", [`Via: 1.1 other,${Array(10).fill(hop).join(",1.0 x,")}`], true],
    ["other gateways", [`Via: ${Array(20).fill("1.1 other").join(", ")}`], false],
    ["no Via", [], false],
  ])("%s", (_name, lines, expected) => {
    expect(isLoop(headOf(get("/", ...lines)).headers)).toBe(expected);
  });
});
