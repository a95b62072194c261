import { afterEach, expect, jest, test } from "bun:test";
import {
  type RunLock,
  type RunOutcome,
  type ScheduledEvent,
  ScheduledFunctions,
  type ScheduledJob,
} from "../../../../../src/features/functions/control/scheduled-functions.ts";

const START = Date.UTC(2026, 10, 23, 5, 40, 30);
const MINUTE = 60_000;
const OK: RunOutcome = { result: "ok", error: "", stack: "" };
const OWN: RunLock = { isOwn: true, reason: "", release: () => {} };
const job = (schedule = "* * * * *", module = "/a/refresh.ts"): ScheduledJob => ({ schedule, module, timeoutMs: 1000 });

interface Fake {
  readonly runs: ScheduledEvent[];
  readonly events: Record<string, unknown>[];
  readonly locks: unknown[][];
  outcome: Promise<RunOutcome> | RunOutcome;
  lock: RunLock;
  readonly scheduled: ScheduledFunctions;
}

function fake(): Fake {
  jest.useFakeTimers({ now: START });
  const own: Omit<Fake, "scheduled"> = { runs: [], events: [], locks: [], outcome: OK, lock: OWN };
  const scheduled = new ScheduledFunctions({
    now: () => Date.now(),
    run: async (_, event) => {
      made.runs.push(event);
      return made.outcome;
    },
    lock: async (...words) => {
      made.locks.push(words);
      return made.lock;
    },
    event: (_, fields) => void made.events.push(fields as Record<string, unknown>),
  });
  const made: Fake = Object.assign(own, { scheduled });
  return made;
}

/** Lets time pass, and what follows from it happen. */
async function pass(ms: number): Promise<void> {
  jest.advanceTimersByTime(ms);
  for (let i = 0; i < 20; i++) await Promise.resolve();
}

const countsOf = ({ scheduled }: Fake) =>
  Object.fromEntries(
    scheduled
      .metrics()[0]!
      .read()
      .map(({ labels, value }) => [labels.result, value]),
  );

let current: Fake;
afterEach(() => {
  current.scheduled.stop();
  jest.useRealTimers();
});

test("a job runs at each time that is due", async () => {
  current = fake();
  current.scheduled.use([job()]);
  await pass(29_000);
  expect(current.runs).toEqual([]);
  await pass(1000);
  await pass(MINUTE);
  expect(current.runs.map(({ scheduledTime }) => scheduledTime)).toEqual([START + 30_000, START + 90_000]);
  expect(current.runs[0]).toMatchObject({ type: "scheduled", cron: "* * * * *" });
  expect(current.events[0]).toMatchObject({ ok: true, result: "ok", due: "2026-11-23T05:41:00.000Z" });
  expect(countsOf(current)).toEqual({ ok: 2 });
  expect(current.locks[0]).toEqual(["* * * * * refresh.ts", START + 30_000, 11_000]);
});

test("no run begins beside another of the same job", async () => {
  current = fake();
  const first = Promise.withResolvers<RunOutcome>();
  current.outcome = first.promise;
  current.scheduled.use([job()]);
  await pass(30_000);
  await pass(MINUTE);
  expect(current.runs.length).toBe(1);
  expect(countsOf(current)).toEqual({ overlap: 1 });
  first.resolve(OK);
  await pass(0);
  current.outcome = OK;
  await pass(MINUTE);
  expect(current.runs.length).toBe(2);
});

test.each(["elsewhere", "overlap", "store_away"] as const)("with the lock %s no run is made", async (reason) => {
  current = fake();
  current.lock = { isOwn: false, reason, release: () => {} };
  current.scheduled.use([job()]);
  await pass(30_000);
  expect(current.runs).toEqual([]);
  expect(countsOf(current)).toEqual({ [reason]: 1 });
  expect(current.events.length).toBe(reason === "elsewhere" ? 0 : 1);
});

test("a failed run is told with its error, and its lock is given back", async () => {
  current = fake();
  let released = 0;
  current.lock = { ...OWN, release: () => released++ };
  current.outcome = { result: "error", error: "no route", stack: "Error: no route\n    at /a/refresh.ts:3:1" };
  current.scheduled.use([job()]);
  await pass(30_000);
  expect(released).toBe(1);
  expect(current.events[0]).toMatchObject({ ok: false, result: "error", error: "no route", stack: expect.any(String) });
});

test("a reload takes the new list, and leaves a run of a job that stays", async () => {
  current = fake();
  const first = Promise.withResolvers<RunOutcome>();
  current.outcome = first.promise;
  current.scheduled.use([job(), job("* * * * *", "/a/other.ts")]);
  await pass(30_000);
  expect(current.runs.length).toBe(2);
  current.scheduled.use([job()]);
  await pass(MINUTE);
  // The one that stays still knows of its run; the other is gone.
  expect(current.runs.length).toBe(2);
  expect(countsOf(current)).toEqual({ overlap: 1 });
  current.scheduled.use([]);
  first.resolve(OK);
  await pass(10 * MINUTE);
  expect(current.runs.length).toBe(2);
});

test("what was missed is not made up for", async () => {
  current = fake();
  current.scheduled.use([job("0 6 * * *")]);
  jest.setSystemTime(Date.UTC(2026, 10, 23, 9));
  await pass(MINUTE);
  expect(current.runs).toEqual([]);
});
