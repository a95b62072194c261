// docs/waf.md#responses: what is held of responses, within its bound.
import { describe, expect, test } from "bun:test";
import { Fault } from "../../../../src/core/fault.ts";
import { TimerWheel } from "../../../../src/core/timer-wheel.ts";
import { HeldRoom, LeakPolicy } from "../../../../src/features/waf/responses/leak-guard.ts";
import { LeakSink } from "../../../../src/features/waf/responses/leak-sink.ts";
import { Exchange, type ResponseSink } from "../../../../src/message/exchange.ts";
import { IDLE_PORTS } from "../../../../src/message/idle-ports.ts";
import { Framing } from "../../../../src/message/request-head.ts";

const LEAK = "sqlite3.OperationalError: near a";

/** A response in chunks on its way to a client that notes what it gets. */
function lab(roomBytes: number) {
  const got: string[] = [];
  const inner = {
    head: () => got.push("head"),
    body: (_ex: Exchange, bytes: Uint8Array, from: number, to: number) => {
      got.push(Buffer.from(bytes.subarray(from, to)).toString());
      return true;
    },
    end: () => got.push("end"),
    abort: (_ex: Exchange, fault: Fault) => got.push(fault === Fault.ResponseWithheld ? "withheld" : "cut"),
  } as unknown as ResponseSink;
  const room = new HeldRoom(roomBytes);
  const turn = { nowMs: 1000 };
  const wheel = new TimerWheel(1000, (error) => {
    throw error;
  });
  const listener = { onInspected() {}, onIncident() {}, onBudgetExhausted() {}, onOverLimit() {} };
  const policy = new LeakPolicy(
    { withholds: true, disabledRules: [], exclusions: [] },
    { listener, clock: turn, wheel, turn, idle: IDLE_PORTS, room, allowedIps: { has: () => false } },
  );
  const ex = new Exchange(IDLE_PORTS);
  const origin = { cancelled: 0, onWritable() {}, onCancelled: () => origin.cancelled++ };
  ex.source = origin;
  ex.response.fromUpstream = true;
  ex.response.framing = Framing.Chunked;
  ex.response.headers.resetOwn();
  ex.response.headers.add("Content-Type", "text/html");
  const sink = new LeakSink(inner, policy);
  const send = (text: string) => sink.body(ex, Buffer.from(text), 0, Buffer.byteLength(text));
  sink.head(ex);
  return { sink, ex, send, got, room, origin, wheel };
}

const ROOM = 100_000;

describe("a response that is held", () => {
  test("goes out whole at its end, and its room is free again", () => {
    const { sink, ex, send, got, room } = lab(ROOM);
    expect([send("a"), send("b"), got]).toEqual([true, true, []]);
    expect(room.take(ROOM)).toBe(false);
    sink.end(ex);
    expect(got).toEqual(["head", "ab", "end"]);
    expect(room.take(ROOM)).toBe(true);
  });

  test("is withheld, its origin is left, and what still comes of it is dropped", () => {
    const { sink, ex, send, got, room, origin } = lab(ROOM);
    send("a");
    send(LEAK);
    expect([got, origin.cancelled]).toEqual([[], 0]);
    sink.end(ex);
    expect([got, origin.cancelled, ex.source === origin]).toEqual([["withheld"], 1, true]);
    send("more");
    sink.end(ex);
    expect(got).toEqual(["withheld"]);
    expect(room.take(ROOM)).toBe(true);
  });

  test("of which enough has come goes on by itself", () => {
    const { send, got, room } = lab(ROOM);
    send("a".repeat(10_000));
    send("b".repeat(10_000));
    expect(got.map((one) => one.length)).toEqual([4, 10_000, 10_000]);
    send(LEAK);
    expect(got.at(-1)).toBe(LEAK);
    expect(room.take(ROOM)).toBe(true);
  });

  test("whose client leaves gives its room back, and its origin is told", () => {
    const { ex, send, got, room, origin } = lab(ROOM);
    send("a");
    ex.source.onCancelled(ex);
    expect([origin.cancelled, got, room.take(ROOM)]).toEqual([1, [], true]);
  });

  test("whose origin fails is cut by that, and gives its room back", () => {
    const { sink, ex, send, got, room } = lab(ROOM);
    send("a");
    sink.abort(ex, Fault.UpstreamTimeout);
    expect([got, room.take(ROOM)]).toEqual([["cut"], true]);
  });

  test("for a second goes out, and is looked at on its way, across its pieces", () => {
    const { send, got, wheel, origin } = lab(ROOM);
    send(`a${LEAK.slice(0, 12)}`);
    wheel.advance(1500);
    expect(got).toEqual([]);
    wheel.advance(2500);
    expect(got).toEqual(["head", `a${LEAK.slice(0, 12)}`]);
    send(LEAK.slice(12));
    expect([got.slice(2), origin.cancelled]).toEqual([["withheld"], 1]);
  });
});

test("without room a response goes out as it comes, and is looked at on its way", () => {
  const { send, got } = lab(10);
  send("a");
  send("b");
  expect(got).toEqual(["head", "a", "b"]);
  send(LEAK);
  expect(got.slice(3)).toEqual(["withheld"]);
});
