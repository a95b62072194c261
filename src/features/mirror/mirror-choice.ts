import type { Exchange, Target, Upstream } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";
import type { TargetChoice } from "../../message/target.ts";

/** Failures in a row after which a worker leaves a mirror out, and for how long. */
export const MIRROR_FAILURES = 5;
export const MIRROR_REST_MS = 10_000;

/** The worker, as a mirror sees it. */
interface MirrorPorts {
  /** Is told of every request that goes there. */
  readonly onSent: () => void;
  /** Whether an operator has taken it out. */
  readonly isDrained: () => boolean;
}

/**
 * The mirror of a route as a target: alone, never tried twice, and left out for MIRROR_REST_MS after MIRROR_FAILURES in a row.
 * It shares no breaker with any target that clients wait for. docs/upstreams.md#mirroring
 */
export class MirrorChoice implements TargetChoice, Target {
  readonly upstream: Upstream;
  readonly basePath: Buffer;
  private readonly turn: NowMs;
  private readonly ports: MirrorPorts;
  private failures = 0;
  private outUntilMs = 0;

  /**
   * @param basePath `/api`, or ""
   */
  constructor(upstream: Upstream, basePath: string, turn: NowMs, ports: MirrorPorts) {
    this.upstream = upstream;
    this.basePath = Buffer.from(basePath, "latin1");
    this.turn = turn;
    this.ports = ports;
  }

  /** Whether it gets no requests for now. */
  isOut(): boolean {
    return this.ports.isDrained() || (this.failures >= MIRROR_FAILURES && this.turn.nowMs < this.outUntilMs);
  }

  choose(ex: Exchange): Target | null {
    const { nowMs } = this.turn;
    if (this.isOut()) return null;
    // After a rest one request tries it.
    if (this.failures >= MIRROR_FAILURES) this.outUntilMs = nowMs + MIRROR_REST_MS;
    ex.attempt.target = this;
    ex.attempt.attemptedMs = nowMs;
    this.ports.onSent();
    return this;
  }

  chooseAgain(): null {
    return null;
  }

  onAnswer(ex: Exchange): void {
    ex.attempt.attemptedMs = -1;
    this.failures = 0;
  }

  onReplaced(): void {}

  onFailure(ex: Exchange): void {
    ex.attempt.target = null;
    if (++this.failures >= MIRROR_FAILURES) this.outUntilMs = this.turn.nowMs + MIRROR_REST_MS;
  }

  onOver(ex: Exchange): void {
    ex.attempt.target = null;
  }
}
