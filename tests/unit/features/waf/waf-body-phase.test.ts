import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { NormalizePhase } from "../../../../src/features/ingest/normalize.ts";
import { BODY_BLOCK_BYTES } from "../../../../src/memory/body-budget.ts";
import { type Phase, Verdict } from "../../../../src/message/exchange.ts";
import { Framing } from "../../../../src/message/request-head.ts";
import { RouteKind } from "../../../../src/message/route.ts";
import { budgetOf, SILENT, takenOf } from "../ingest/body-route.ts";
import { BodyScript } from "./body-script.ts";

const ATTACK = '{"q":"<script>alert(1)</script>"}';
const BENIGN = '{"q":"select a plan"}';

describe("a body", () => {
  test("that is benign goes on as it came, and the client is asked for it first", () => {
    const script = new BodyScript().play([BENIGN]);
    expect([script.text, script.ends, script.faults, script.incidents]).toEqual([BENIGN, 1, [], []]);
    expect(script.events).toEqual(["wanted", "arrived"]);
    expect(takenOf(script.budget)).toBe(0);
  });

  test.each([[[ATTACK]], [[ATTACK.slice(0, 9), ATTACK.slice(9)]], [[...ATTACK]]])(
    "that scores is refused, and nobody sees a byte of it: %j",
    (pieces) => {
      const script = new BodyScript().play(pieces);
      expect([script.faults, script.hasArrived, script.text]).toEqual([[Fault.WafBlocked], false, ""]);
      expect(script.incidents).toMatchObject([{ category: "xss", action: "blocked", location: "body q" }]);
      expect(takenOf(script.budget)).toBe(0);
    },
  );

  test("that scores is only reported in detection mode", () => {
    const script = new BodyScript({ settings: { mode: "detection" } }).play([ATTACK]);
    expect([script.text, script.ends, script.faults]).toEqual([ATTACK, 1, []]);
    expect(script.incidents).toMatchObject([{ action: "logged" }]);
    expect(script.ex.wafScore).toBeGreaterThanOrEqual(5);
  });

  test("adds its score to what the head scored", () => {
    const settings = { anomalyThreshold: 8 };
    const script = new BodyScript({ settings });
    script.play(['["\' or 1=1 --"]']);
    expect(script.faults).toEqual([]);
    const scored = script.incidents[0]!.anomalyScore;
    expect(scored).toBeLessThan(8);
    const both = new BodyScript({ settings });
    both.ex.request.targetFrom = 5;
    // The head is looked at again where it has scored; here there is nothing in it any more.
    both.ex.wafScore = 5;
    both.play(['["\' or 1=1 --"]']);
    expect(both.faults).toEqual([]);
  });

  test("of a client that is allowed is not looked at", () => {
    const script = new BodyScript({ allowedIps: { has: () => true } }).play([ATTACK]);
    expect([script.text, script.events]).toEqual([ATTACK, ["arrived"]]);
  });

  test.each([
    ["application/json", { kind: RouteKind.Static }],
    ["application/json", { kind: RouteKind.BuiltIn }],
  ])("of type %s for a route %j passes without being held", (type, route) => {
    const script = new BodyScript({ type, route });
    script.start();
    expect(script.events).toEqual(["arrived"]);
  });

  test("is not awaited where there is none", () => {
    const script = new BodyScript();
    script.ex.request.framing = Framing.None;
    script.start();
    expect(script.events).toEqual(["arrived"]);
  });

  test("may be empty", () => {
    const script = new BodyScript().play([]);
    expect([script.text, script.ends, script.faults]).toEqual(["", 1, []]);
  });
});

describe("holding", () => {
  const LIMIT = 100;
  const settings = { maxInspectBodyBytes: LIMIT };

  test("ends at the limit, with the client stopped until the taker has taken what was held", () => {
    const script = new BodyScript({ settings, pauses: [true] });
    script.start();
    script.send(`["${"a".repeat(90)}`);
    expect([script.hasArrived, script.isClientPaused]).toEqual([false, false]);
    script.send("b".repeat(40));
    expect([script.hasArrived, script.isClientPaused, script.pieces.length]).toEqual([true, true, 1]);
    script.wake();
    expect([script.isClientPaused, takenOf(script.budget)]).toEqual([false, 0]);
    script.send("c");
    script.end();
    expect(script.text).toBe(`["${"a".repeat(90)}${"b".repeat(40)}c`);
    expect(script.ends).toBe(1);
  });

  test("looks at no byte beyond the limit", () => {
    const pad = `["${"a".repeat(LIMIT - 2)}`;
    for (const pieces of [
      [pad + ATTACK],
      [pad.slice(0, 50), pad.slice(50) + ATTACK],
      [pad.slice(0, -1), "a", ATTACK],
      [...pad, ATTACK],
    ]) {
      const script = new BodyScript({ settings }).play(pieces);
      expect([script.faults, script.text]).toEqual([[], pad + ATTACK]);
    }
    expect(new BodyScript({ settings }).play([`["${"a".repeat(50)}"`, ATTACK]).faults).toEqual([Fault.WafBlocked]);
  });

  test("takes memory from the budget while pieces are missing, and none for a body of one piece", () => {
    const script = new BodyScript();
    script.start();
    script.send("[1,");
    // The buffer has room for as much again.
    expect(takenOf(script.budget)).toBe(6);
    script.send("2".repeat(BODY_BLOCK_BYTES));
    expect(takenOf(script.budget)).toBe(2 * (BODY_BLOCK_BYTES + 3));
    script.send("]", true);
    script.end();
    expect([takenOf(script.budget), script.text.length]).toEqual([0, BODY_BLOCK_BYTES + 4]);
    const whole = new BodyScript({ budget: budgetOf(0) });
    whole.start();
    whole.send(BENIGN, true);
    whole.end();
    expect([whole.text, whole.faults]).toEqual([BENIGN, []]);
  });

  test("is refused where the budget is used up", () => {
    const script = new BodyScript({ budget: budgetOf(1) });
    script.play(["[", "1".repeat(BODY_BLOCK_BYTES), "]"]);
    expect([script.faults, takenOf(script.budget)]).toEqual([[Fault.BuffersFull], 0]);
  });

  test("is given up when the client does", () => {
    const script = new BodyScript();
    script.start();
    script.send("[1,");
    script.ex.body.onBodyFault(script.ex, Fault.BodyTruncated);
    expect([script.hasArrived, takenOf(script.budget)]).toEqual([false, 0]);
    // Whatever is told late finds nothing to do.
    script.ex.body.onBody(script.ex, Buffer.from("2]"), 0, 2);
    script.ex.body.onBodyEnd(script.ex);
    expect([script.hasArrived, takenOf(script.budget)]).toEqual([false, 0]);
  });

  test("goes on into a buffer that takes the whole body", () => {
    const budget = budgetOf(64);
    const script = new BodyScript({ settings, budget, behind: [new NormalizePhase(budget, SILENT)] });
    const text = `["${"a".repeat(300)}"]`;
    script.start();
    for (let at = 0; at < text.length; at += 30) script.send(text.slice(at, at + 30));
    expect(script.hasArrived).toBe(false);
    script.end();
    expect([script.text, script.ends, script.ex.request.contentLength]).toEqual([text, 1, text.length]);
    expect(takenOf(budget)).toBe(0);
  });

  test("of a whole body is enough: a chunked one goes on with its length, and is not held a second time", () => {
    for (const text of ["[1,2]", ""]) {
      const script = new BodyScript({ behind: [new NormalizePhase(budgetOf(0), SILENT)] }).play([text]);
      const { framing, contentLength } = script.ex.request;
      expect([script.text, script.faults, framing, contentLength]).toEqual([text, [], Framing.Length, text.length]);
    }
  });

  test("counts while whoever takes the body does not take it yet", () => {
    const waits: Phase = { name: "waits", needsBody: true, run: () => Verdict.Wait };
    const script = new BodyScript({ behind: [waits] });
    script.play([BENIGN]);
    expect(takenOf(script.budget)).toBeGreaterThanOrEqual(BENIGN.length);
    script.over();
    expect(takenOf(script.budget)).toBe(0);
    expect(new BodyScript({ behind: [waits], budget: budgetOf(0) }).play([BENIGN]).faults).toEqual([Fault.BuffersFull]);
  });

  test("gives its memory back when the buffer behind it is full", () => {
    const budget = budgetOf(1);
    const script = new BodyScript({ settings, budget, behind: [new NormalizePhase(budgetOf(0), SILENT)] });
    script.play(['["a', "a".repeat(200), "a".repeat(200), '"]']);
    expect([script.faults, takenOf(budget)]).toEqual([[Fault.BuffersFull], 0]);
  });
});
