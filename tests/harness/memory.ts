import { expect } from "bun:test";
import { eventually } from "./eventually.ts";
import type { Gateway } from "./gateway.ts";

/** What may be added where nothing stays: pages of the allocator, garbage that the collector has not come to. */
const SLACK_BYTES = 4 * 1024 * 1024;
const APART = 3;
/** Memory rises for ten rounds and more before the collector has been everywhere; a leak goes on for ever. */
const MAX_ROUNDS = 40;
/** Rounds of which the least memory counts, the rounds there must be, and what the collector may leave uncollected. */
const WINDOW = 5;
const MIN_FLOOR_ROUNDS = 20;
const FLOOR_SLACK_BYTES = 64 * 1024 * 1024;

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

/**
 * The same for rounds that make much garbage, which hides what stays behind: what is compared is the least memory of the
 * last rounds and of the first ones, far enough apart for a few KiB a connection to be seen in rounds of a thousand.
 */
export async function expectFloorStays(gateway: Gateway, round: () => Promise<void>): Promise<void> {
  const after: number[] = [];
  const risen = () => Math.min(...after.slice(-WINDOW)) - Math.min(...after.slice(0, WINDOW));
  while (after.length < MIN_FLOOR_ROUNDS || (risen() >= FLOOR_SLACK_BYTES && after.length < MAX_ROUNDS)) {
    await round();
    after.push(residentBytes(gateway));
  }
  expect(risen()).toBeLessThan(FLOOR_SLACK_BYTES);
}

/** Waits until the gateway's resident memory is less than `bytes` above `before`; the collector may come late. */
export async function expectGrowthBelow(gateway: Gateway, before: number, bytes: number): Promise<void> {
  await eventually(() => expect(residentBytes(gateway) - before).toBeLessThan(bytes));
}
