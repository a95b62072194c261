import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { compileFilter } from "../../../../src/features/telemetry/line-filter.ts";
import { fakeExchange, fakeRoute } from "./exchange-fake.ts";

const { ex } = fakeExchange({
  target: "/shop/cart?id=1",
  method: "POST",
  headers: [
    ["Host", "Shop.Example.com"],
    ["User-Agent", "curl/8.5"],
  ],
  client: "192.0.2.9",
});
ex.route = fakeRoute("/shop");
ex.startedMs = 1000;
ex.endedMs = 2500;
ex.response.status = 503;
ex.sentBytes = 2048;

const fits = (source: string): boolean => {
  const filter = compileFilter(source);
  if (typeof filter !== "function") throw new Error(filter.fault);
  return filter(ex);
};

describe("a filter of access lines", () => {
  test.each([
    ["status >= 400 or duration > 1s", true],
    ["status >= 400 and duration > 2s", false],
    ["status = 503", true],
    ["status==503 && method==POST", true],
    ["!(status == 503) || method != GET", true],
    ["not status = 503 or not method = POST", false],
    ["not (status = 503 and method = POST) or path = /shop/cart", true],
    ["duration > 1500ms", false],
    ["duration >= 1500ms and duration_ms < 1501", true],
    ["duration > 1", true],
    ["bytes_out >= 2KiB and bytes_out < 2049", true],
    ['path = "/shop/*" and query = "id=1"', true],
    ['path = "*cart" and path != "/shop"', true],
    ['path = "*op/c*"', true],
    ["host = shop.example.com", true],
    ['user_agent = "curl*"', true],
    ['referer = ""', true],
    ["route = /shop and client_ip = 192.0.2.9", true],
    ['fault = "" and upstream = ""', true],
    ["protocol = HTTP/1.1", true],
    ["status = 200 or status = 404 and method = POST", false],
  ])("%s is %p", (source, expected) => {
    expect(fits(source)).toBe(expected);
  });

  test.each([
    ["", 0, "expected a field, such as status, found the end"],
    ["status", 6, "expected a comparison: =, !=, <, <=, > or >=, found the end"],
    ["status >", 8, "expected a value, found the end"],
    ["status > 400 or", 15, "expected a field, such as status, found the end"],
    ["status > 400 500", 13, 'expected and, or, or the end, found "500"'],
    ["stauts > 400", 0, 'expected a field of the access log, found "stauts" (did you mean "status"?)'],
    ["path > /x", 5, 'expected = or != after path, found ">"'],
    ["status > 1s", 9, 'expected a number beside status, found "1s"'],
    ["duration > fast", 11, 'expected a time such as 250ms or 1s beside duration, found "fast"'],
    ["(status > 400", 13, 'expected ")", found the end'],
    ['path = "/x', 7, 'expected a second " at the end of the text'],
    [`${"(".repeat(40)}status = 1`, 32, "expected at most 32 parentheses within each other, found "],
    [`path = "${"x".repeat(1100)}"`, 1024, "expected at most 1024 characters"],
  ])("%s is refused at its character", (source, at, fault) => {
    expect(compileFilter(source)).toEqual({ at, fault: expect.stringContaining(fault) });
  });

  test("any text is a filter, or has a fault within it; what it costs is bounded", () => {
    const words = fc.constantFrom(
      "status",
      "path",
      "duration",
      "host",
      "and",
      "or",
      "not",
      "(",
      ")",
      "=",
      "!=",
      "<",
      "1s",
      "404",
      '"a*"',
      "'",
      "&&",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(words).map((all) => all.join(" ")),
        ),
        (source) => {
          const filter = compileFilter(source);
          if (typeof filter === "function") expect(typeof filter(ex)).toBe("boolean");
          else expect(filter.at).toBeLessThanOrEqual(source.length);
        },
      ),
    );
  });
});
