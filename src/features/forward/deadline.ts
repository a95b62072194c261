import { Fault } from "../../core/fault.ts";
import { MAX_FREE_EXCHANGES } from "../../core/limits.ts";
import { type TimerHolder, TimerNode, type TimerWheel } from "../../core/timer-wheel.ts";
import { type Exchange, ExchangeState } from "../../message/exchange.ts";
import type { Held, NowMs } from "../../message/ports.ts";

/** The time limits of one route's exchanges: `timeouts.total`. */
export class Deadlines {
  readonly wheel: TimerWheel;
  private readonly totalMs: number;
  private readonly turn: NowMs;
  private readonly free: Deadline[] = [];

  /** @param totalMs from the start of forwarding to the end of the answer; 0 is no limit */
  constructor(totalMs: number, wheel: TimerWheel, turn: NowMs) {
    this.totalMs = totalMs;
    this.wheel = wheel;
    this.turn = turn;
  }

  /** Limits the exchange, where the route has a limit. */
  start(ex: Exchange): void {
    if (this.totalMs === 0) return;
    const deadline = this.free.pop() ?? new Deadline(this);
    deadline.begin(ex, this.turn.nowMs + this.totalMs);
    ex.deadline = deadline;
  }

  /** Keeps a deadline for the next exchange. */
  take(deadline: Deadline): void {
    if (this.free.length < MAX_FREE_EXCHANGES) this.free.push(deadline);
  }
}

/** One exchange's time limit: 504 while nothing has been answered, a cut after that. */
class Deadline implements TimerHolder, Held {
  private readonly owner: Deadlines;
  private readonly node: TimerNode = new TimerNode(this);
  private ex: Exchange | null = null;

  constructor(owner: Deadlines) {
    this.owner = owner;
  }

  begin(ex: Exchange, atMs: number): void {
    this.ex = ex;
    this.owner.wheel.arm(this.node, atMs);
  }

  /** The exchange is over, or no longer limited. */
  release(): void {
    const { ex } = this;
    if (ex === null) return;
    this.ex = null;
    ex.deadline = null;
    this.owner.wheel.disarm(this.node);
    this.owner.take(this);
  }

  onTimer(): void {
    const { ex } = this;
    if (ex === null) return;
    this.release();
    if (ex.state === ExchangeState.Finished) return;
    // No answer within the limit is the target's failure; an answer that takes too long is not, nor is a client whose body does.
    if (ex.target !== null && ex.attemptedMs >= 0) ex.target.onFailure(ex, ex.bodyDone ? TOO_LATE : SENT_LATE);
    ex.body.onBodyFault(ex, Fault.UpstreamTimeout);
    ex.source.onCancelled(ex);
    ex.sink.abort(ex, Fault.UpstreamTimeout);
  }
}

/** While the body comes, an origin that does not take it is timed by response_header. */
const SENT_LATE = { fault: Fault.BodyTimeout, sent: true, bodyTaken: true, answered: false, reused: false } as const;
const TOO_LATE = { fault: Fault.UpstreamTimeout, sent: true, bodyTaken: true, answered: false, reused: false } as const;
