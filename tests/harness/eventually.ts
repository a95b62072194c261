import { PATIENCE_MS } from "./byte-socket.ts";

/** Repeats an assertion until it holds; throws its last failure when it does not within the patience of the tests. */
export async function eventually<T>(assertion: () => T | Promise<T>, patienceMs = PATIENCE_MS): Promise<T> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    try {
      return await assertion();
    } catch (failure) {
      if (performance.now() > deadline) throw failure;
      await Bun.sleep(10);
    }
  }
}
