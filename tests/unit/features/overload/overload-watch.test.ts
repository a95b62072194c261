// docs/pressure.md#shedding
import { expect, test } from "bun:test";
import { OverloadWatch } from "../../../../src/features/overload/control/overload-watch.ts";
import { WorkerPressure } from "../../../../src/features/overload/shared-pressure.ts";
import type { RuntimeConfig } from "../../../../src/routes/runtime-config.ts";

const overload = { enabled: true, cpu: 1, memory: 1, loopDelayMs: 50 };

/** A watch of one worker that has no timer of its own, and the worker's numbers. */
function stopped(onOverload: (fields: { reason: string | null; sheds: string }) => void) {
  const watch = new OverloadWatch(1, {
    event: (name, fields) => void (name === "overload" && onOverload(fields as never)),
  });
  watch.use({ server: { overload } } as RuntimeConfig);
  watch.stop();
  const buffer = watch.startFields().overload;
  return { watch, numbers: new Float64Array(buffer), pressure: pressureOf(buffer) };
}

function pressureOf(overload: SharedArrayBuffer): WorkerPressure {
  const pressure = new WorkerPressure(0, 50);
  pressure.begin({ overload });
  return pressure;
}

test("a worker whose loop has not come round for long sheds more and more, though it tells nothing meanwhile; one that is gone does not", () => {
  const { watch, pressure } = stopped(() => {});
  const levels: number[] = [];
  for (let ms = 0; ms < 1000; ms += 100) {
    if (ms % 500 === 0) pressure.tick(ms + 1);
    watch.judge(overload, ms);
    levels.push(pressure.level);
  }
  expect(levels[4]! >= 0.75 && levels[9]! > levels[4]!).toBe(true);
  watch.workerDied(0);
  for (let ms = 1000; ms < 3000; ms += 100) watch.judge(overload, ms);
  expect(pressure.level).toBe(0);
});

test("a shortage that comes and goes is one line of the log, and a delay alone is none", async () => {
  const lines: { reason: string | null; sheds: string }[] = [];
  const { watch, numbers } = stopped((fields) => void lines.push(fields));
  const look = (...delays: number[]): void => {
    for (const delay of delays) {
      numbers[0] = delay;
      watch.judge(overload, 0);
    }
  };
  const calm = new Array<number>(20).fill(0);
  look(200, ...calm);
  expect(lines).toEqual([]);
  look(200, 200, 0, 0, 0, 200, 200, 0, 0, 0, 200, 200, ...calm);
  expect(lines.map(({ reason, sheds }) => [reason, sheds])).toEqual([
    ["loop_delay", "low"],
    [null, "none"],
  ]);
});
