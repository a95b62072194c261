import { expect, test } from "bun:test";
import fc from "fast-check";
import { TICK_MS, TimerNode, type TimerOwner, TimerWheel, WHEEL_SLOTS } from "../../src/core/timer-wheel.ts";

const TIMERS = 8;
/** A full turn and a little more: the longest delay that needs no second round, and longer ones. */
const LONG_MS = TICK_MS * WHEEL_SLOTS * 2.5;

type Step =
  | { readonly kind: "arm"; readonly timer: number; readonly delayMs: number }
  | { readonly kind: "disarm" | "remove"; readonly timer: number }
  | { readonly kind: "advance"; readonly ms: number };

const timer = fc.integer({ min: 0, max: TIMERS - 1 });
const delayMs = fc.oneof(fc.integer({ min: -100, max: 500 }), fc.integer({ min: 0, max: LONG_MS }), fc.constant(0));
const arm = fc.record({ kind: fc.constant("arm" as const), timer, delayMs });
const drop = fc.record({ kind: fc.constantFrom("disarm" as const, "remove" as const), timer });
const advance = fc.record({
  kind: fc.constant("advance" as const),
  ms: fc.oneof(
    fc.integer({ min: 0, max: 200 }),
    fc.double({ min: 0, max: 3000, noNaN: true }),
    fc.integer({ min: 0, max: LONG_MS }),
  ),
});
const step: fc.Arbitrary<Step> = fc.oneof(arm, arm, drop, advance, advance);
/** What a timer does when it fires. */
const reaction = fc.array(fc.oneof(arm, drop), { maxLength: 3 });

/** The wheel beside a table of deadlines. */
class Run {
  nowMs: number;
  readonly fired: number[] = [];
  private readonly wheel: TimerWheel;
  private readonly nodes: TimerNode[];
  private readonly deadlines: number[] = new Array(TIMERS).fill(0);
  /** The deadline, or the time of arming where the deadline had passed by then. */
  private readonly dueMs: number[] = new Array(TIMERS).fill(0);
  /** Timers that were armed while the wheel advanced: they may wait for the next time. */
  private readonly fresh: Set<number> = new Set();
  private readonly reactions: Step[][];
  private left = 200;

  constructor(startMs: number, reactions: Step[][]) {
    this.nowMs = startMs;
    this.reactions = reactions;
    this.wheel = new TimerWheel(startMs, (error) => {
      throw error;
    });
    this.nodes = Array.from({ length: TIMERS }, (_, i) => new TimerNode(this.holder(i)));
  }

  take(next: Step): void {
    if (next.kind === "advance") {
      this.nowMs += next.ms;
      this.fresh.clear();
      this.wheel.advance(this.nowMs);
      this.expectNoneLate();
      return;
    }
    const node = this.nodes[next.timer]!;
    if (next.kind === "arm") {
      this.deadlines[next.timer] = Math.max(1, this.nowMs + next.delayMs);
      this.dueMs[next.timer] = Math.max(this.nowMs, this.deadlines[next.timer]!);
      this.fresh.add(next.timer);
      this.wheel.arm(node, this.deadlines[next.timer]!);
    } else {
      this.deadlines[next.timer] = 0;
      if (next.kind === "disarm") this.wheel.disarm(node);
      else this.wheel.remove(node);
    }
  }

  get armed(): number {
    return this.deadlines.filter((deadline) => deadline > 0).length;
  }

  private holder(index: number): TimerOwner {
    return {
      onTimer: (nowMs) => {
        const deadline = this.deadlines[index]!;
        expect(nowMs).toBe(this.nowMs);
        // Never unarmed, never early.
        expect(deadline).toBeGreaterThan(0);
        expect(deadline).toBeLessThanOrEqual(nowMs);
        this.deadlines[index] = 0;
        this.fired.push(index);
        if (this.left-- > 0) for (const each of this.reactions[index]!) this.take(each);
      },
    };
  }

  private expectNoneLate(): void {
    for (const [index, deadline] of this.deadlines.entries()) {
      if (deadline === 0 || this.fresh.has(index)) continue;
      expect(this.dueMs[index]!).toBeGreaterThan(this.nowMs - TICK_MS);
    }
  }
}

test("a timer fires never early, at most a tick late, and only while it is armed", () => {
  const reactions = fc.array(reaction, { minLength: TIMERS, maxLength: TIMERS });
  const start = fc.oneof(fc.constant(0), fc.double({ min: 1, max: 1e7, noNaN: true }));
  fc.assert(
    fc.property(start, fc.array(step, { maxLength: 60 }), reactions, (startMs, steps, whatFollows) => {
      const run = new Run(startMs, whatFollows);
      for (const each of steps) run.take(each);
    }),
    { numRuns: 4000 },
  );
});

test("without reactions, all that is armed fires in the end, once", () => {
  fc.assert(
    fc.property(fc.array(arm, { maxLength: 30 }), (arms) => {
      const run = new Run(12_345.6, new Array(TIMERS).fill([]));
      for (const each of arms) run.take(each);
      const armed = run.armed;
      for (let i = 0; i < 4; i++) run.take({ kind: "advance", ms: LONG_MS });
      expect(run.fired.length).toBe(armed);
      expect(new Set(run.fired).size).toBe(armed);
    }),
    { numRuns: 1000 },
  );
});
