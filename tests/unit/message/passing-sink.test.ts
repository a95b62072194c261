import { expect, test } from "bun:test";
import type { Exchange, ResponseSink } from "../../../src/message/exchange.ts";
import { PassingSink } from "../../../src/message/passing-sink.ts";

const ex = {} as Exchange;

class Watching extends PassingSink {
  passes = false;

  protected override get passesBody(): boolean {
    return this.passes;
  }
}

test("a file is sent past a sink that lets bodies pass, and read for all others", () => {
  const asked: number[][] = [];
  const inner = { file: (_ex: Exchange, ...rest: number[]) => asked.push(rest) && 7 } as unknown as ResponseSink;
  class Plain extends PassingSink {}
  expect(new Plain(inner).file(ex, 3, 0, 10)).toBe(-1);
  const outer = new Watching(new Watching(inner));
  expect(outer.file(ex, 3, 0, 10)).toBe(-1);
  outer.passes = true;
  expect(outer.file(ex, 3, 0, 10)).toBe(-1);
  expect(asked).toEqual([]);
  const direct = new Watching(inner);
  direct.passes = true;
  expect(direct.file(ex, 3, 0, 10)).toBe(7);
  expect(asked).toEqual([[3, 0, 10]]);
  const without = new Watching({} as ResponseSink);
  without.passes = true;
  expect(without.file(ex, 3, 0, 10)).toBe(-1);
});
