// docs/pressure.md#auto
import { expect, test } from "bun:test";
import { TimerWheel } from "../../../../src/core/timer-wheel.ts";
import { Gate } from "../../../../src/features/concurrency/gate.ts";
import { createSlotTable, SlotTable } from "../../../../src/memory/slot-table.ts";
import type { Exchange } from "../../../../src/message/exchange.ts";

const LIMIT = 4;
const PATIENCE_MS = 5;

/** A gate before a server that works on LIMIT requests, each for 10 ms, in virtual time. @returns how long each request waited that came in */
async function waits(perMs: (ms: number) => number, forMs: number): Promise<{ atMs: number; waitedMs: number }[]> {
  const turn = { nowMs: 0 };
  const buffer = createSlotTable(1, 1);
  const table = new SlotTable(buffer);
  table.setLimit(0, LIMIT);
  table.patienceMs = PATIENCE_MS;
  const gate = new Gate(
    1,
    { queue: 100, queueTimeoutMs: 10_000 },
    { worker: 0, turn, wheel: new TimerWheel(0, () => {}), inTurn: (work) => work() },
  );
  gate.share(buffer);
  const ends: number[] = [];
  const seen: { atMs: number; waitedMs: number }[] = [];
  const client = { socketAddress: "192.0.2.1" };
  let due = 0;
  for (; turn.nowMs < forMs; turn.nowMs++) {
    while (ends.length > 0 && ends[0]! <= turn.nowMs) {
      ends.shift();
      gate.give(0);
      await Promise.resolve();
    }
    for (due += perMs(turn.nowMs); due >= 1; due--) {
      const sinceMs = turn.nowMs;
      const comeIn = () => {
        ends.push(turn.nowMs + 10);
        seen.push({ atMs: sinceMs, waitedMs: turn.nowMs - sinceMs });
      };
      if (gate.enter() >= 0) comeIn();
      else gate.wait({ clientIp: "192.0.2.1", client } as unknown as Exchange, { onSlot: comeIn, onRefused() {} });
    }
  }
  return seen;
}

test("before a found limit a rush makes nobody late for longer than the queue may stand, however often a pause empties it", async () => {
  const seen = await waits((ms) => (ms % 250 < 12 ? 0 : 0.84), 5000);
  const late = seen.filter(({ atMs, waitedMs }) => atMs > 200 && waitedMs > PATIENCE_MS);
  expect(late).toEqual([]);
  // And the server has always something to do.
  expect(seen.length / (5000 * 0.4)).toBeGreaterThan(0.95);
});

test("a burst that comes a second after the rush waits in line again", async () => {
  const seen = await waits((ms) => (ms < 1000 ? 0.8 : ms < 2500 ? 0.2 : ms < 2520 ? 1.5 : 0.2), 4000);
  const burst = seen.filter(({ atMs }) => atMs >= 2500 && atMs < 2520);
  expect(burst.length).toBe(30);
});
