import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Fault } from "../../../src/core/fault.ts";
import { H2_STREAM_WINDOW_BYTES } from "../../../src/core/limits.ts";
import type { GrpcCall, GrpcListener, GrpcStatus } from "../../../src/message/grpc-upstream.ts";
import { IDLE_PORTS } from "../../../src/message/idle-ports.ts";
import { threadResolver } from "../../../src/net/name-resolver.ts";
import { GrpcOrigin, MAX_GRPC_CONNECTIONS } from "../../../src/upstream/grpc-origin.ts";
import { H2_ORIGIN_CHURN_BURST } from "../../../src/upstream/h2-origin-pool.ts";
import { END_HEADERS, END_STREAM, encode, frameBytes, PREFACE, Type } from "../../harness/h2-client.ts";
import { grpcFrame } from "../../harness/raw-grpc-server.ts";
import { ClientSession } from "../edge/client-session.ts";
import { FakeConnect } from "../features/forward/fake-connect.ts";

let connect: FakeConnect;
let exceptions: unknown[];
let origin: GrpcOrigin;
let turn: { nowMs: number };
beforeEach(() => {
  connect = new FakeConnect();
  const session = new ClientSession(() => {}, {}, []);
  const { ctx, wheel } = session;
  turn = session.turn;
  exceptions = [];
  const context = {
    writers: ctx.writers,
    wheel,
    turn: session.turn,
    idlePorts: IDLE_PORTS,
    names: threadResolver(() => {}),
    onFailed: () => {},
    onLeniency: () => {},
    onException: (error: unknown) => void exceptions.push(error),
  };
  origin = new GrpcOrigin(
    {
      originKey: "http://127.0.0.1:50051",
      hostname: "127.0.0.1",
      port: 50051,
      authority: "127.0.0.1:50051",
      basePath: "",
      tls: null,
      maxIdleConnections: 1,
      maxResponseFields: 100,
      connectTimeoutMs: 1000,
      idleTimeoutMs: 1000,
    },
    context,
  );
});
afterEach(() => connect.restore());

/** Writes down what comes, and does with a message what the test says. */
class Seen implements GrpcListener {
  readonly events: string[] = [];
  call!: GrpcCall;
  private readonly onText: (seen: Seen) => void;

  constructor(onText: (seen: Seen) => void = () => {}) {
    this.onText = onText;
  }

  onMetadata(): void {}

  onMessage(message: Uint8Array): void {
    this.events.push(message.length > 10 ? `${message.length} bytes` : Buffer.from(message).toString());
    this.onText(this);
  }

  onEnd(status: GrpcStatus): void {
    this.events.push(`status ${status.code}`);
  }

  onFailure(fault: Fault): void {
    this.events.push(Fault.InternalError === fault ? "internal error" : `fault ${fault}`);
  }
}

const REQUEST = {
  path: "/a.B/C",
  contentType: "application/grpc",
  metadata: [],
  message: Buffer.from("q"),
  timeoutMs: 9000,
};

function begin(seen: Seen): Seen {
  seen.call = origin.call(REQUEST, seen);
  return seen;
}

/** The origin sends these frames in one piece. */
function send(...frames: Buffer[]): void {
  connect.last.send(Buffer.concat(frames).toString("latin1"));
}

const settings = (): Buffer => frameBytes(Type.settings, 0, 0);
const head = (id: number): Buffer =>
  frameBytes(
    Type.headers,
    END_HEADERS,
    id,
    encode([
      [":status", "200"],
      ["content-type", "application/grpc"],
    ]),
  );
const message = (id: number, text: string): Buffer => frameBytes(Type.data, 0, id, grpcFrame(text));
const end = (id: number): Buffer =>
  frameBytes(Type.headers, END_HEADERS | END_STREAM, id, encode([["grpc-status", "0"]]));
const answer = (id: number, text: string): Buffer => Buffer.concat([head(id), message(id, text), end(id)]);

/** Frames of a type that the origin has got for a stream. */
async function got(type: number, id: number): Promise<number> {
  await new Promise(setImmediate);
  const bytes = Buffer.from(connect.last.got.replace(PREFACE, ""), "latin1");
  let count = 0;
  for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) {
    if (bytes[at + 3] === type && bytes.readUInt32BE(at + 5) === id) count++;
  }
  return count;
}

function connected(...calls: Seen[]): void {
  for (const call of calls) begin(call);
  connect.last.open();
  send(settings());
}

test("what a listener throws costs its call alone", () => {
  const [bad, good] = [
    new Seen(() => {
      throw new Error("bad");
    }),
    new Seen(),
  ];
  connected(bad, good);
  send(answer(1, "a"), answer(3, "b"));
  expect([bad.events, good.events]).toEqual([
    ["a", "internal error"],
    ["b", "status 0"],
  ]);
  expect(exceptions.map(String)).toEqual(["Error: bad"]);
  expect([connect.attempts.length, connect.last.isEnded]).toEqual([1, false]);
});

test("a call that is made while another is given up gets nothing of the other's", () => {
  const second = new Seen();
  const first = new Seen(({ call }) => {
    call.cancel();
    if (first.events.length === 1) begin(second);
  });
  connected(first);
  send(head(1), message(1, "a"), message(1, "b"), end(1));
  send(answer(3, "c"));
  expect([first.events, second.events]).toEqual([["a"], ["c", "status 0"]]);
  expect(exceptions).toEqual([]);
});

test("the handle of a call that is over does nothing to the next", () => {
  const [first, second] = [new Seen(), new Seen()];
  connected(first);
  send(answer(1, "a"));
  begin(second);
  first.call.pause();
  first.call.resume();
  first.call.cancel();
  send(answer(3, "b"));
  expect([first.events, second.events]).toEqual([
    ["a", "status 0"],
    ["b", "status 0"],
  ]);
});

test("a call that is paused opens no window for its origin, and goes on where it stopped", async () => {
  const seen = new Seen(({ call }) => call.pause());
  const half = H2_STREAM_WINDOW_BYTES / 2;
  connected(seen);
  send(head(1), message(1, "a"));
  for (let sent = 0; sent < half; sent += 16_000) send(message(1, "x".repeat(15_995)));
  expect([seen.events, await got(Type.windowUpdate, 1)]).toEqual([["a"], 0]);
  seen.call.resume();
  expect(seen.events.length).toBe(2);
  for (let i = 0; i < 20; i++) seen.call.resume();
  send(end(1));
  expect(seen.events).toEqual(["a", ...Array.from({ length: 9 }, () => "15995 bytes"), "status 0"]);
  expect(await got(Type.windowUpdate, 1)).toBe(1);
});

test("an error after messages comes in a turn of its own, unless the call is given up before", async () => {
  const [first, second] = [new Seen(), new Seen()];
  connected(first, second);
  const failed = (id: number): Buffer =>
    frameBytes(Type.headers, END_HEADERS | END_STREAM, id, encode([["grpc-status", "9"]]));
  send(head(1), message(1, "a"), failed(1), head(3), message(3, "b"), failed(3));
  second.call.cancel();
  expect([first.events, second.events]).toEqual([["a"], ["b"]]);
  await new Promise(setImmediate);
  expect([first.events, second.events]).toEqual([["a", "status 9"], ["b"]]);
});

test("a call that its origin leaves out twice fails", () => {
  const seen = new Seen();
  const goAway = frameBytes(7, 0, 0, Buffer.alloc(8));
  connected(seen);
  send(goAway);
  expect([seen.events, connect.attempts.length]).toEqual([[], 2]);
  connect.last.open();
  send(settings());
  send(goAway);
  expect([seen.events, connect.attempts.length]).toEqual([[`fault ${Fault.UpstreamUnavailable}`], 2]);
});

describe("a stream of requests", () => {
  /** The payloads of DATA that the origin has got for a stream, and whether the last of them ends it. */
  async function sent(id: number): Promise<{ bytes: number; isEnded: boolean }> {
    await new Promise(setImmediate);
    const all = Buffer.from(connect.last.got.replace(PREFACE, ""), "latin1");
    let bytes = 0;
    let isEnded = false;
    for (let at = 0; at < all.length; at += 9 + all.readUIntBE(at, 3)) {
      if (all[at + 3] !== Type.data || all.readUInt32BE(at + 5) !== id) continue;
      bytes += all.readUIntBE(at, 3);
      isEnded = (all[at + 4]! & END_STREAM) !== 0;
    }
    return { bytes, isEnded };
  }

  class Streaming extends Seen {
    onSendable(): void {
      this.events.push("sendable");
    }
  }

  function stream(): Streaming {
    const seen = new Streaming();
    seen.call = origin.call({ ...REQUEST, message: null }, seen);
    return seen;
  }

  test("waits for the connection, and says when it goes on", async () => {
    const seen = stream();
    expect(seen.call.send(Buffer.from("first"))).toBe(false);
    connect.last.open();
    send(settings());
    expect([seen.events, await sent(1)]).toEqual([["sendable"], { bytes: 10, isEnded: false }]);
    expect(seen.call.send(Buffer.from("second"))).toBe(true);
    seen.call.endRequests();
    expect(await sent(1)).toEqual({ bytes: 21, isEnded: true });
    send(answer(1, "a"));
    expect(seen.events).toEqual(["sendable", "a", "status 0"]);
  });

  test("without a message ends at once, whether the connection is there or not", async () => {
    const first = stream();
    first.call.endRequests();
    connect.last.open();
    send(settings());
    expect(await sent(1)).toEqual({ bytes: 0, isEnded: true });
    stream().call.endRequests();
    expect(await sent(3)).toEqual({ bytes: 0, isEnded: true });
  });

  test("stops at the origin's window, and ends behind what waits for it", async () => {
    const seen = stream();
    connect.last.open();
    send(settings());
    expect(seen.call.send(Buffer.alloc(100_000))).toBe(false);
    expect(seen.call.send(Buffer.from("more"))).toBe(false);
    seen.call.endRequests();
    expect(await sent(1)).toEqual({ bytes: 65_535, isEnded: false });
    const window = (id: number): Buffer => frameBytes(Type.windowUpdate, 0, id, Buffer.from([0, 1, 0, 0]));
    send(window(0), window(1));
    expect([await sent(1), seen.events]).toEqual([{ bytes: 100_014, isEnded: true }, ["sendable"]]);
  });

  test("that the origin has not looked at goes over a new connection while none of it was sent, and fails after that", () => {
    const goAway = frameBytes(7, 0, 0, Buffer.alloc(8));
    const seen = stream();
    connect.last.open();
    send(settings());
    send(goAway);
    expect([seen.events, connect.attempts.length]).toEqual([["sendable"], 2]);
    connect.last.open();
    send(settings());
    seen.call.send(Buffer.from("a"));
    send(goAway);
    expect(seen.events.at(-1)).toBe(`fault ${Fault.UpstreamUnavailable}`);
  });

  test("is over with the response, whatever is still sent", async () => {
    const seen = stream();
    connect.last.open();
    send(settings());
    seen.call.send(Buffer.from("a"));
    send(answer(1, "a"));
    expect([seen.call.send(Buffer.from("b")), seen.events.at(-1)]).toEqual([true, "status 0"]);
    seen.call.endRequests();
    expect(await got(Type.reset, 1)).toBe(1);
  });
});

describe("a call whose deadline is over", () => {
  /** A call a second after the last bytes of the connection, whose deadline is over after another. */
  function overdue(meanwhile: () => void): void {
    turn.nowMs += 1000;
    const { call } = begin(new Seen());
    turn.nowMs += 1000;
    meanwhile();
    call.cancel(true);
  }

  test("leaves a connection on which nothing came meanwhile: the next one gets a new connection", () => {
    const [slow, next] = [new Seen(), new Seen()];
    connected(slow);
    overdue(() => {});
    begin(next);
    expect(connect.attempts.length).toBe(2);
    const old = connect.attempts[0]!;
    connect.last.open();
    send(settings(), answer(1, "b"));
    expect(next.events).toEqual(["b", "status 0"]);
    // What is under way on the old one is not cut.
    old.send(answer(1, "a").toString("latin1"));
    expect([slow.events, old.isEnded]).toEqual([["a", "status 0"], true]);
  });

  test("stays where anything came, be it for another call", () => {
    const slow = new Seen();
    connected(slow);
    overdue(() => send(head(1)));
    begin(new Seen());
    expect([connect.attempts.length, connect.last.isEnded]).toEqual([1, false]);
  });

  test("one that its caller gives up says nothing of the connection", () => {
    connected(new Seen());
    turn.nowMs += 1000;
    const { call } = begin(new Seen());
    turn.nowMs += 1000;
    call.cancel();
    begin(new Seen());
    expect(connect.attempts.length).toBe(1);
  });
});

describe("connections of which each has one slow call and nothing else but cancelled ones", () => {
  const LIMIT = 2;
  const limited = (): Buffer => frameBytes(Type.settings, 0, 0, Buffer.from([0, 3, 0, 0, 0, LIMIT]));
  /** A connection with a slow call, and as many cancelled ones as take the other place for long. */
  function fill(): Seen {
    const slow = begin(new Seen());
    connect.last.open();
    connect.last.send(limited().toString("latin1"));
    for (let i = 0; i <= LIMIT; i++) begin(new Seen()).call.cancel();
    return slow;
  }

  test("do not let others wait, and the slow calls are answered", () => {
    const slow = Array.from({ length: MAX_GRPC_CONNECTIONS }, fill);
    expect(connect.attempts.length).toBe(MAX_GRPC_CONNECTIONS);
    const next = begin(new Seen());
    expect(connect.attempts.length).toBe(MAX_GRPC_CONNECTIONS + 1);
    connect.last.open();
    connect.last.send(Buffer.concat([limited(), answer(1, "b")]).toString("latin1"));
    for (const one of connect.attempts.slice(0, -1)) one.send(answer(1, "a").toString("latin1"));
    expect(next.events).toEqual(["b", "status 0"]);
    for (const one of slow) expect(one.events).toEqual(["a", "status 0"]);
  });

  test("are left at a bounded rate", () => {
    for (let i = 0; i < MAX_GRPC_CONNECTIONS * 4; i++) {
      const before = connect.attempts.length;
      const seen = begin(new Seen());
      if (connect.attempts.length === before) break;
      seen.call.cancel();
      fill();
    }
    expect(connect.attempts.length).toBe(MAX_GRPC_CONNECTIONS + H2_ORIGIN_CHURN_BURST);
  });
});
