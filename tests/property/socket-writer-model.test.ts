import { expect, test } from "bun:test";
import fc from "fast-check";
import { SocketWriter, WriterGroup } from "../../src/net/socket-buffers.ts";
import { CountedSlabs } from "../unit/net/counted-slabs.ts";
import { FakeSocket } from "../unit/net/fake-socket.ts";

type Step =
  | { readonly kind: "copy" | "write" | "encode"; readonly length: number }
  | { readonly kind: "flush" }
  | { readonly kind: "room"; readonly bytes: number }
  | { readonly kind: "drain" };

const small = fc.integer({ min: 0, max: 600 });
const large = fc.oneof(fc.integer({ min: 8000, max: 20_000 }), fc.constantFrom(16_383, 16_384, 16_385, 40_000));
const length = fc.oneof({ weight: 3, arbitrary: small }, { weight: 2, arbitrary: large });
const room = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30_000 }), fc.constant(Number.POSITIVE_INFINITY));
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom("copy" as const, "write" as const, "encode" as const), length }),
  fc.record({ kind: fc.constantFrom("copy" as const, "write" as const, "encode" as const), length }),
  fc.constant({ kind: "flush" as const }),
  fc.record({ kind: fc.constant("room" as const), bytes: room }),
  fc.constant({ kind: "drain" as const }),
);

/** A writer, its socket, and all that has been put in. */
class Run {
  readonly socket = new FakeSocket();
  readonly slabs = new CountedSlabs();
  readonly group = new WriterGroup(this.slabs);
  readonly writer = new SocketWriter(this.socket, this.group, { onBlocked() {} });
  private readonly put: Buffer[] = [];
  private next = 0;

  get expected(): Buffer {
    return Buffer.concat(this.put);
  }

  take(each: Step): void {
    switch (each.kind) {
      case "flush":
        this.group.flushAll();
        break;
      case "room":
        this.socket.room = each.bytes;
        break;
      case "drain":
        this.writer.onDrain();
        break;
      default:
        this.hand(each.kind, this.bytes(each.length));
    }
  }

  /** The kernel takes everything from here on. */
  finish(): void {
    this.group.flushAll();
    this.socket.room = Number.POSITIVE_INFINITY;
    expect(this.writer.onDrain()).toBe(true);
    this.group.flushAll();
  }

  private hand(kind: "copy" | "write" | "encode", bytes: Buffer): void {
    const { writer } = this;
    const around = Buffer.concat([Buffer.from("##"), bytes, Buffer.from("##")]);
    if (kind === "copy") writer.copy(around, 2, 2 + bytes.length);
    else if (kind === "write") {
      const goesOn = writer.write(around, 2, 2 + bytes.length);
      expect(goesOn).toBe(writer.closed || !writer.blocked);
    } else {
      const out = writer.reserve(bytes.length);
      const at = writer.offset;
      bytes.copy(out, at);
      writer.commit(at + bytes.length);
    }
    // What was copied may change at once; what was written may not, and does not here.
    if (kind === "copy") around.fill(0);
    this.put.push(bytes);
  }

  private bytes(count: number): Buffer {
    const from = this.next;
    this.next += count;
    return Buffer.from(Array.from({ length: count }, (_, i) => ((from + i) * 7 + ((from + i) >> 7)) & 255));
  }
}

test("every byte comes out once and in order, whatever the kernel takes", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const run = new Run();
      for (const each of steps) {
        run.take(each);
        expect(run.expected.subarray(0, run.socket.sent.length).equals(run.socket.sent)).toBe(true);
      }
      run.finish();
      expect(run.socket.sent.equals(run.expected)).toBe(true);
      expect(run.writer.isEmpty()).toBe(true);
      expect(run.writer.blocked).toBe(false);
      expect([run.slabs.out.size, run.slabs.strangers]).toEqual([0, 0]);
    }),
    { numRuns: 300 },
  );
});

/** The peer goes away between the first steps and the others. */
function abandoned(before: readonly Step[], after: readonly Step[]): Run {
  const run = new Run();
  for (const each of before) run.take(each);
  run.socket.isGone = true;
  for (const each of after) run.take(each);
  run.group.flushAll();
  run.writer.onDrain();
  run.writer.close();
  return run;
}

const some = fc.array(step, { maxLength: 12 });

test("a peer that goes away costs nothing: no exception, no byte out of order", () => {
  fc.assert(
    fc.property(some, some, (before, after) => {
      const { socket, expected } = abandoned(before, after);
      expect(expected.subarray(0, socket.sent.length).equals(socket.sent)).toBe(true);
    }),
    { numRuns: 300 },
  );
});

test("when the peer goes away, every slab comes back", () => {
  fc.assert(
    fc.property(some, some, (before, after) => {
      const { slabs } = abandoned(before, after);
      expect([slabs.out.size, slabs.strangers]).toEqual([0, 0]);
    }),
    { numRuns: 300 },
  );
});

test("small writes of a turn leave in one system call", () => {
  const run = new Run();
  for (let i = 0; i < 50; i++) run.take({ kind: i % 2 === 0 ? "copy" : "encode", length: 100 });
  expect(run.socket.writes).toBe(0);
  run.take({ kind: "flush" });
  expect(run.socket.writes).toBe(1);
});
