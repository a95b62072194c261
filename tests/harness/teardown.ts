import { expect } from "bun:test";
import type { Gateway } from "./gateway.ts";

/** A server of a test; one that reads HTTP/1.1 says what in its input was none. */
interface Stoppable {
  stop(): void;
  readonly violations?: readonly unknown[];
}

/**
 * Stops a file's gateway and origins. The gateway must end in order, and no origin may have met bytes that are not
 * HTTP/1.1: whatever a client sends, what goes upstream is well formed.
 */
export async function stopAll(gateway: Gateway, ...origins: readonly Stoppable[]): Promise<void> {
  try {
    await gateway.stop();
  } finally {
    for (const origin of origins) origin.stop();
  }
  expect(origins.flatMap((origin) => origin.violations ?? [])).toEqual([]);
}
