import { blamesOrigin, Fault } from "../../core/fault.ts";
import type { ArmTally } from "../../message/arm-tally.ts";
import type { Exchange } from "../../message/exchange.ts";
import { endsBadly } from "../../message/exchange-end.ts";
import type { SlotGate } from "../../message/slot-gate.ts";
import { servedMs } from "../../message/took-ms.ts";
import type { UpstreamFailure } from "../../message/upstream.ts";
import type { TargetInit } from "./balancer.ts";
import { LimitedTarget } from "./limited-target.ts";

/** A target of a route with a canary: its responses are counted for its version. docs/pressure.md#canaries */
export class TalliedTarget extends LimitedTarget {
  private readonly tally: ArmTally;
  /** Exchanges whose responses have been counted as bad at their heads. */
  private readonly bad: Set<Exchange> = new Set();

  constructor(init: TargetInit, index: number, nodeIndex: number, tally: ArmTally) {
    super(init, index, nodeIndex, init.slots?.gate ?? NO_GATE, init.slots?.lane ?? 0);
    this.tally = tally;
  }

  override onAnswer(ex: Exchange, status: number): void {
    const { attempt } = ex;
    const isBad = status >= 500 || attempt.grpcFailed;
    if (isBad) this.bad.add(ex);
    const ms = servedMs(ex, attempt.beganMs, attempt.beganMs + attempt.times[attempt.count - 1]!);
    this.tally.answered(isBad, ms);
    super.onAnswer(ex, status);
  }

  override onReplaced(ex: Exchange): void {
    this.bad.delete(ex);
    super.onReplaced(ex);
  }

  override onOver(ex: Exchange): void {
    // At its head it was good.
    if (!this.bad.delete(ex) && ex.response.status >= 100 && endsBadly(ex)) this.tally.failed();
    super.onOver(ex);
  }

  override onFailure(ex: Exchange, failure: UpstreamFailure): void {
    const isStale = failure.reused && !failure.answered && failure.fault === Fault.UpstreamUnavailable;
    if (!isStale && blamesOrigin(failure.fault)) this.tally.failed();
    super.onFailure(ex, failure);
  }
}

const NO_GATE: SlotGate = { hasRoom: () => true, moveTo: () => true, leave() {}, useLanes() {} };
