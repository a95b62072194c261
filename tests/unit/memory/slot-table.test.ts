import { expect, test } from "bun:test";
import { createSlotTable, QueueCount, SlotCount, SlotTable } from "../../../src/memory/slot-table.ts";

test("workers share the slots of each lane and the queue, and a dead one gives all back", () => {
  const buffer = createSlotTable(2, 3);
  const [table, other] = [new SlotTable(buffer), new SlotTable(buffer)];
  table.setLimit(0, 2);
  expect([table.take(0, 0), other.take(0, 1), table.take(0, 2), other.take(1, 2)]).toEqual([true, true, false, true]);
  expect([table.hasRoom(0), table.takenOf(0), table.takenOf(1)]).toEqual([false, 2, 1]);
  expect([table.enterQueue(1, 2), table.enterQueue(1, 2), table.enterQueue(0, 2)]).toEqual([true, true, false]);
  table.freeOf(1);
  expect([other.takenOf(0), other.queued, other.take(0, 2)]).toEqual([1, 0, true]);
  table.give(0, 0);
  table.give(0, 2);
  expect(table.takenOf(0)).toBe(0);
});

test("a slot that is left to another worker wakes one that waits, in turn", async () => {
  const table = new SlotTable(createSlotTable(1, 3));
  expect(table.wakeOther(0)).toBe(false);
  const woken: number[] = [];
  for (const worker of [1, 2]) table.listen(worker, () => woken.push(worker));
  expect(table.wakeOther(1)).toBe(true);
  await Bun.sleep(5);
  expect(woken).toEqual([2]);
  table.rest(1);
  await Bun.sleep(5);
  expect(woken).toEqual([2, 1]);
});

test("counts are by worker and lane", () => {
  const table = new SlotTable(createSlotTable(2, 2));
  table.count(0, 1, SlotCount.Samples, 1);
  table.count(1, 1, SlotCount.SumMs, 2.5);
  table.count(0, 1, SlotCount.SumMs, 2);
  table.countQueue(1, QueueCount.Late);
  expect([table.sum(1, SlotCount.Samples), table.sum(1, SlotCount.SumMs), table.sum(0, SlotCount.SumMs)]).toEqual([
    1, 4.5, 0,
  ]);
  expect([table.sumOfQueue(QueueCount.Late), table.sumOfQueue(QueueCount.Full)]).toEqual([1, 0]);
});
