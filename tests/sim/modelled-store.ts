import type { BucketCall, BucketReplies, BucketReply } from "../../src/message/bucket-call.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** What is asked of the modelled store. */
export interface StoreModel {
  /** Milliseconds from a gateway to the store, and back. */
  readonly roundTripMs: number;
  /** Calls that it answers in a millisecond, one after the other. */
  readonly callsPerMs: number;
}

/**
 * One Redis as the gateways see it: one thread, which answers a call after the other, some way off. It does what
 * src/features/fleet/fleet-script.ts does: modelled-store.test.ts holds it to that.
 */
export class ModelledStore {
  /** Calls that it has answered, and the most of any second. */
  calls = 0;
  busiestSecond = 0;
  /** The longest time that a call waited for those before it. */
  longestQueueMs = 0;
  isAway = false;
  /** What a slow network adds to each call. */
  delayMs = 0;
  private readonly time: VirtualTime;
  private readonly model: StoreModel;
  private readonly fullAtUs: Map<string, number> = new Map();
  private readonly seconds: Map<number, number> = new Map();
  private freeAtMs = 0;

  constructor(time: VirtualTime, model: StoreModel) {
    this.time = time;
    this.model = model;
  }

  /** Answers calls of one gateway, later. */
  ask(calls: readonly BucketCall[], answer: (replies: BucketReplies) => void): void {
    const { time, model } = this;
    if (this.isAway) return time.at(time.nowMs + AWAY_MS, () => answer(null));
    const arrivesMs = time.nowMs + model.roundTripMs / 2 + this.delayMs;
    const startsMs = Math.max(arrivesMs, this.freeAtMs);
    this.longestQueueMs = Math.max(this.longestQueueMs, startsMs - arrivesMs);
    this.freeAtMs = startsMs + calls.length / model.callsPerMs;
    time.at(this.freeAtMs, () => {
      this.count(calls.length);
      const replies = calls.map((call) => this.take(call));
      time.at(time.nowMs + model.roundTripMs / 2, () => answer(replies));
    });
  }

  /** Forgets all. */
  flush(): void {
    this.fullAtUs.clear();
  }

  private take({ key, unitUs, capacityUs, spent, want }: BucketCall): BucketReply {
    const nowUs = this.time.nowMs * 1000;
    let full = Math.max(this.fullAtUs.get(key) ?? nowUs, nowUs) + spent * unitUs;
    const room = () => Math.floor((nowUs + capacityUs - full) / unitUs + 1e-6);
    const granted = Math.max(0, Math.min(want, room()));
    full += granted * unitUs;
    const left = room();
    this.fullAtUs.set(key, full);
    return { granted, left, waitMs: left < 1 ? (full + unitUs - nowUs - capacityUs) / 1000 : 0 };
  }

  private count(calls: number): void {
    this.calls += calls;
    const second = Math.floor(this.time.nowMs / 1000);
    const sum = (this.seconds.get(second) ?? 0) + calls;
    this.seconds.set(second, sum);
    this.busiestSecond = Math.max(this.busiestSecond, sum);
  }
}

/** How long a gateway takes to see that the store is away. */
const AWAY_MS = 1;
