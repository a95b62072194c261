import { blamesOrigin, Fault } from "../../core/fault.ts";
import type { ArmTally } from "../../message/arm-tally.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { SlotGate } from "../../message/slot-gate.ts";
import type { UpstreamFailure } from "../../message/upstream.ts";
import type { TargetInit } from "./balancer.ts";
import { LimitedTarget } from "./limited-target.ts";

/** A target of a route with a canary: its responses are counted for its version. docs/pressure.md#canaries */
export class TalliedTarget extends LimitedTarget {
  private readonly tally: ArmTally;

  constructor(init: TargetInit, index: number, nodeIndex: number, tally: ArmTally) {
    super(init, index, nodeIndex, init.slots?.gate ?? NO_GATE, init.slots?.lane ?? 0);
    this.tally = tally;
  }

  override onAnswer(ex: Exchange, status: number): void {
    this.tally.answered(status, ex.attempt.upstreamMs);
    super.onAnswer(ex, status);
  }

  override onFailure(ex: Exchange, failure: UpstreamFailure): void {
    const isStale = failure.reused && !failure.answered && failure.fault === Fault.UpstreamUnavailable;
    if (!isStale && blamesOrigin(failure.fault)) this.tally.failed();
    super.onFailure(ex, failure);
  }
}

const NO_GATE: SlotGate = { hasRoom: () => true, moveTo: () => true, leave() {}, useLanes() {} };
