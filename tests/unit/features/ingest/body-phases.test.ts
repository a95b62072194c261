import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { BodyLimitPhase } from "../../../../src/features/ingest/body-limit.ts";
import { NormalizePhase } from "../../../../src/features/ingest/normalize.ts";
import { type Exchange, Pipeline, Verdict } from "../../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../../src/message/idle-ports.ts";
import { Framing } from "../../../../src/message/request-head.ts";
import { ChunkedMode, RouteKind } from "../../../../src/message/route.ts";
import { bodyRoute, budgetOf, chunkedExchange, phase, type RouteFacts, SILENT, takenOf } from "./body-route.ts";

/** The verdict of the body limit and the faults that the exchange is refused with. */
function limited(facts: RouteFacts, framing: Framing, contentLength = 0): [Verdict, ...Fault[]] {
  const faults: Fault[] = [];
  const ex = chunkedExchange(bodyRoute(facts));
  ex.request.framing = framing;
  ex.request.contentLength = contentLength;
  ex.sink = { ...IDLE.sink, abort: (_ex, fault) => void faults.push(fault) };
  return [new BodyLimitPhase().run(ex), ...faults];
}

describe("the body limit", () => {
  test.each([
    ["no body", 5, Framing.None, 0, true],
    ["a body of the limit", 5, Framing.Length, 5, true],
    ["one byte more", 5, Framing.Length, 6, false],
    ["2^53-1", 5, Framing.Length, Number.MAX_SAFE_INTEGER, false],
    ["any length where there is no limit", 0, Framing.Length, Number.MAX_SAFE_INTEGER, true],
    ["a chunked body, whose length nobody knows yet", 5, Framing.Chunked, 0, true],
  ])("%s", (_name, maxBodyBytes, framing, length, passes) => {
    const expected = passes ? [Verdict.Next] : [Verdict.Done, Fault.BodyTooLarge];
    expect(limited({ maxBodyBytes }, framing, length)).toEqual(expected as [Verdict, ...Fault[]]);
  });

  test("is known to the exchange: the decoder asks for it", () => {
    const ex = chunkedExchange(bodyRoute({ maxBodyBytes: 77 }));
    new BodyLimitPhase().run(ex);
    expect(ex.maxBodyBytes).toBe(77);
  });

  test("refuses chunked bodies where the route does", () => {
    expect(limited({ mode: ChunkedMode.Reject }, Framing.Chunked)).toEqual([Verdict.Done, Fault.ChunkedDisabled]);
    expect(limited({ mode: ChunkedMode.Reject }, Framing.Length, 5)).toEqual([Verdict.Next]);
    expect(limited({ mode: ChunkedMode.Passthrough }, Framing.Chunked)).toEqual([Verdict.Next]);
  });
});

describe("normalising", () => {
  const budget = budgetOf(4);
  const normalize = new NormalizePhase(budget, SILENT);

  test.each<[string, RouteFacts, Framing, Verdict]>([
    ["a chunked body for an upstream waits", {}, Framing.Chunked, Verdict.Wait],
    ["a counted body goes on", {}, Framing.Length, Verdict.Next],
    ["no body goes on", {}, Framing.None, Verdict.Next],
    ["passthrough goes on", { mode: ChunkedMode.Passthrough }, Framing.Chunked, Verdict.Next],
    ["a static route goes on", { kind: RouteKind.Static }, Framing.Chunked, Verdict.Next],
    ["a built-in endpoint goes on", { kind: RouteKind.BuiltIn }, Framing.Chunked, Verdict.Next],
  ])("%s", (_name, facts, framing, expected) => {
    const ex = chunkedExchange(bodyRoute(facts));
    ex.request.framing = framing;
    expect(normalize.run(ex)).toBe(expected);
    ex.release();
  });

  test("asks the client for the body once all phases before have passed", () => {
    const ex = chunkedExchange(bodyRoute());
    let wanted = 0;
    ex.sink = { ...IDLE.sink, wantBody: () => void wanted++ };
    normalize.run(ex);
    expect(wanted).toBe(1);
    ex.release();
  });

  test.each([
    ["", Framing.Length],
    ["hello", Framing.Length],
  ])("makes a request with the exact length of %j", (text, framing) => {
    const ex = chunkedExchange(bodyRoute());
    let reached: Exchange | null = null;
    const last = phase((at) => {
      reached = at;
    });
    ex.pipeline = new Pipeline([normalize, last], [], []);
    ex.pipeline.start(ex);
    expect(reached).toBeNull();
    const bytes = Buffer.from(text);
    if (bytes.length > 0) ex.body.onBody(ex, bytes, 0, bytes.length);
    ex.body.onBodyEnd(ex);
    expect(reached).toBe(ex as never);
    expect([ex.request.framing, ex.request.contentLength]).toEqual([framing, text.length]);
    ex.release();
    expect(takenOf(budget)).toBe(0);
  });
});
