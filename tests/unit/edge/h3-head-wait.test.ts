import { expect, test } from "bun:test";
import type { QuicSession, QuicStream } from "node:quic";
import { TICK_MS } from "../../../src/core/timer-wheel.ts";
import { H3Endpoint } from "../../../src/edge/h3-endpoint.ts";
import { ClientSession, SETTINGS } from "./client-session.ts";

/** The runtime's stream as far as a head that is slow to come goes. */
class FakeStream {
  readonly direction: string = "bidi";
  readonly gone = Promise.withResolvers<void>();
  readonly closed: Promise<void> = this.gone.promise;
  code = -1;
  onheaders: (fields: object) => void = () => {};

  constructor(direction = "bidi") {
    this.direction = direction;
  }

  destroy(_error: undefined, { code }: { readonly code: number }): void {
    this.code = code;
    this.gone.resolve();
  }

  /** Nothing behind the head. */
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array[]> {
    return { next: () => new Promise(() => {}) };
  }
}

function connect() {
  const { ctx, wheel, turn, exceptions } = new ClientSession(() => {});
  const never = new Promise<void>(() => {});
  const session = { opened: never, closed: never, onstream: (_stream: QuicStream) => {} };
  const observer = { onStreamOpen: () => {}, onStreamClose: () => {} };
  const rules = { maxListBytes: 4096, maxFields: 100, refusesUnknownPseudo: true, allowsConnectProtocol: false };
  const endpoint = new H3Endpoint(ctx, rules, observer);
  endpoint.accept(session as unknown as QuicSession);
  const open = (stream: FakeStream): FakeStream => {
    session.onstream(stream as unknown as QuicStream);
    return stream;
  };
  const pass = (ms: number): void => {
    turn.nowMs += ms;
    wheel.advance(turn.nowMs);
  };
  return { open, pass, exceptions };
}

// RFC 9114 §4.1.1: rejected, so that the client may send it again.
const REJECTED = 0x10b;

test("a stream whose head does not come is rejected after the header timeout, and no sooner", () => {
  const { open, pass, exceptions } = connect();
  const stream = open(new FakeStream());
  pass(SETTINGS.headerTimeoutMs - TICK_MS);
  expect(stream.code).toBe(-1);
  const later = open(new FakeStream());
  pass(3 * TICK_MS);
  expect([stream.code, later.code, exceptions]).toEqual([REJECTED, -1, []]);
});

test("neither one whose head has come, nor one that is gone, nor the connection's own", async () => {
  const { open, pass } = connect();
  const answered = open(new FakeStream());
  answered.onheaders({
    ":method": "GET",
    ":scheme": "https",
    ":authority": "a.test",
    ":path": "/",
    "content-length": "9",
  });
  const gone = open(new FakeStream());
  gone.gone.resolve();
  const own = open(new FakeStream("uni"));
  await Bun.sleep(0);
  pass(2 * SETTINGS.headerTimeoutMs);
  expect([answered.code, gone.code, own.code]).toEqual([-1, -1, -1]);
});
