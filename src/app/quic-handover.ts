import { H3_CALM_MS, H3_HANDOVER_POLL_MS, H3_LEAVE_MS, H3_SERVE_MS } from "../core/limits.ts";
import type { H3Endpoint } from "../edge/h3-endpoint.ts";
import type { QuicEndpoint } from "../net/quic.ts";

const enum Phase {
  /** All requests are served; whether some are in progress is watched. */
  Serving,
  /** The connections that are there have been told to close; new ones are served. */
  Leaving,
  /** New connections are refused, since there was no moment in which nothing began. */
  Refusing,
}

/**
 * Makes ready to let the port go. The runtime cannot share it, a connection cannot move to another process, and one whose
 * handshake is interrupted cannot be told, so that its client would wait for ten seconds. So connections are taken and served
 * until none is in use; after a second at most, the first moment is taken in which nothing begins.
 * docs/operations.md#replacing-the-binary
 */
export class QuicHandover {
  private readonly endpoint: QuicEndpoint;
  private readonly connections: H3Endpoint;
  private readonly onReady: () => void;
  private readonly poll: Timer;
  private phase: Phase = Phase.Serving;
  private sinceMs: number = performance.now();

  /** @param onReady is called once, when all connections may be closed and the port released */
  constructor(endpoint: QuicEndpoint, connections: H3Endpoint, onReady: () => void) {
    this.endpoint = endpoint;
    this.connections = connections;
    this.onReady = onReady;
    this.poll = setInterval(() => this.look(performance.now()), H3_HANDOVER_POLL_MS);
  }

  private look(nowMs: number): void {
    const { connections, phase } = this;
    const passedMs = nowMs - this.sinceMs;
    const isCalm = !connections.isBusy(nowMs);
    if (phase === Phase.Serving) {
      if (!isCalm && passedMs < H3_SERVE_MS) return;
      connections.drain();
      this.enter(Phase.Leaving, nowMs);
    } else if (isCalm || (passedMs >= H3_LEAVE_MS && !connections.isBeginning(nowMs))) this.end();
    else if (passedMs < H3_LEAVE_MS + H3_CALM_MS) return;
    else if (phase === Phase.Refusing) this.end();
    else {
      this.endpoint.busy = true;
      this.enter(Phase.Refusing, nowMs);
    }
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
