import { expect, test } from "bun:test";
import { TokenMemory } from "../../../../../src/features/auth/jwt/token-memory.ts";

function held(memory: TokenMemory<number>, text: string, nowMs = 0): number | null {
  const bytes = Buffer.from(`Bearer ${text} more`);
  return memory.find(bytes, 7, 7 + text.length, nowMs);
}

test("knows a token by its exact bytes, wherever they are, until its end", () => {
  const memory = new TokenMemory<number>();
  memory.keep(Buffer.from("header.payload.signature"), 1, 1000);
  expect(held(memory, "header.payload.signature", 999)).toBe(1);
  expect(held(memory, "header.payload.signature", 1000)).toBeNull();
  // The same end, which is what is hashed.
  expect(held(memory, "headex.payload.signature")).toBeNull();
  expect(held(memory, "eader.payload.signature")).toBeNull();
  expect(held(memory, "xheader.payload.signature")).toBeNull();
  memory.clear();
  expect(held(memory, "header.payload.signature")).toBeNull();
});

test("is bounded in number and in bytes: the oldest go", () => {
  const memory = new TokenMemory<number>();
  for (let i = 0; i < 10_000; i++) memory.keep(Buffer.from(`a.b.${i}`), i, 1);
  expect([held(memory, "a.b.0"), held(memory, "a.b.9999")]).toEqual([null, 9999]);
  for (let i = 0; i < 400; i++) memory.keep(Buffer.from(`${"x".repeat(16_000)}${i}`), i, 1);
  expect(held(memory, "a.b.9999")).toBeNull();
  expect([held(memory, `${"x".repeat(16_000)}0`), held(memory, `${"x".repeat(16_000)}399`)]).toEqual([null, 399]);
});

test("a token that is kept again counts once", () => {
  const memory = new TokenMemory<number>();
  for (let i = 0; i < 20_000; i++) memory.keep(Buffer.from("same.token.each"), i, 1);
  memory.keep(Buffer.from("another.token.x"), 7, 1);
  expect([held(memory, "same.token.each"), held(memory, "another.token.x")]).toEqual([19_999, 7]);
});
