import type { Exchange } from "../../message/exchange.ts";
import type { SlotGate } from "../../message/slot-gate.ts";
import type { UpstreamFailure } from "../../message/upstream.ts";
import { BalancedTarget, type TargetInit } from "./balancer.ts";

/** A target to which only so many exchanges are under way at once. docs/pressure.md#concurrency */
export class LimitedTarget extends BalancedTarget {
  private readonly gate: SlotGate;
  private readonly lane: number;

  constructor(init: TargetInit, index: number, nodeIndex: number, gate: SlotGate, lane: number) {
    super(init, index, nodeIndex);
    this.gate = gate;
    this.lane = lane;
  }

  override enter(ex: Exchange): boolean {
    if (!this.gate.moveTo(ex, this.lane)) return false;
    if (super.enter(ex)) return true;
    this.gate.leave(ex, this.lane);
    return false;
  }

  override enterAnyway(ex: Exchange): this | null {
    return this.gate.moveTo(ex, this.lane) ? super.enterAnyway(ex) : null;
  }

  override onReplaced(ex: Exchange): void {
    super.onReplaced(ex);
    // An exchange that came in at the gate takes its slot along.
    this.gate.leave(ex, this.lane);
  }

  override onFailure(ex: Exchange, failure: UpstreamFailure): void {
    super.onFailure(ex, failure);
    this.gate.leave(ex, this.lane);
  }

  override onOver(ex: Exchange): void {
    super.onOver(ex);
    this.gate.leave(ex, this.lane);
  }
}
