// docs/routing.md#rewrite
import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { PathRewrite } from "../../../../src/features/rewrite/path-rewrite.ts";
import { rewritten } from "./rewritten-request.ts";

const plain = (path: string) => new PathRewrite({ path, regex: "", to: "" });
const expression = (regex: string, to: string) => new PathRewrite({ path: "", regex, to });

describe("a path", () => {
  test.each([
    ["/new{rest}", "/app/a/b?q=1", "/new/a/b"],
    ["/new{rest}", "/app", "/new/"],
    ["/new{rest}", "/app//a//b", "/new/a//b"],
    ["/new{rest}", "/app/%2fhost/%C3%BC", "/new/host/%C3%BC"],
    ["/new{path}", "/app/x", "/new/app/x"],
    ["/{rest}", "/app/host/x", "/host/x"],
    ["{rest}", "/app/x", "/x"],
    ["/fixed", "/app/x", "/fixed"],
    ["/q/{query.a}", "/app?a=b/c%3f%23%0d%0a%20d", "/q/b%2Fc%3F%23%0D%0A%20d"],
    ["/c/{cookie.c}/e", "/app", "/c//e"],
  ])("%s of %s: %s", (template, target, path) => {
    expect(rewritten(plain(template), target, "/app").path).toBe(path);
  });

  test("dots that a value makes are refused, however often an origin decodes", () => {
    for (const value of ["..", ".", "%2e%2e", "..%3bx", "%252e%252e", "..%2f..%2fetc", "a%5C..%5Cb", "%2e."]) {
      expect(rewritten(plain("/new/{query.a}/x"), `/app?a=${value}`, "/app").path).toBe(Fault.BadTarget);
    }
    expect(rewritten(plain("/new/{query.a}{query.b}"), "/app?a=.&b=.", "/app").path).toBe(Fault.BadTarget);
    expect(rewritten(plain("/new/a{query.a}"), "/app?a=..", "/app").path).toBe("/new/a..");
  });

  test("a value that makes the path longer than a request line is refused", () => {
    const target = `/app?a=${"%25".repeat(2600)}`;
    expect(rewritten(plain("/{query.a}{query.a}"), target, "/app").path).toBe(Fault.RequestLineTooLong);
  });
});

describe("an expression", () => {
  test.each([
    ["^/old/(.*)$", "/new/{match.1}", "/old/a/b?x=/old/", "/new/a/b"],
    ["^/old/(.*)$", "/new/{match.1}", "/%6fld/a%20b", "/new/a%20b"],
    ["^/old/(.*)$", "/new/{match.1}", "/x/../old/a%2fb", "/new/a/b"],
    ["^/old/(.*)$", "/new/{match.1}", "/old\\a\\b", "/new/a/b"],
    ["^/old/(.*)$", "/new/{match.1}", "/old/100%25/%3Fq%23f", "/new/100%25/%3Fq%23f"],
    ["^/old/(.*)$", "/new/{match.1}", "/old/a%2541", "/new/a%2541"],
    ["^/old/(.*)$", "/new/{match.1}", "/old/%C3%BC%ff", "/new/%C3%BC%FF"],
    ["^/old/(.*)$", "/{match.1}", "/old//host/x", "/host/x"],
    ["^/(\\d+)/(.)(.)?$", "/v/{match.3}{match.2}/{match.1}", "/17/a", "/v/a/17"],
    ["(?i)/ITEM/(\\d+)", "/i/{match.1}", "/shop/item/42/more", "/i/42"],
    ["^/m.nchen$", "/x", "/m%C3%BCnchen", "/x"],
    ["^/old/(.*)$", "/new/{match.1}", "/older/a", null],
  ])("%s to %s of %s: %s", (regex, to, target, path) => {
    expect(rewritten(expression(regex, to), target, "/").path).toBe(path);
  });

  test("dots of two groups make no segment", () => {
    expect(rewritten(expression("^/a(.)(.)b$", "/{match.1}{match.2}/x"), "/a..b", "/").path).toBe(Fault.BadTarget);
  });

  test("what its groups have found is there for others, percent-encoded; nothing where it does not fit", () => {
    const found = rewritten(expression("^/old/(.*)$", "/new"), "/old/a%20b%25", "/");
    expect(found.captures).toEqual(["/old/a%20b%25", "a%20b%25"]);
    expect(rewritten(expression("^/old/(.*)$", "/new"), "/x", "/").captures).toBeNull();
  });
});
