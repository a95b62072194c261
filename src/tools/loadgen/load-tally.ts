import { type AttackTier, isTeardown, LoadEnding, outcomeName, tierOf } from "./attack-tier.ts";
import { LatencyRecord } from "./latency-record.ts";
import { OUTCOMES, type Samples } from "./sample-batch.ts";
import { Timeline } from "./timeline.ts";

/** The attacks of one kind. */
export interface VectorTally {
  sent: number;
  /** By `AttackTier`. */
  readonly tiers: [number, number, number, number];
  /** By outcome: a status or an `LoadEnding`. */
  readonly outcomes: Map<number, number>;
}

/** Everything that the threads have measured, added up. */
export class LoadTally {
  benignTotal = 0;
  benignGood = 0;
  /** By outcome, all that were not good. */
  readonly benignFailures = new Map<number, number>();
  readonly latency = new LatencyRecord();
  readonly service = new LatencyRecord();
  readonly lateness = new LatencyRecord();
  /** Of that, what this process itself was late. */
  readonly ownDelay = new LatencyRecord();
  readonly timeline: Timeline;
  attackTotal = 0;
  readonly attackLatency = new LatencyRecord();
  readonly tiers: [number, number, number, number] = [0, 0, 0, 0];
  readonly vectors: readonly VectorTally[];
  /** Of these, those that never went out. */
  benignUnsent = 0;
  attacksUnsent = 0;
  /** Since the last call of `takeInterval`. */
  private readonly recent = new LatencyRecord();
  private recentTotal = 0;

  /** @param vectors number of attacks in the catalogue @param durationMs of the run */
  constructor(vectors: number, durationMs: number) {
    this.timeline = new Timeline(durationMs);
    this.vectors = Array.from({ length: vectors }, () => ({ sent: 0, tiers: [0, 0, 0, 0], outcomes: new Map() }));
  }

  /** @param elapsedMs when they came, on the run's clock */
  add({ benign, benignOutcomes, attacks, delays }: Samples, elapsedMs: number): void {
    this.timeline.at(elapsedMs);
    for (const micros of delays) this.ownDelay.add(micros);
    for (let i = 0; i < benignOutcomes.length; i++) {
      this.latency.add(benign[i * 3]!);
      this.service.add(benign[i * 3 + 1]!);
      this.lateness.add(benign[i * 3 + 2]!);
      this.recent.add(benign[i * 3]!);
      const outcome = benignOutcomes[i]!;
      this.timeline.benign(benign[i * 3]!, isGood(outcome));
      if (isGood(outcome)) this.benignGood++;
      else increment(this.benignFailures, outcome);
      if (outcome === LoadEnding.NotSent) this.benignUnsent++;
    }
    this.benignTotal += benignOutcomes.length;
    for (let i = 0; i < attacks.length; i += 2) this.addAttack(attacks[i]!, attacks[i + 1]!);
    this.recentTotal += benignOutcomes.length + attacks.length / 2;
  }

  get total(): number {
    return this.benignTotal + this.attackTotal;
  }

  /** Attacks by status; what ended without one is under its name, a teardown under 400. */
  statusCodes(): Record<string, number> {
    const codes: Record<string, number> = {};
    for (const { outcomes } of this.vectors) {
      for (const [name, count] of Object.entries(codesOf(outcomes))) codes[name] = (codes[name] ?? 0) + count;
    }
    return codes;
  }

  /** Attacks whose connection was torn down without a response. */
  get teardowns(): number {
    return sumOf(this.vectors, isTeardown);
  }

  /** How many requests ended since the last call, and the 99th percentile of the benign ones in milliseconds. */
  takeInterval(): { total: number; p99Ms: number } {
    const interval = { total: this.recentTotal, p99Ms: this.recent.percentileMs(99) };
    this.recent.reset();
    this.recentTotal = 0;
    return interval;
  }

  private addAttack(code: number, micros: number): void {
    const outcome = code % OUTCOMES;
    const vector = this.vectors[Math.floor(code / OUTCOMES)]!;
    const tier: AttackTier = tierOf(outcome);
    vector.sent++;
    vector.tiers[tier]++;
    increment(vector.outcomes, outcome);
    this.tiers[tier]++;
    this.attackTotal++;
    this.timeline.attack();
    if (outcome === LoadEnding.NotSent) this.attacksUnsent++;
    this.attackLatency.add(micros);
  }
}

/** A benign request has succeeded when its response is 2xx. */
function isGood(outcome: number): boolean {
  return outcome >= 200 && outcome < 300;
}

/** Outcomes as a report shows them: a teardown counts as 400. */
export function codesOf(outcomes: ReadonlyMap<number, number>): Record<string, number> {
  const codes: Record<string, number> = {};
  for (const [outcome, count] of outcomes) {
    const name = isTeardown(outcome) ? "400" : outcomeName(outcome);
    codes[name] = (codes[name] ?? 0) + count;
  }
  return codes;
}

/** Outcomes by name, each as it was. */
export function endingsOf(outcomes: ReadonlyMap<number, number>): Record<string, number> {
  return Object.fromEntries([...outcomes].map(([outcome, count]) => [outcomeName(outcome), count]));
}

function sumOf(vectors: readonly VectorTally[], matches: (outcome: number) => boolean): number {
  let sum = 0;
  for (const { outcomes } of vectors) {
    for (const [outcome, count] of outcomes) if (matches(outcome)) sum += count;
  }
  return sum;
}

function increment(map: Map<number, number>, key: number): void {
  map.set(key, (map.get(key) ?? 0) + 1);
}
