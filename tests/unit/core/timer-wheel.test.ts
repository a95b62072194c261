import { describe, expect, test } from "bun:test";
import { TICK_MS, TimerNode, TimerWheel, WHEEL_SLOTS } from "../../../src/core/timer-wheel.ts";

const TURN_MS = TICK_MS * WHEEL_SLOTS;

/** A wheel at time 0 and a timer that writes down when it fires. */
function wheelAndTimer(): { wheel: TimerWheel; node: TimerNode; fired: number[]; errors: unknown[] } {
  const fired: number[] = [];
  const errors: unknown[] = [];
  const wheel = new TimerWheel(0, (error) => errors.push(error));
  return { wheel, node: new TimerNode({ onTimer: (nowMs) => fired.push(nowMs) }), fired, errors };
}

describe("a timer", () => {
  test("fires in the tick of its deadline, not before", () => {
    const { wheel, node, fired } = wheelAndTimer();
    wheel.arm(node, 120);
    wheel.advance(119);
    wheel.advance(149);
    expect(fired).toEqual([]);
    wheel.advance(150);
    expect(fired).toEqual([150]);
    wheel.advance(10_000);
    expect(fired).toEqual([150]);
  });

  test("moved later fires once, later; moved earlier fires once, earlier", () => {
    const { wheel, node, fired } = wheelAndTimer();
    wheel.arm(node, 100);
    wheel.arm(node, 1000);
    wheel.advance(950);
    expect(fired).toEqual([]);
    wheel.advance(1000);
    wheel.arm(node, 5000);
    wheel.arm(node, 2000);
    wheel.advance(2000);
    wheel.advance(6000);
    expect(fired).toEqual([1000, 2000]);
  });

  test("that goes round more than once keeps its time", () => {
    const { wheel, node, fired } = wheelAndTimer();
    const deadline = TURN_MS * 3 + 75;
    wheel.arm(node, deadline);
    for (let now = 0; now < deadline; now += TICK_MS) wheel.advance(now);
    expect(fired).toEqual([]);
    wheel.advance(deadline + TICK_MS);
    expect(fired.length).toBe(1);
  });

  test("fires after a pause that was longer than a turn", () => {
    const { wheel, node, fired } = wheelAndTimer();
    wheel.arm(node, 1000);
    wheel.advance(TURN_MS * 5 + 1);
    expect(fired).toEqual([TURN_MS * 5 + 1]);
  });

  test("disarmed or removed does not fire, and can be armed again", () => {
    const { wheel, node, fired } = wheelAndTimer();
    wheel.arm(node, 100);
    wheel.disarm(node);
    wheel.advance(200);
    wheel.arm(node, 300);
    wheel.remove(node);
    wheel.advance(400);
    expect(fired).toEqual([]);
    wheel.arm(node, 500);
    wheel.advance(500);
    expect(fired).toEqual([500]);
  });

  test("armed for the past fires with the next tick", () => {
    const { wheel, node, fired } = wheelAndTimer();
    wheel.advance(1000);
    wheel.arm(node, 10);
    wheel.advance(1049);
    expect(fired).toEqual([]);
    wheel.advance(1050);
    expect(fired).toEqual([1050]);
  });

  test("that arms itself again does not keep the wheel busy", () => {
    const wheel = new TimerWheel(0, () => {});
    let count = 0;
    const node: TimerNode = new TimerNode({
      onTimer: () => {
        count++;
        wheel.arm(node, 1);
      },
    });
    wheel.arm(node, 1);
    wheel.advance(TICK_MS * 10);
    expect(count).toBe(10);
  });

  test("that throws is reported with its holder; the others fire", () => {
    const { wheel, node, fired, errors } = wheelAndTimer();
    const broken = new TimerNode({
      onTimer: () => {
        throw new Error("broken");
      },
    });
    wheel.arm(broken, 100);
    wheel.arm(node, 100);
    wheel.advance(100);
    expect([fired, errors.length]).toEqual([[100], 1]);
  });

  test("that removes its neighbours in the same slot", () => {
    const wheel = new TimerWheel(0, () => {});
    const fired: number[] = [];
    const nodes: TimerNode[] = [0, 1, 2, 3].map(
      (index) =>
        new TimerNode({
          onTimer: () => {
            fired.push(index);
            for (const other of nodes) wheel.remove(other);
          },
        }),
    );
    for (const node of nodes) wheel.arm(node, 100);
    wheel.advance(1000);
    expect(fired.length).toBe(1);
  });
});
