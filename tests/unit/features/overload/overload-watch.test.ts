// docs/pressure.md#shedding
import { expect, test } from "bun:test";
import { OverloadWatch } from "../../../../src/features/overload/control/overload-watch.ts";
import type { RuntimeConfig } from "../../../../src/routes/runtime-config.ts";

test("a shortage that comes and goes is one line of the log, and a delay alone is none", async () => {
  const lines: { reason: string | null; sheds: string }[] = [];
  const watch = new OverloadWatch(1, {
    event: (name, fields) => void (name === "overload" && lines.push(fields as (typeof lines)[number])),
  });
  const overload = { enabled: true, cpu: 1, memory: 1, loopDelayMs: 50 };
  watch.use({ server: { overload } } as RuntimeConfig);
  watch.stop();
  const numbers = new Float64Array(watch.startFields().overload);
  const look = (...delays: number[]): void => {
    for (const delay of delays) {
      numbers[0] = delay;
      watch.judge(overload);
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
