import { expect, test } from "bun:test";
import { WorkerWatch } from "../../../src/control/worker-watch.ts";
import { Heartbeat } from "../../../src/memory/heartbeat.ts";
import { ownThreadId } from "../../../src/memory/thread-id.ts";

/** @param held workers whose threads the system holds */
function watched(size: number, held: Set<number> = new Set()) {
  const stalls: (readonly [number, number, boolean])[] = [];
  const replaced: number[] = [];
  const still: number[] = [];
  const moving: number[] = [];
  const threads: number[] = [];
  const watch = new WorkerWatch(
    size,
    {
      onStill: (worker) => still.push(worker),
      onMoves: (worker) => moving.push(worker),
      onStall: (worker, ms, isHeld) => stalls.push([worker, ms, isHeld]),
      replace: (worker) => replaced.push(worker),
    },
    (tid) => {
      threads.push(tid);
      return held.size === 0;
    },
  );
  const hearts = Array.from({ length: size }, (_, worker) => new Heartbeat(watch.buffer, worker));
  return { watch, hearts, stalls, still, moving, replaced, threads };
}

test("a worker that has not moved at ten looks is told of once, others are not", () => {
  const { watch, hearts, stalls, replaced, threads } = watched(2);
  watch.look();
  for (let look = 1; look <= 30; look++) {
    hearts[1]!.beat();
    watch.look();
    expect(watch.allBeat).toBe(look < 10);
    expect(stalls.length).toBe(look < 10 ? 0 : 1);
  }
  expect([stalls, replaced, threads]).toEqual([[[0, 10_000, false]], [0], [ownThreadId()]]);
  watch.workerDied(0);
  expect(watch.allBeat).toBe(true);
});

test("one that the system holds is told of once, and replaced when it can be, unless it moves before", () => {
  const held = new Set([0]);
  const { watch, hearts, stalls, replaced } = watched(1, held);
  const looks = (count: number) => {
    for (let look = 0; look < count; look++) watch.look();
  };
  looks(30);
  expect([stalls, replaced, watch.isStalled(0)]).toEqual([[[0, 10_000, true]], [], true]);
  hearts[0]!.beat();
  looks(1);
  expect([replaced, watch.isStalled(0)]).toEqual([[], false]);
  looks(20);
  held.clear();
  looks(20);
  expect([stalls.length, replaced]).toEqual([2, [0]]);
});

test("one that still loads is no stall, and one that moves now and then is none", () => {
  const { watch, hearts, stalls } = watched(2);
  watch.workerDied(0);
  for (let look = 0; look < 40; look++) {
    if (look % 9 === 0) hearts[1]!.beat();
    watch.look();
  }
  expect(stalls).toEqual([]);
});

test("one that has not moved from one look to the next is told of at once, and when it moves again", () => {
  const { watch, hearts, still, moving } = watched(2);
  for (const heart of hearts) heart.beat();
  watch.look();
  for (let look = 0; look < 3; look++) {
    hearts[1]!.beat();
    watch.look();
    expect([still, moving]).toEqual([[0], []]);
    expect([watch.moves(0), watch.moves(1)]).toEqual([false, true]);
  }
  for (const heart of hearts) heart.beat();
  watch.look();
  expect([still, moving]).toEqual([[0], [0]]);
  expect(watch.moves(0)).toBe(true);
});
