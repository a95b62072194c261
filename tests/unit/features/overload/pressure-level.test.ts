// docs/pressure.md#shedding
import { expect, test } from "bun:test";
import { PressureLevel } from "../../../../src/features/overload/pressure-level.ts";

/** All that is ever shed. */
const MAX_LEVEL = 3;

const after = (level: PressureLevel, steps: number, share: number): number => {
  for (let i = 0; i < steps; i++) level.note(share);
  return level.value;
};

test("the level rises above the threshold, to all that is ever shed, and calm is back within two seconds", () => {
  const level = new PressureLevel();
  expect([after(level, 4, 1.01), after(level, 100, 5)]).toEqual([1, MAX_LEVEL]);
  expect([after(level, 1, 0.5) < MAX_LEVEL, after(level, 19, 0.5)]).toEqual([true, 0]);
});

test("just below the threshold it falls slowly, and to nothing", () => {
  const level = new PressureLevel();
  after(level, 4, 2);
  expect([after(level, 1, 0.9) > 0.9, after(level, 30, 0.9)]).toEqual([true, 0]);
});

test("it falls slowly while shedding alone keeps the value low", () => {
  const level = new PressureLevel();
  after(level, 8, 2);
  for (let i = 0; i < 10; i++) level.note(0.3, 1.9);
  expect(level.value).toBe(1.5);
});
