import { describe, expect, test } from "bun:test";
import { StepBudget, WAF_LEAST_BYTES, WAF_STEPS_PER_BYTE } from "../../../../src/features/waf/match/step-budget.ts";
import { WafInspector } from "../../../../src/features/waf/waf-inspector.ts";
import { HOSTILE_PLACES, headOf, repeated } from "../../../harness/hostile-values.ts";
import { inspectWhole } from "../../../harness/waf-bodies.ts";
import { NO_ROUTES } from "./vector-request.ts";

describe("a budget of steps", () => {
  test("grows with what is inspected, and a short request has that of a longer one", () => {
    const steps = new StepBudget();
    steps.begin(10);
    expect(steps.take(WAF_STEPS_PER_BYTE * WAF_LEAST_BYTES)).toBe(true);
    expect([steps.take(1), steps.isSpent]).toEqual([false, true]);
    steps.begin(2 * WAF_LEAST_BYTES);
    expect(steps.take(2 * WAF_STEPS_PER_BYTE * WAF_LEAST_BYTES)).toBe(true);
  });

  for (const { name, maxBytes, request } of HOSTILE_PLACES.filter((place) => place.name !== "pairs")) {
    test(`that is spent in ${name} scores, is told once an inspection, and stops it`, () => {
      let told = 0;
      const steps = new StepBudget(1 / 64);
      const inspector = new WafInspector([], NO_ROUTES, [], steps, () => told++);
      const { head, body } = request(repeated("/*'*/;cat a;<a b=1>${a}{{select select.a from b(", maxBytes));
      const score = inspector.inspect(head);
      if (body.length > 0) inspectWhole(inspector, head, score, body);
      expect(inspector.findings.rules().map(({ id }) => id)).toContain("PROTOCOL-007");
      expect(inspector.findings.score).toBeGreaterThanOrEqual(5);
      expect(told).toBe(1);
      expect(steps.taken).toBeLessThan(40 * maxBytes);
    });
  }
});

/** What the worst of the hostile bodies takes, docs/security.md#the-cost-of-inspection */
const WORST_KNOWN_STEPS = 120;

describe("a path, whose segments are examined with those behind them", () => {
  const inspect = (target: string): { ids: readonly string[]; perByte: number } => {
    const steps = new StepBudget();
    const inspector = new WafInspector([], NO_ROUTES, [], steps);
    inspector.inspect(headOf(target, []));
    return { ids: inspector.findings.rules().map(({ id }) => id), perByte: steps.taken / target.length };
  };

  test.each(["&/", "/a&", "/a=b&", "('/", "x//", "/*", "/%2f'", "/a=b;", "//", "/"])(
    "costs a bounded number of steps a byte: %s",
    (unit) => {
      const { ids, perByte } = inspect(`/${unit.repeat(8000 / unit.length)}`);
      expect(perByte).toBeLessThan(WORST_KNOWN_STEPS);
      expect(ids).toEqual(/^\/+$/.test(unit) ? [] : expect.arrayContaining(["PROTOCOL-007"]));
    },
  );

  test("a hundred marked segments, and any number of slashes, are ordinary", () => {
    for (const target of ["/a;b=1".repeat(100), `${"/".repeat(4000)}x`, "//x".repeat(100)])
      expect(inspect(target).ids).toEqual([]);
  });

  test("a file's name behind many slashes is found", () => {
    expect(inspect(`/x${"/".repeat(200)}etc/passwd`).ids).not.toEqual([]);
  });
});

describe("what costs more than its bytes", () => {
  const inspect = (type: string, body: Buffer): { ids: readonly string[]; isSpent: boolean } => {
    const steps = new StepBudget();
    const inspector = new WafInspector([], NO_ROUTES, [], steps);
    inspectWhole(inspector, headOf("/x", [`Content-Type: ${type}`]), 0, body);
    return { ids: inspector.findings.rules().map(({ id }) => id), isSpent: steps.isSpent };
  };

  test("is counted: thousands of messages that say that they are compressed", () => {
    const { ids, isSpent } = inspect("application/grpc", Buffer.alloc(65_536, Buffer.from([1, 0, 0, 0, 1, 0x61])));
    expect([ids, isSpent]).toEqual([["PROTOCOL-007"], true]);
  });

  test("is not spent by some hundred of them, or by thousands of parts and runs of text", () => {
    const message = Buffer.concat([Buffer.from([1, 0, 0, 1, 94]), Buffer.alloc(350, "x")]);
    const parts = Buffer.alloc(65_536, "--B\r\n\r\n");
    const runs = Buffer.alloc(65_536, "\0\x05' or \x01");
    expect(inspect("application/grpc", Buffer.alloc(65_536, message)).isSpent).toBe(false);
    expect(inspect("multipart/form-data; boundary=B", parts).isSpent).toBe(false);
    expect(inspect("application/x-protobuf", runs).isSpent).toBe(false);
  });
});
