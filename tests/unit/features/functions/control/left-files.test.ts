import { describe, expect, test } from "bun:test";
import { filesOfThread } from "../../../../../src/features/functions/control/left-files.ts";

describe("files of a thread of a module", () => {
  test("are a sixteenth of the process's descriptors, 256 at most", () => {
    expect(filesOfThread(1024, 1)).toBe(64);
    expect(filesOfThread(1_000_000, 1)).toBe(256);
    expect(filesOfThread(Number.POSITIVE_INFINITY, 1000)).toBe(256);
  });

  test("are a quarter for all threads together, however many there are, and 8 at least", () => {
    for (const descriptors of [4096, 20_000, 65_536])
      for (let threads = 1; threads <= descriptors / 32; threads *= 2)
        expect(filesOfThread(descriptors, threads) * threads).toBeLessThanOrEqual(descriptors / 4);
    expect(filesOfThread(256, 100)).toBe(8);
  });
});
