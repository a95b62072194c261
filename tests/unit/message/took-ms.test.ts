import { expect, test } from "bun:test";
import type { Exchange } from "../../../src/message/exchange.ts";
import { servedMs } from "../../../src/message/took-ms.ts";

const served = (hasBody: boolean, bodyEndedMs: number, fromMs: number, headMs: number) =>
  servedMs({ request: { hasBody: () => hasBody }, attempt: { bodyEndedMs } } as Exchange, fromMs, headMs);

test("a server's own time begins when the whole request has gone out; of a response before that it is not known", () => {
  expect(served(false, 0, 100, 130)).toBe(30);
  expect(served(true, 5000, 100, 5030)).toBe(30);
  // The body was there before the attempt began.
  expect(served(true, 50, 100, 130)).toBe(30);
  expect(served(true, 0, 100, 5030)).toBe(-1);
  expect(served(true, 5031, 100, 5030)).toBe(-1);
});
