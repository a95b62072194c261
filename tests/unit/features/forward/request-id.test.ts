import { expect, test } from "bun:test";
import { RequestIds } from "../../../../src/features/forward/forward-head.ts";
import { forwardExchange, headOf } from "./forward-exchange.ts";

const NOW_MS = 0x0123456789ab;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/** The id that a request gets whose X-Request-Id fields are these. */
function idOf(...values: readonly string[]): string {
  const lines = values.map((value) => `X-Request-Id: ${value}\r\n`).join("");
  const ex = forwardExchange(headOf(`GET / HTTP/1.1\r\nHost: a\r\n${lines}\r\n`));
  ex.response.requestIdEnd = 0;
  new RequestIds({ nowMs: NOW_MS }).assign(ex);
  return ex.response.requestId();
}

test.each(["a", "0", "A-b_c.9", "x".repeat(128)])("the client's id %s is kept", (id) => {
  expect(idOf(id)).toBe(id);
});

test.each(["", "x".repeat(129), "a b", "a,b", "a/b", 'a"', "caf\xe9", "a\tb", "a;b"])(
  "the client's id %j gives way to a new one",
  (id) => {
    expect(idOf(id)).toMatch(UUID_V7);
  },
);

test("a new id begins with the time", () => {
  expect(idOf().slice(0, 13)).toBe("01234567-89ab");
});

test("new ids differ, also when the random bytes have to be taken anew", () => {
  const ids = new RequestIds({ nowMs: NOW_MS });
  const ex = forwardExchange(headOf("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  const seen = new Set<string>();
  for (let i = 0; i < 2000; i++) {
    ex.response.requestIdEnd = 0;
    ids.assign(ex);
    expect(ex.response.requestId()).toMatch(UUID_V7);
    seen.add(ex.response.requestId());
  }
  expect(seen.size).toBe(2000);
});

test("a request that has an id keeps it", () => {
  const ids = new RequestIds({ nowMs: NOW_MS });
  const ex = forwardExchange(headOf("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
  const first = ids.idOf(ex);
  ids.assign(ex);
  expect([first, ids.idOf(ex)]).toEqual([expect.stringMatching(UUID_V7), first]);
});
