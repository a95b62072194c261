import { Clock } from "../../../src/core/clock.ts";
import { TICK_MS, TimerWheel, Turn } from "../../../src/core/timer-wheel.ts";
import { ClientSocketPorts, type ConnectionSettings } from "../../../src/edge/client-socket.ts";
import { H1Connection } from "../../../src/edge/h1-connection.ts";
import { ClientPeer } from "../../../src/message/client-peer.ts";
import { type Exchange, type Phase, Pipeline, Verdict } from "../../../src/message/exchange.ts";
import { IDLE_PORTS as IDLE } from "../../../src/message/idle-ports.ts";
import { WriterGroup } from "../../../src/net/socket-buffers.ts";
import { budgetOf } from "../features/ingest/body-route.ts";
import { CountedSlabs } from "../net/counted-slabs.ts";
import { FakeSocket } from "../net/fake-socket.ts";
import { openGate } from "./open-gate.ts";

/** What a request's handler does; the connection is told afterwards that it is done with the way down. */
export type Script = (ex: Exchange) => void;

/** Times that are easy to tell apart. */
export const SETTINGS: ConnectionSettings = {
  headerTimeoutMs: 10_000,
  readTimeoutMs: 30_000,
  minBodyRate: 0,
  maxFields: 100,
  halfCloseGraceMs: 1000,
  writeTimeoutMs: 20_000,
  idleTimeoutMs: 120_000,
  maxHeadBytes: 65536,
  logsAddresses: false,
  proxies: null,
  http2: null,
};

const START_MS = 1000;

/** Time that stands still until a test moves it. */
class StillTurn extends Turn {
  override nowMs: number = START_MS;

  override begin(): void {}
}

/** One client connection on a fake socket: a test is the client, the kernel, the clock and the handler. */
export class ClientSession {
  readonly socket: FakeSocket = new FakeSocket();
  readonly slabs: CountedSlabs = new CountedSlabs();
  readonly turn: Turn = new StillTurn();
  readonly ctx: ClientSocketPorts;
  readonly connection: H1Connection;
  /** Targets of the requests that reached the handler, in order. */
  readonly handled: string[] = [];
  /** Targets and status of the exchanges that are over; "cut" where no answer was complete. */
  readonly ended: string[] = [];
  readonly exceptions: unknown[] = [];
  closes = 0;
  readonly wheel: TimerWheel;

  /** @param script handles every request */
  constructor(script: Script, settings: Partial<ConnectionSettings> = {}, phases: readonly Phase[] = []) {
    const run = (ex: Exchange): Verdict => {
      this.handled.push(ex.request.target());
      script(ex);
      return Verdict.Done;
    };
    const onEnd = (ex: Exchange): void => void this.ended.push(`${ex.request.target()} ${ex.response.status || "cut"}`);
    const tap = { name: "record", onHead: () => {}, onEnd };
    this.wheel = new TimerWheel(START_MS, (error) => this.exceptions.push(error));
    this.ctx = new ClientSocketPorts({
      writers: new WriterGroup(this.slabs),
      wheel: this.wheel,
      clock: new Clock(() => 784_111_777_000),
      turn: this.turn,
      observer: {
        onOpen: () => {},
        onClose: () => this.closes++,
        onSecured: () => {},
        onRefused: () => {},
        onException: (error) => this.exceptions.push(error),
      },
      idlePorts: IDLE,
      bodies: budgetOf(64),
      gate: openGate(),
      settings: { ...SETTINGS, ...settings },
      pipeline: new Pipeline([...phases, { name: "script", run }], [], [tap]),
    });
    this.connection = new H1Connection(this.socket, this.ctx, new ClientPeer("192.0.2.7", false, 8080));
  }

  /** The client sends these texts or bytes, each in an event of its own. */
  send(...pieces: readonly (string | Uint8Array)[]): void {
    for (const piece of pieces) {
      const chunk = typeof piece === "string" ? Buffer.from(piece, "latin1") : Buffer.from(piece);
      this.inTurn(() => this.connection.onData(chunk));
    }
  }

  /** The same, one byte an event. */
  sendBytewise(text: string): void {
    for (const byte of Buffer.from(text, "latin1")) this.send(Uint8Array.of(byte));
  }

  /** The client ends its direction. */
  end(): void {
    this.inTurn(() => this.connection.onEnd());
  }

  /** The connection is gone. */
  lose(): void {
    this.socket.isGone = true;
    this.inTurn(() => this.connection.onClose());
  }

  /** The kernel takes bytes again, as many as are said. */
  drain(room: number = Number.POSITIVE_INFINITY): void {
    this.socket.room = room;
    this.inTurn(() => this.connection.onDrain());
  }

  /** One event, with what a listener does around it. */
  inTurn(event: () => void): void {
    try {
      event();
    } catch (error) {
      this.connection.onException(error);
      this.socket.terminate();
    }
    this.ctx.writers.flushAll();
  }

  /** Time passes, tick by tick. */
  wait(ms: number): void {
    const end = this.turn.nowMs + ms;
    while (this.turn.nowMs < end) {
      this.turn.nowMs = Math.min(end, this.turn.nowMs + TICK_MS);
      this.wheel.advance(this.turn.nowMs);
      this.ctx.writers.flushAll();
    }
  }

  /** All that the client has got, one character a byte. */
  get got(): string {
    return this.socket.text;
  }

  /** What ended the connection, in order: `shutdown`, `end`, `terminate`. */
  get endings(): string[] {
    return this.socket.calls.filter((call) => call !== "pause" && call !== "resume");
  }
}
