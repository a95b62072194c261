import { expect, test } from "bun:test";
import { Reloads } from "../../../src/control/reload.ts";
import type { RuntimeConfig } from "../../../src/routes/runtime-config.ts";

test("a reload that the end of the process overtakes changes nothing, and its line says why", async () => {
  const events: object[] = [];
  const told: string[] = [];
  let isEnding = false;
  let isTakenUp = false;
  const ended = Promise.withResolvers<void>();
  const reloads = new Reloads({
    read: () => ({ ok: true, config: {} as RuntimeConfig }),
    current: () => ({}) as RuntimeConfig,
    prepare: () => ({
      message: {} as never,
      takeUp: () => {
        isTakenUp = true;
      },
      drop: () => told.push("dropped"),
      settled: () => ({}),
    }),
    isEnding: () => isEnding,
    workers: () => [0],
    broadcast: ({ kind }) => told.push(kind),
    onBegin: () => {},
    onEnd: () => ended.resolve(),
    event: (_, fields) => events.push(fields),
  });
  const outcome = reloads.want();
  isEnding = true;
  reloads.onAnswer(0, "prepared", 1, "");
  await ended.promise;
  expect(await outcome).toEqual({ ok: false, generation: 1, faults: ["the process is ending"], fields: {} });
  expect(told).toEqual(["prepare", "abort", "dropped"]);
  expect([isTakenUp, reloads.generation]).toEqual([false, 1]);
  expect(events).toEqual([{ ok: false, generation: 1, faults: ["the process is ending"] }]);
});

test("the caller that gets an outcome may want the next reload at once", async () => {
  const reloads = new Reloads({
    read: () => ({ ok: false, faults: ["a"] }),
    current: () => ({}) as RuntimeConfig,
    prepare: () => ({ message: {} as never, takeUp() {}, drop() {}, settled: () => ({}) }),
    isEnding: () => false,
    workers: () => [],
    broadcast() {},
    onBegin() {},
    onEnd() {},
    event() {},
  });
  const second = reloads.want().then(() => reloads.take(() => ({ ok: false, faults: ["b"] })));
  expect((await second).faults).toEqual(["b"]);
});
