import { describe, expect, test } from "bun:test";
import { Exchange, type Phase, Pipeline, type ResponseTap, Verdict } from "../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../src/message/idle-ports.ts";
import { PrebuiltResponse } from "../../../src/message/prebuilt-response.ts";

function phases(log: string[], verdicts: Readonly<Record<string, Verdict>>): Phase[] {
  return Object.entries(verdicts).map(([name, verdict]) => ({
    name,
    run() {
      log.push(name);
      return verdict;
    },
  }));
}

describe("the way down", () => {
  test("ends where a phase is done", () => {
    const log: string[] = [];
    const line = phases(log, { a: Verdict.Next, b: Verdict.Done, c: Verdict.Next });
    new Pipeline(line, [], []).start(new Exchange(IDLE));
    expect(log).toEqual(["a", "b"]);
  });

  test("goes on behind the phase that waited", () => {
    const log: string[] = [];
    const line = phases(log, { a: Verdict.Next, b: Verdict.Wait, c: Verdict.Next, d: Verdict.Done });
    const pipeline = new Pipeline(line, [], []);
    const ex = new Exchange(IDLE);
    pipeline.start(ex);
    expect(log).toEqual(["a", "b"]);
    pipeline.resume(ex);
    expect(log).toEqual(["a", "b", "c", "d"]);
  });

  test("may end without anybody being done", () => {
    const log: string[] = [];
    new Pipeline(phases(log, { a: Verdict.Next }), [], []).start(new Exchange(IDLE));
    expect(log).toEqual(["a"]);
  });

  test("begins anew for each exchange", () => {
    const log: string[] = [];
    const pipeline = new Pipeline(phases(log, { a: Verdict.Next, b: Verdict.Done }), [], []);
    const ex = new Exchange(IDLE);
    pipeline.start(ex);
    pipeline.start(ex);
    expect(log).toEqual(["a", "b", "a", "b"]);
  });
});

describe("the way up", () => {
  test("passes the taps in order, prebuilt replies only those that look at them", () => {
    const log: string[] = [];
    const plain: ResponseTap = {
      name: "x",
      onHead: () => void log.push("x head"),
      onEnd: () => void log.push("x end"),
    };
    const curious: ResponseTap = {
      name: "y",
      onHead: () => void log.push("y head"),
      onFixed: (_ex, reply) => void log.push(`y ${reply.status}`),
      onEnd: () => void log.push("y end"),
    };
    const pipeline = new Pipeline([], [plain, curious], [curious, plain]);
    const ex = new Exchange(IDLE);
    pipeline.onHead(ex);
    pipeline.onFixed(ex, new PrebuiltResponse(204, [], ""));
    pipeline.onEnd(ex);
    expect(log).toEqual(["x head", "y head", "y 204", "y end", "x end"]);
  });
});
