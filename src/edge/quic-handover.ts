import type { BlockList } from "node:net";
import type { QuicEndpoint } from "node:quic";
import { ignoreAll } from "../net/quic.ts";
import type { H3Endpoint } from "./h3-endpoint.ts";
import { H3_HOLD_MS } from "./h3-endpoint.ts";
import { H3_FRESH_MS } from "./h3-session.ts";

/** For how long a process that is being replaced serves HTTP/3 as before, where requests are under way. */
const H3_SERVE_MS = 700;
/** How often it is looked whether they are done. */
export const H3_HANDOVER_POLL_MS = 10;
/** For how long a process that is being replaced finishes requests of HTTP/3, the time before GOAWAY included. */
const H3_LEAVE_MS = 300;
/**
 * For how long a process that is being replaced waits for a moment in which no connection begins; for how long new connections are refused if none came; and
 * for how long requests are finished when every connection has got GOAWAY.
 */
const H3_CALM_MS = 150;
/** What the last responses over HTTP/3 have until they have left the runtime, which says no more than that it has taken them. */
const H3_FLUSH_MS = 60;

const enum Phase {
  /** All requests are served; whether some are in progress is watched. */
  Serving,
  /** The connections that were there get GOAWAY, and finish their requests; new ones are served. */
  Leaving,
  /** What comes over those that have been made since waits for the second GOAWAY. */
  Holding,
  /** New connections are refused, since there was no moment in which none began. */
  Refusing,
  /** Every connection has got GOAWAY, and nothing that comes is read: what is in progress is answered. */
  Ending,
}

/**
 * Makes ready to let the port go. The runtime cannot share it, a connection cannot move to another process, and one whose
 * handshake is interrupted cannot be told, so that its client would wait for ten seconds. So connections are accepted and served
 * until none is in use, for H3_SERVE_MS at most. Then those that are there get GOAWAY, and their clients connect again, to the same
 * process: so all get it a second time, in the first moment in which no connection begins, and whatever the clients send from then on
 * waits, unread, for the successor (RFC 9002 §6.2). docs/operations.md#replacing-the-binary
 */
export class QuicHandover {
  private readonly endpoint: QuicEndpoint;
  private readonly connections: H3Endpoint;
  private readonly ignored: BlockList;
  private readonly onReady: () => void;
  private readonly poll: Timer;
  private phase: Phase = Phase.Serving;
  private sinceMs: number = performance.now();
  /** When a request was in progress last. */
  private answeringMs = 0;

  /**
   * @param ignored is the endpoint's own list
   * @param onReady is called once, when all connections may be closed and the port released
   */
  constructor(endpoint: QuicEndpoint, connections: H3Endpoint, ignored: BlockList, onReady: () => void) {
    this.endpoint = endpoint;
    this.connections = connections;
    this.ignored = ignored;
    this.onReady = onReady;
    this.poll = setInterval(() => this.look(performance.now()), H3_HANDOVER_POLL_MS);
  }

  private look(nowMs: number): void {
    const { connections } = this;
    const passedMs = nowMs - this.sinceMs;
    switch (this.phase) {
      case Phase.Serving:
        if (connections.isBusy(nowMs) && passedMs < H3_SERVE_MS) return;
        connections.drain();
        this.enter(Phase.Leaving, nowMs);
        return;
      case Phase.Leaving:
        if (passedMs < H3_LEAVE_MS && (passedMs <= H3_HOLD_MS || connections.isBusy(nowMs))) return;
        connections.hold();
        this.enter(Phase.Holding, nowMs);
        return;
      case Phase.Holding:
        if (connections.size > 0 && passedMs < H3_HOLD_MS) return;
        if (passedMs < H3_HOLD_MS + H3_FRESH_MS && connections.isFresh(nowMs)) return;
        if (!connections.isBeginning(nowMs)) this.beginEnd(nowMs);
        else if (passedMs >= H3_HOLD_MS + H3_CALM_MS) {
          this.endpoint.busy = true;
          this.enter(Phase.Refusing, nowMs);
        }
        return;
      case Phase.Refusing:
        if (!connections.isBeginning(nowMs) || passedMs >= H3_CALM_MS) this.beginEnd(nowMs);
        return;
      case Phase.Ending:
        // One that the runtime had taken already may be announced late.
        connections.leave();
        if (connections.isAnswering) this.answeringMs = nowMs;
        if (nowMs - this.answeringMs >= H3_FLUSH_MS || passedMs >= H3_CALM_MS + H3_FLUSH_MS) this.end();
    }
  }

  private beginEnd(nowMs: number): void {
    this.connections.leave();
    ignoreAll(this.ignored);
    this.answeringMs = nowMs;
    this.enter(Phase.Ending, nowMs);
  }

  private enter(phase: Phase, nowMs: number): void {
    this.phase = phase;
    this.sinceMs = nowMs;
  }

  private end(): void {
    clearInterval(this.poll);
    this.onReady();
  }
}
