import { describe, expect, test } from "bun:test";
import { ASK, FleetBuckets, type FleetKey, FleetRate } from "../../../../src/features/limit/fleet-buckets.ts";
import type { BucketCall, BucketReplies } from "../../../../src/message/bucket-call.ts";

/** Ten an hour: nothing comes while a test runs. */
const RATE = new FleetRate(10, 3_600_000, 10);

/** Buckets of one worker of four, with a store that answers when it is told to. */
class Bench {
  nowMs = 0;
  readonly asked: { readonly calls: readonly BucketCall[]; readonly answer: (replies: BucketReplies) => void }[] = [];
  readonly counts = { wait: 0, alone: 0 };
  readonly buckets: FleetBuckets;
  private works: { readonly atMs: number; readonly work: () => void }[] = [];

  constructor() {
    this.buckets = new FleetBuckets({
      nowMs: () => this.nowMs,
      later: (work, afterMs) => void this.works.push({ atMs: this.nowMs + afterMs, work }),
      ask: (calls, answer) => void this.asked.push({ calls, answer }),
      count: (what) => void this.counts[what]++,
    });
    this.buckets.use(true, 4, 1, 200);
  }

  key(text: string): FleetKey {
    const key = this.buckets.keyFor("test");
    key.hash(Buffer.from(text), 0, text.length);
    return key;
  }

  /** Lets so much time pass. */
  pass(ms: number): void {
    this.nowMs += ms;
    const due = this.works.filter(({ atMs }) => atMs <= this.nowMs);
    this.works = this.works.filter(({ atMs }) => atMs > this.nowMs);
    for (const { work } of due) work();
  }

  /** Takes a token, and waits where that must be; what was decided comes into the list. */
  take(key: FleetKey, decided: number[]): void {
    const waitMs = this.buckets.take(key, RATE, this.nowMs);
    if (waitMs !== ASK) decided.push(waitMs);
    else expect(this.buckets.wait(key, (afterMs) => decided.push(afterMs))).toBe(true);
  }
}

describe("buckets of a fleet", () => {
  test("the first request of a client goes on at once, and the store is told of it", () => {
    const bench = new Bench();
    const decided: number[] = [];
    bench.take(bench.key("a"), decided);
    expect([decided, bench.asked.length]).toEqual([[0], 0]);
    bench.pass(20);
    expect(bench.asked[0]!.calls).toMatchObject([{ spent: 1, want: 0 }]);
  });

  test("what comes before the store has answered waits, and all who wait are asked for at once", () => {
    const bench = new Bench();
    const decided: number[] = [];
    const key = bench.key("a");
    for (let i = 0; i < 4; i++) bench.take(key, decided);
    bench.pass(0);
    expect(bench.asked[0]!.calls).toMatchObject([{ spent: 1, want: 3 }]);
    bench.asked[0]!.answer([{ granted: 2, left: 0, waitMs: 360_000 }]);
    expect(decided).toEqual([0, 0, 0, 360_000]);
    expect(bench.counts).toEqual({ wait: 3, alone: 0 });
  });

  test("a part of the store that does not answer is the matter of its own buckets", () => {
    const bench = new Bench();
    const [one, other]: [number[], number[]] = [[], []];
    const keys = [bench.key("a"), bench.key("b")] as const;
    for (const [key, decided] of [
      [keys[0], one],
      [keys[1], other],
    ] as const)
      for (let i = 0; i < 2; i++) bench.take(key, decided);
    bench.pass(0);
    expect(bench.asked[0]!.calls.length).toBe(2);
    bench.asked[0]!.answer([{ granted: 1, left: 8, waitMs: 0 }, null]);
    expect([one, other]).toEqual([
      [0, 0],
      [0, ASK],
    ]);
    // It is told again of what it has not confirmed, the other is not.
    bench.take(keys[1], other);
    bench.pass(20);
    expect(bench.asked[1]!.calls).toMatchObject([{ spent: 1 }]);
  });

  test("a store that is late is told of what was let in without it", () => {
    const bench = new Bench();
    const decided: number[] = [];
    const key = bench.key("a");
    for (let i = 0; i < 2; i++) bench.take(key, decided);
    bench.pass(0);
    bench.pass(200);
    expect(decided).toEqual([0, ASK]);
    bench.buckets.letIn(key);
    bench.asked[0]!.answer([{ granted: 0, left: 9, waitMs: 0 }]);
    bench.pass(20);
    expect(bench.asked[1]!.calls).toMatchObject([{ spent: 1 }]);
  });

  test("no more than 1024 wait", () => {
    const bench = new Bench();
    const key = bench.key("a");
    bench.buckets.take(key, RATE, 0);
    for (let i = 0; i < 1024; i++) expect(bench.buckets.wait(key, () => {})).toBe(true);
    expect(bench.buckets.wait(key, () => {})).toBe(false);
  });
});
