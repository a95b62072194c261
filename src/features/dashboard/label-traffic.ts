import { type Percentiles, percentilesOf } from "../../core/latency-sketch.ts";
import {
  BLOCK_PLACES,
  BYTES_IN_AT,
  BYTES_OUT_AT,
  REQUESTS_AT,
  STEP_BOUNDS_MS,
  STEPS_AT,
  type TrafficReader,
} from "../../memory/traffic-blocks.ts";

/**
 * The traffic of routes, or of upstreams, in the last seconds: what their blocks have grown by between two looks, faded with each
 * look. The workers do nothing for it.
 */
export class LabelTraffic {
  private readonly blocks: TrafficReader;
  private readonly passedOver: string;
  /** The blocks of the last look, by the number of the label. */
  private readonly before: Map<number, Float64Array> = new Map();
  /** What they have grown by, faded, by label. */
  private readonly recent: Map<string, Float64Array> = new Map();

  /** @param passedOver a label that is not looked at; "" for none */
  constructor(blocks: TrafficReader, passedOver: string) {
    this.blocks = blocks;
    this.passedOver = passedOver;
  }

  /** Begins anew: what was counted until now is no traffic of the last seconds. */
  start(): void {
    this.stop();
    this.growth(() => {});
  }

  /** Forgets all. */
  stop(): void {
    this.before.clear();
    this.recent.clear();
  }

  /** A look; to be called once a second. */
  look(): void {
    for (const [label, block] of this.recent) {
      if (block[REQUESTS_AT]! < NOTHING) this.recent.delete(label);
      else for (let i = 0; i < BLOCK_PLACES; i++) block[i]! *= KEPT;
    }
    this.growth((label, block, before) => {
      const recent = this.recent.get(label) ?? new Float64Array(BLOCK_PLACES);
      for (let i = 0; i < BLOCK_PLACES; i++) recent[i]! += block[i]! - (before === undefined ? 0 : before[i]!);
      this.recent.set(label, recent);
    });
  }

  /** How busy a label is, to be compared with others. */
  weightOf(label: string): number {
    return this.recent.get(label)?.[REQUESTS_AT] ?? 0;
  }

  percentilesOf(label: string): Percentiles {
    const block = this.recent.get(label);
    return block === undefined ? null : percentilesOf(block.subarray(STEPS_AT), STEP_BOUNDS_MS);
  }

  /** Bytes of bodies a second, in and out. */
  bytesPerSecond(label: string): readonly [into: number, out: number] {
    const block = this.recent.get(label);
    // A geometric series: what is kept of a steady flow comes to 1 / (1 - KEPT) seconds of it.
    const perSecond = (at: number) => Math.round((block?.[at] ?? 0) * (1 - KEPT));
    return [perSecond(BYTES_IN_AT), perSecond(BYTES_OUT_AT)];
  }

  /** Gives each block in which a request was counted since the last look, and what it was then. */
  private growth(take: (label: string, block: Float64Array, before: Float64Array | undefined) => void): void {
    for (const [id, label] of this.blocks.labels().entries()) {
      const before = this.before.get(id);
      if (label === this.passedOver || this.blocks.requestsOf(id) === (before?.[REQUESTS_AT] ?? 0)) continue;
      if (before === undefined && this.before.size >= MAX_LABELS) continue;
      const block = this.blocks.block(id);
      take(label, block, before);
      this.before.set(id, block);
    }
  }
}

/** Share of what was seen of a label that is left a second later: half of it after three. */
const KEPT = 0.8;
/** Requests that have faded so far are gone. */
const NOTHING = 0.01;
/** Labels that are examined: two blocks of 2 KB each. */
const MAX_LABELS = 2048;
