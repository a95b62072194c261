import { expect } from "bun:test";
import { eventually } from "./eventually.ts";
import type { Gateway } from "./gateway.ts";

/** What may be added where nothing stays: pages of the allocator, garbage that the collector has not come to. */
const SLACK_BYTES = 4 * 1024 * 1024;
/** A leak of a few MiB a round has outgrown the collector's ups and downs after so many rounds. */
const APART = 3;
const MAX_ROUNDS = 12;

/** The gateway's resident memory in bytes; 0 where the system does not tell. */
export function residentBytes(gateway: Gateway): number {
  return gateway.memory()?.resident ?? 0;
}

/**
 * Repeats `round` until the gateway's resident memory is no more than it was three rounds before, or earlier still. It
 * may grow at first, and rises and falls with the collector; what stays behind with each round makes it grow for good.
 * A round has to be large enough for that to be seen.
 */
export async function expectNothingLeft(gateway: Gateway, round: () => Promise<void>): Promise<void> {
  const after: number[] = [];
  let grown = 0;
  do {
    await round();
    after.push(residentBytes(gateway));
    grown = after.at(-1)! - Math.max(...after.slice(0, -APART));
  } while ((after.length <= APART || grown >= SLACK_BYTES) && after.length < MAX_ROUNDS);
  expect(grown).toBeLessThan(SLACK_BYTES);
}

/** Waits until the gateway's resident memory is less than `bytes` above `before`; the collector may come late. */
export async function expectGrowthBelow(gateway: Gateway, before: number, bytes: number): Promise<void> {
  await eventually(() => expect(residentBytes(gateway) - before).toBeLessThan(bytes));
}
