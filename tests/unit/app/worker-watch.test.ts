import { expect, test } from "bun:test";
import { Heartbeat, WorkerWatch } from "../../../src/app/worker-watch.ts";

function watched(size: number) {
  const stalls: (readonly [number, number])[] = [];
  const still: number[] = [];
  const moving: number[] = [];
  const watch = new WorkerWatch(size, {
    onStill: (worker) => still.push(worker),
    onMoves: (worker) => moving.push(worker),
    onStall: (worker, ms) => stalls.push([worker, ms]),
  });
  const hearts = Array.from({ length: size }, (_, worker) => new Heartbeat(watch.buffer, worker));
  return { watch, hearts, stalls, still, moving };
}

test("a worker that has not moved at ten looks is told of once, others are not", () => {
  const { watch, hearts, stalls } = watched(2);
  for (const heart of hearts) heart.beat();
  watch.look();
  for (let look = 1; look <= 30; look++) {
    hearts[1]!.beat();
    watch.look();
    expect(watch.allBeat).toBe(look < 10);
    expect(stalls.length).toBe(look < 10 ? 0 : 1);
  }
  expect(stalls).toEqual([[0, 10_000]]);
  watch.forget(0);
  expect(watch.allBeat).toBe(true);
});

test("one that still loads is no stall, and one that moves now and then is none", () => {
  const { watch, hearts, stalls } = watched(2);
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
