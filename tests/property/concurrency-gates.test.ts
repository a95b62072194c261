// docs/pressure.md#concurrency
import { expect, test } from "bun:test";
import fc from "fast-check";
import { TimerWheel } from "../../src/core/timer-wheel.ts";
import { Gate } from "../../src/features/concurrency/gate.ts";
import { createSlotTable, SlotTable } from "../../src/memory/slot-table.ts";
import type { Exchange } from "../../src/message/exchange.ts";
import type { Held } from "../../src/message/ports.ts";

const WORKERS = 3;
const LANES = 2;
const QUEUE = 4;
const TIMEOUT_MS = 1000;

/** The gates of all workers over one table, in virtual time: what a request comes to, and what is left at the end. */
class Crowd {
  readonly turn = { nowMs: 0 };
  readonly buffer = createSlotTable(LANES, WORKERS);
  readonly table = new SlotTable(this.buffer);
  readonly wheels: TimerWheel[] = [];
  readonly gates: Gate[] = [];
  readonly waiting: Map<number, { worker: number; client: number; place: Held }> = new Map();
  readonly inside: { worker: number; lane: number }[] = [];
  private next = 0;
  refused = 0;

  constructor() {
    for (let lane = 0; lane < LANES; lane++) this.table.setLimit(lane, 2);
    for (let worker = 0; worker < WORKERS; worker++) this.begin(worker);
  }

  begin(worker: number): void {
    this.wheels[worker] = new TimerWheel(this.turn.nowMs, () => {});
    const ports = { worker, turn: this.turn, wheel: this.wheels[worker], inTurn: (work: () => void) => work() };
    this.gates[worker] = new Gate(LANES, { queue: QUEUE, queueTimeoutMs: TIMEOUT_MS }, ports);
    this.gates[worker].share(this.buffer);
  }

  come(worker: number, client: number): void {
    const gate = this.gates[worker]!;
    const lane = gate.enter();
    if (lane >= 0) {
      this.inside.push({ worker, lane });
      return;
    }
    const id = this.next++;
    const ex = { clientIp: `192.0.2.${client}`, client: { socketAddress: `192.0.2.${client}` } };
    const place = gate.wait(ex as unknown as Exchange, {
      onSlot: (given) => {
        this.waiting.delete(id);
        this.inside.push({ worker, lane: given });
      },
      onRefused: () => {
        this.waiting.delete(id);
        this.refused++;
      },
    });
    if (place === null) this.refused++;
    else this.waiting.set(id, { worker, client, place });
  }

  end(at: number): void {
    const [one] = this.inside.splice(at % Math.max(1, this.inside.length), 1);
    if (one !== undefined) this.gates[one.worker]!.give(one.lane);
  }

  leave(at: number): void {
    const [id, one] = [...this.waiting][at % Math.max(1, this.waiting.size)] ?? [];
    if (one === undefined) return;
    this.waiting.delete(id!);
    one.place.release();
  }

  /** A worker ends, and begins anew. */
  die(worker: number): void {
    for (const [id, one] of this.waiting) if (one.worker === worker) this.waiting.delete(id);
    for (let i = this.inside.length - 1; i >= 0; i--) if (this.inside[i]!.worker === worker) this.inside.splice(i, 1);
    this.table.freeOf(worker);
    this.begin(worker);
  }

  async pass(ms: number): Promise<void> {
    this.turn.nowMs += ms;
    for (const wheel of this.wheels) wheel.advance(this.turn.nowMs);
    for (const gate of this.gates) gate.tick();
    await Promise.resolve();
  }

  taken(): number[] {
    return Array.from({ length: LANES }, (_, lane) => this.table.takenOf(lane));
  }
}

const worker = fc.nat({ max: WORKERS - 1 });
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ come: worker, client: fc.nat({ max: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ end: fc.nat() }) },
  { weight: 2, arbitrary: fc.record({ leave: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ pass: fc.nat({ max: 400 }) }) },
  { weight: 1, arbitrary: fc.record({ die: worker }) },
);

test("whatever comes, ends, leaves, is late or dies: no slot is lost or given twice, and no place of the queue", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 120 }), async (steps) => {
      const crowd = new Crowd();
      for (const one of steps) {
        if ("come" in one) crowd.come(one.come, one.client);
        else if ("end" in one) crowd.end(one.end);
        else if ("leave" in one) crowd.leave(one.leave);
        else if ("die" in one) crowd.die(one.die);
        else await crowd.pass(one.pass);
        const inLanes = crowd.taken().map((_, lane) => crowd.inside.filter((held) => held.lane === lane).length);
        expect(crowd.taken()).toEqual(inLanes);
        expect(Math.max(...inLanes)).toBeLessThanOrEqual(2);
        // A place that another worker has taken is paid a moment later.
        expect(crowd.waiting.size).toBeLessThanOrEqual(2 * QUEUE);
      }
      for (let i = 0; i < 3; i++) await crowd.pass(3);
      expect(crowd.table.queued).toBe(crowd.waiting.size);
      expect(crowd.waiting.size).toBeLessThanOrEqual(QUEUE);
      for (let i = 0; i < 200 && crowd.inside.length + crowd.waiting.size > 0; i++) {
        crowd.end(0);
        await crowd.pass(3);
      }
      expect([crowd.taken(), crowd.table.queued, crowd.waiting.size]).toEqual([[0, 0], 0, 0]);
    }),
    { numRuns: 150 },
  );
});

test("a client with one request has a place in a queue that another one has filled in other workers", async () => {
  const crowd = new Crowd();
  for (let i = 0; i < 2 * LANES + QUEUE; i++) crowd.come(i % 2, 1);
  crowd.come(2, 2);
  crowd.come(2, 3);
  for (let i = 0; i < 3; i++) await crowd.pass(3);
  const clients = [...crowd.waiting.values()].map(({ client }) => client).sort();
  expect([clients, crowd.refused, crowd.table.queued]).toEqual([[1, 1, 2, 3], 2, QUEUE]);
});
