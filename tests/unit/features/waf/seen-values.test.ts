import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SeenValues } from "../../../../src/features/waf/match/seen-values.ts";
import { WafInspector } from "../../../../src/features/waf/waf-inspector.ts";
import { RequestHead } from "../../../../src/message/request-head.ts";
import { RequestParser } from "../../../../src/proto/h1/request-parser.ts";

const NO_ROUTES = { exactId: () => -1, prefixId: () => -1 };

function headOf(lines: readonly string[]): RequestHead {
  const bytes = Buffer.from(["GET / HTTP/1.1", "Host: a.test", ...lines, "", ""].join("\r\n"), "latin1");
  const head = new RequestHead();
  head.reset(bytes);
  const parser = new RequestParser(bytes.length);
  parser.begin(0);
  expect(parser.parse(bytes, bytes.length, head)).toBe(bytes.length);
  return head;
}

describe("values seen", () => {
  test("are the very same bytes, looked at for the same, and nothing else", () => {
    const text = fc.string({ minLength: 20, maxLength: 600, unit: "binary-ascii" });
    const step = fc.record({ text, kind: fc.integer({ min: 0, max: 3 }), isNoted: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), fc.array(fc.nat(59), { maxLength: 60 }), (steps, again) => {
        const seen = new SeenValues();
        const noted = new Set<string>();
        for (const each of [...steps, ...again.flatMap((i) => steps[i] ?? [])]) {
          const bytes = Buffer.from(`##${each.text}##`, "latin1");
          const has = seen.has(each.kind, bytes, 2, bytes.length - 2);
          if (has) expect(noted.has(`${each.kind} ${each.text}`)).toBe(true);
          if (!each.isNoted) continue;
          seen.note(bytes, 2, bytes.length - 2);
          noted.add(`${each.kind} ${each.text}`);
        }
      }),
      { numRuns: 300 },
    );
  });

  test("are found again", () => {
    const seen = new SeenValues();
    const bytes = Buffer.from("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36");
    expect(seen.has(0, bytes, 0, bytes.length)).toBe(false);
    seen.note(bytes, 0, bytes.length);
    expect([seen.has(0, bytes, 0, bytes.length), seen.has(1, bytes, 0, bytes.length)]).toEqual([true, false]);
    expect(seen.has(0, bytes, 0, bytes.length - 1)).toBe(false);
  });
});

test("an attack as long as a value that passed, alike wherever it is sampled, is found each time", () => {
  const inspector = new WafInspector([], NO_ROUTES);
  const good = "X-Note: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  const bad = "X-Note: ${jndi:ldap://x.y/a}aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
  expect(bad.length).toBe(good.length);
  for (let n = 0; n < 3; n++) {
    expect(inspector.inspect(headOf([good]))).toBe(0);
    expect(inspector.inspect(headOf([bad]))).toBeGreaterThanOrEqual(5);
  }
});

test("what is harmless in one header is still found in another", () => {
  const inspector = new WafInspector([], NO_ROUTES);
  const value = "a=1; b=2; c=3; d=4; e=5 | cat /etc/passwd; f=6; g=7; h=8";
  const scores = () =>
    ["User-Agent", "Cookie", "X-Note"].map((name) => inspector.inspect(headOf([`${name}: ${value}`])));
  expect(scores()).toEqual(scores());
});
