import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { type ChallengeAnswers, Http01Phase } from "../../../../src/features/acme/http01-phase.ts";
import { ClientSession, type Script } from "../../edge/client-session.ts";

const TOKEN = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr_oA";
const KEY = `${TOKEN}.9jg46WB3rR_AHD-EBXdN7cBkH1WOu0tA3M9fm21mqTI`;

/** One request, and what the client got; `asked` are the tokens that were looked up. */
function ask(line: string): { readonly got: string; readonly handled: string[]; readonly asked: string[] } {
  const asked: string[] = [];
  const answers: ChallengeAnswers = {
    answerTo(token) {
      asked.push(token);
      return token === TOKEN ? KEY : null;
    },
  };
  const notFound: Script = (ex) => ex.sink.abort(ex, Fault.NotFound);
  const session = new ClientSession(notFound, {}, [
    new Http01Phase(answers, { maxBodyBytes: 0, rejectsChunked: false }),
  ]);
  session.send(Buffer.from(`${line} HTTP/1.1\r\nHost: a.test\r\n\r\n`, "utf8"));
  return { got: session.got, handled: session.handled, asked };
}

const PATH = "/.well-known/acme-challenge/";

describe("step 1: the method", () => {
  test.each(["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "BREW"])("%s is 405, and no token is looked up", (method) => {
    const { got, asked } = ask(`${method} ${PATH}${TOKEN}`);
    expect(got).toStartWith("HTTP/1.1 405 Method Not Allowed\r\n");
    expect(got).toContain("\r\nAllow: GET, HEAD\r\n");
    expect(got).toContain("\r\nContent-Type: text/plain\r\n");
    expect(asked).toEqual([]);
  });

  test("comes before the token", () => {
    expect(ask(`POST ${PATH}a=b`).got).toStartWith("HTTP/1.1 405 ");
  });
});

describe("step 2: the token's characters", () => {
  test.each([
    ["nothing", ""],
    ["129 characters", "a".repeat(129)],
    ["padding", "abc="],
    ["a path separator", "abc/def"],
    ["a separator at the end", "abc/"],
    ["dots", ".."],
    ["dots within", "a..b"],
    ["an encoded separator", "abc%2fdef"],
    ["encoded dots", "%2e%2e"],
    ["an encoded space", "abc%20"],
    ["an encoded NUL", "abc%00"],
    ["a plus", "a+b"],
    ["a tilde", "a~b"],
    ["a semicolon", "a;b"],
  ])("%s is invalid, and no token is looked up", (_, token) => {
    const { got, asked, handled } = ask(`GET ${PATH}${token}`);
    expect(got).toStartWith("HTTP/1.1 400 Bad Request\r\n");
    expect(got).toContain("\r\nContent-Type: text/plain; charset=utf-8\r\n");
    expect(got).toEndWith("\r\n\r\nInvalid ACME Challenge Token");
    expect([asked, handled]).toEqual([[], []]);
  });

  test("multi-byte characters are invalid", () => {
    const { got, asked } = ask(`GET ${PATH}caf\u00e9`);
    expect(got).toStartWith("HTTP/1.1 400 ");
    expect(asked).toEqual([]);
  });

  test.each(["a", "A-z_09", "a".repeat(128)])("%p is valid", (token) => {
    expect(ask(`GET ${PATH}${token}`).asked).toEqual([token]);
  });

  test("the query is no part of it", () => {
    expect(ask(`GET ${PATH}${TOKEN}?a=b/c`).got).toStartWith("HTTP/1.1 200 ");
  });
});

describe("step 3: a token that nobody asked for", () => {
  test("is 404 with a body for GET and none for HEAD", () => {
    const get = ask(`GET ${PATH}unknown`).got;
    const head = ask(`HEAD ${PATH}unknown`).got;
    expect(get).toStartWith("HTTP/1.1 404 Not Found\r\n");
    expect(get.split("\r\n\r\n")[1]).not.toBe("");
    expect(head).toStartWith("HTTP/1.1 404 Not Found\r\n");
    expect(head).toEndWith("\r\n\r\n");
  });
});

describe("step 4: a token with an answer", () => {
  test("GET gives the key authorization, HEAD the same head", () => {
    const get = ask(`GET ${PATH}${TOKEN}`).got;
    const head = ask(`HEAD ${PATH}${TOKEN}`).got;
    expect(get).toStartWith("HTTP/1.1 200 OK\r\n");
    expect(get).toContain("\r\nContent-Type: text/plain\r\n");
    expect(get).toContain(`\r\nContent-Length: ${KEY.length}\r\n`);
    expect(get).toEndWith(`\r\n\r\n${KEY}`);
    expect(head).toBe(get.slice(0, -KEY.length));
  });

  test("an absolute-form target is the same", () => {
    expect(ask(`GET http://a.test${PATH}${TOKEN}`).got).toEndWith(KEY);
  });
});

describe("what is no challenge goes its way", () => {
  test.each(["/", "/.well-known/acme-challenge", "/.well-known/acme-challenges/a", "/x/.well-known/acme-challenge/a"])(
    "%s",
    (path) => {
      expect(ask(`GET ${path}`).handled).toEqual([path]);
    },
  );
});
