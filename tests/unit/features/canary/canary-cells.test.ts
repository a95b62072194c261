import { expect, test } from "bun:test";
import { CanaryCells, CanaryNumbers, createCanaryCells } from "../../../../src/features/canary/canary-cells.ts";

/** Cells of one worker of two, whose configuration is the set of its canaries' keys. */
function cellsOf(worker: number): CanaryCells {
  return new CanaryCells(worker, (config) => new Set<string>(config as readonly string[]));
}

test("a canary keeps its cell, and what is counted, over configurations", () => {
  const cells = cellsOf(1);
  const buffer = createCanaryCells(2);
  const numbers = new CanaryNumbers(buffer);
  cells.share({ canaries: [["shop", buffer]] });
  const cell = cells.of("shop");
  const tally = cell.tallyOf(true);
  tally.answered(false, 12);
  cells.use(["shop"] as never);
  expect(cells.of("shop")).toBe(cell);
  tally.failed();
  expect(numbers.countsOf(true)).toMatchObject({ requests: 2, errors: 1 });
  expect(numbers.countsOf(false)).toMatchObject({ requests: 0, errors: 0 });
});

test("a cell that was asked for before its numbers are shared counts in them from then on", () => {
  const cells = cellsOf(0);
  const cell = cells.of("shop");
  const buffer = createCanaryCells(2);
  const numbers = new CanaryNumbers(buffer);
  cells.share({ canaries: [["shop", buffer]] });
  numbers.share = 25;
  expect(cell.percent).toBe(25);
  cell.tallyOf(false).answered(true, 3);
  expect(numbers.countsOf(false)).toMatchObject({ requests: 1, errors: 1 });
});

test("the rows of workers are added up", () => {
  const buffer = createCanaryCells(2);
  for (const worker of [0, 1]) {
    const cells = cellsOf(worker);
    cells.share({ canaries: [["shop", buffer]] });
    cells.of("shop").tallyOf(true).answered(false, 7);
  }
  expect(new CanaryNumbers(buffer).countsOf(true).requests).toBe(2);
});

test("a canary that is in no configuration any more is forgotten", () => {
  const cells = cellsOf(0);
  const cell = cells.of("shop");
  cells.use([] as never);
  expect(cells.of("shop")).not.toBe(cell);
});
