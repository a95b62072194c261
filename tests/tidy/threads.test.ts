import { expect, test } from "bun:test";
import { SOURCE_MODULES } from "./source-module.ts";

/** Where a thread of the gateway may be started: elsewhere one without descriptors left would end the process. */
const STARTS = ["src/control/early-thread.ts", "src/net/threads.ts"];

test("threads are started in one place, which looks whether there are descriptors", () => {
  const starting = SOURCE_MODULES.filter(
    ({ path, text }) => /^(bin|src)\/(?!tools\/)/.test(path) && /\bnew globalThis\.Worker\(/.test(text),
  );
  expect(starting.map(({ path }) => path)).toEqual(STARTS);
});
