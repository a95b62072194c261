import { expect, test } from "bun:test";
import fc from "fast-check";
import { Fault } from "../../src/core/fault.ts";
import { NormalizePhase } from "../../src/features/ingest/normalize.ts";
import { BODY_BLOCK_BYTES, SPOOL_BYTES } from "../../src/memory/body-budget.ts";
import { type Exchange, Pipeline } from "../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../src/message/idle-ports.ts";
import { Framing } from "../../src/message/request-head.ts";
import { bodyRoute, budgetOf, chunkedExchange, phase, SILENT, takenOf } from "../unit/features/ingest/body-route.ts";

const BLOCKS = 200;
const FEW_BLOCKS = 6;
const SMALL_DISK_BYTES = 6 * BODY_BLOCK_BYTES;

/** How an exchange ends: told to the body, or only seen by it because the exchange is reset. */
type Ending = "taken" | "fault" | "reset while gathering" | "reset while handing on" | "nobody takes it";

const piece = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 1, max: 3 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 9000 }) },
  { weight: 1, arbitrary: fc.constantFrom(16_383, 16_384, 16_385, 33_000) },
  // Beyond SPOOL_BYTES the body goes through a file.
  { weight: 1, arbitrary: fc.constantFrom(SPOOL_BYTES - 1, SPOOL_BYTES, SPOOL_BYTES / 2) },
);
const plan = fc.record({
  pieces: fc.array(piece, { maxLength: 12 }),
  ending: fc.constantFrom<Ending>(
    "taken",
    "fault",
    "reset while gathering",
    "reset while handing on",
    "nobody takes it",
  ),
  /** Whether the taker stops the flow after its n-th piece. */
  pauses: fc.array(fc.boolean(), { maxLength: 8 }),
  resetAfter: fc.integer({ min: 0, max: 4 }),
});
type Plan = typeof plan extends fc.Arbitrary<infer T> ? T : never;

/** One body on its way through the phase. */
class Run {
  readonly budget: ReturnType<typeof budgetOf>;
  readonly ex: Exchange = chunkedExchange(bodyRoute());
  readonly faults: Fault[] = [];
  readonly got: Buffer[] = [];
  ends = 0;
  sent = Buffer.alloc(0);
  isOver = false;
  isPaused = false;
  private readonly todo: Plan;

  constructor(todo: Plan, blocks: number) {
    this.todo = todo;
    this.budget = budgetOf(blocks);
    const { ex } = this;
    const take = phase(() => {
      if (todo.ending !== "nobody takes it") ex.body = this.taker();
    });
    ex.pipeline = new Pipeline([new NormalizePhase(this.budget, SILENT), take], [], []);
    ex.sink = {
      ...IDLE.sink,
      // What a connection does with a refusal: the answer goes out and the exchange is over.
      abort: (_ex, fault) => {
        this.faults.push(fault);
        this.over();
      },
    };
  }

  start(): void {
    const { ex, todo } = this;
    ex.pipeline.start(ex);
    for (const [i, length] of todo.pieces.entries()) {
      if (this.isOver) return;
      if (todo.ending === "reset while gathering" && i === todo.resetAfter) {
        this.over();
        return;
      }
      const bytes = Buffer.alloc(length + 2, `piece ${i} `);
      this.sent = Buffer.concat([this.sent, bytes.subarray(1, 1 + length)]);
      ex.body.onBody(ex, bytes, 1, 1 + length);
    }
    if (this.isOver) return;
    if (todo.ending === "fault") {
      ex.body.onBodyFault(ex, Fault.BodyTruncated);
      this.over();
      return;
    }
    ex.body.onBodyEnd(ex);
    for (let i = 0; i < 100 && this.isPaused; i++) {
      this.isPaused = false;
      ex.flow.resumeBody(ex);
    }
  }

  over(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.ex.release();
    this.ex.reset(IDLE);
  }

  private taker() {
    return {
      onBody: (ex: Exchange, bytes: Uint8Array, from: number, to: number) => {
        expect(this.isPaused).toBe(false);
        this.got.push(Buffer.from(bytes.subarray(from, to)));
        if (this.todo.ending === "reset while handing on" && this.got.length > this.todo.resetAfter) this.over();
        else if (this.todo.pauses[this.got.length - 1] === true) {
          this.isPaused = true;
          ex.flow.pauseBody(ex);
        }
      },
      onBodyEnd: () => {
        this.ends++;
      },
      onBodyFault: () => {
        throw new Error("the body is complete: it cannot go wrong any more");
      },
    };
  }
}

test("a gathered body comes out as it went in, and its memory is given back in every ending", () => {
  fc.assert(
    fc.property(plan, (todo) => {
      const run = new Run(todo, BLOCKS);
      run.start();
      const got = Buffer.concat(run.got);
      expect(run.sent.subarray(0, got.length).equals(got)).toBe(true);
      if (run.faults.length > 0) expect(run.faults).toEqual([Fault.BuffersFull]);
      else if (todo.ending === "taken") {
        expect(got.length).toBe(run.sent.length);
        expect(run.ends).toBe(run.sent.length > 0 ? 1 : 0);
        expect(run.ex.request.framing).toBe(Framing.Length);
        expect(run.ex.request.contentLength).toBe(run.sent.length);
      }
      run.over();
      expect(takenOf(run.budget)).toBe(0);
      // Whatever is called late finds nothing to do.
      run.ex.flow.resumeBody(run.ex);
      expect(run.ends).toBeLessThanOrEqual(1);
    }),
    { numRuns: 300 },
  );
});

test("what the memory does not hold goes to the disk, and what the disk does not hold is refused once", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 40_000 }), { maxLength: 8 }), (pieces) => {
      const run = new Run({ pieces, ending: "taken", pauses: [], resetAfter: 0 }, FEW_BLOCKS);
      run.budget.disk.limitKib = SMALL_DISK_BYTES / 1024;
      run.start();
      const total = pieces.reduce((sum, length) => sum + length, 0);
      // One block stays in memory behind those in the file.
      const isBeyond = total > SMALL_DISK_BYTES + BODY_BLOCK_BYTES;
      expect(run.faults).toEqual(isBeyond ? [Fault.BuffersFull] : []);
      run.over();
      expect(takenOf(run.budget)).toBe(0);
    }),
    { numRuns: 500 },
  );
});

test("a body of one-byte chunks costs what its bytes cost", () => {
  const run = new Run({ pieces: [], ending: "taken", pauses: [], resetAfter: 0 }, FEW_BLOCKS);
  run.ex.pipeline.start(run.ex);
  const byte = Buffer.of(0x61);
  for (let i = 0; i < 60; i++) run.ex.body.onBody(run.ex, byte, 0, 1);
  expect(takenOf(run.budget)).toBe(64);
  for (let i = 60; i < BODY_BLOCK_BYTES; i++) run.ex.body.onBody(run.ex, byte, 0, 1);
  expect(takenOf(run.budget)).toBe(BODY_BLOCK_BYTES);
  run.ex.body.onBody(run.ex, byte, 0, 1);
  expect(takenOf(run.budget)).toBe(2 * BODY_BLOCK_BYTES);
});
