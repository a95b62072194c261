import type { CanaryReason, CanaryStanding } from "../../../core/canary-standing.ts";
import type { ControlService, Prepared } from "../../../core/control-service.ts";
import type { EventWriter } from "../../../core/event-row.ts";
import { LatencySketch } from "../../../core/latency-sketch.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { type CanaryInit, canariesIn } from "../../../routes/canary-routes.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { CanaryNumbers, createCanaryCells, type SharedCanaries } from "../canary-cells.ts";
import {
  type ArmCounts,
  apply,
  type CanaryDecision,
  type CanaryRecord,
  canaryShare,
  decide,
  newRecord,
  nextShare,
  noteMoment,
  PendingCounts,
} from "../canary-judge.ts";
import type { CANARY_EVENTS } from "../events.ts";
import { WorseEvidence } from "../evidence.ts";
import { type CanaryStore, countsOf, type FleetView, forget, move, report, withCounts } from "../fleet-canary.ts";
import { CANARY_METRICS } from "../metrics.ts";

const LOOK_MS = 1000;
/** A look that comes later counts for no more: the machine was asleep, or its clock was set. */
const LONGEST_LOOK_MS = 5000;
/** Looks until a rollout that runs is written down again. */
const KEEP_LOOKS = 10;
/** A store that has not answered for so long is away. */
const AWAY_MS = 10_000;
const SLOW_RATIO = 1.5;

/** The ports of the book. */
interface CanaryPorts {
  readonly event: EventWriter<typeof CANARY_EVENTS>;
  readonly state: {
    read<T>(part: string): T | null;
    write(part: string, value: object): boolean;
    remove(part: string): void;
  };
}

/** A record of the process before. */
interface KeptRecord {
  readonly record: CanaryRecord;
  readonly reason: CanaryReason;
  /** See FleetView. */
  readonly fleetId?: string;
}

/** A rollout as the control thread keeps it: across reloads, as long as a configuration has it. */
class Rollout {
  init: CanaryInit;
  readonly buffer: SharedArrayBuffer;
  readonly numbers: CanaryNumbers;
  record: CanaryRecord;
  reason: CanaryReason;
  isNew: boolean;
  private readonly pending: PendingCounts = new PendingCounts();
  private counted: { readonly fresh: ArmCounts; readonly old: ArmCounts };
  /** The rollout of the fleet that it is a part of; "" for none yet. */
  fleetId: string;
  /** The counts that the store has. */
  told: readonly number[];
  /** The phase that an operator wants, until the store has it. */
  wanted: CanaryRecord["phase"] | null = null;

  constructor(init: CanaryInit, workers: number, kept: KeptRecord | null) {
    this.init = init;
    this.buffer = createCanaryCells(workers);
    this.numbers = new CanaryNumbers(this.buffer);
    this.record = { ...newRecord(init.rules), ...kept?.record };
    this.reason = kept?.reason ?? "";
    this.fleetId = kept?.fleetId ?? "";
    this.isNew = kept === null;
    this.counted = { fresh: this.numbers.countsOf(true), old: this.numbers.countsOf(false) };
    this.told = countsOf(this.record);
    this.show();
  }

  /** Counts the requests since the last look. */
  look(passedMs: number): void {
    const now = { fresh: this.numbers.countsOf(true), old: this.numbers.countsOf(false) };
    const { counted } = this;
    this.counted = now;
    if (this.record.phase !== "running") return;
    const [fresh, old] = [since(now.fresh, counted.fresh), since(now.old, counted.old)];
    noteMoment(this.record, this.pending, this.init.rules, passedMs, fresh, old);
  }

  /** Tells the workers how much goes to the new version. */
  show(): void {
    this.numbers.share = canaryShare(this.record, this.init.rules.steps);
  }

  standing(): CanaryStanding {
    const { record, init, reason } = this;
    const { steps, everyMs } = init.rules;
    const isGoing = record.phase === "running" && nextShare(record, steps) !== null;
    return {
      route: init.route,
      targets: init.targets,
      state: record.phase,
      share: canaryShare(record, steps),
      steps,
      next_ms: isGoing ? Math.max(0, Math.round(everyMs - record.inStepMs)) : null,
      ...numbersOf(record, init),
      reason,
    };
  }
}

/** Rollouts of new versions, judged once a second: alone by what this gateway counts, in a fleet by what all count. docs/pressure.md#canaries */
export class CanaryBook implements ControlService<RuntimeConfig> {
  private readonly ports: CanaryPorts;
  private readonly workers: number;
  private rollouts: ReadonlyMap<string, Rollout> = new Map();
  private readonly kept: Map<string, KeptRecord>;
  /** Rollouts that have left the configuration, until the store knows it. */
  private readonly left: Set<string> = new Set();
  private timer: ReturnType<typeof setInterval> | null = null;
  private lookedMs = 0;
  private looks = 0;
  private isFleet = false;
  private beatMs = Number.NEGATIVE_INFINITY;

  constructor(config: RuntimeConfig, workers: number, ports: CanaryPorts) {
    this.workers = workers;
    this.ports = ports;
    this.kept = new Map(Object.entries(ports.state.read<Record<string, KeptRecord>>(PART) ?? {}));
    this.rollouts = this.made(config);
  }

  prepare(config: RuntimeConfig): Prepared & { readonly fields: SharedCanaries } {
    const rollouts = this.made(config);
    const takeUp = (): void => {
      this.rollouts = rollouts;
    };
    return { fields: shared(rollouts), takeUp };
  }

  startFields(): SharedCanaries {
    return shared(this.rollouts);
  }

  use(config: RuntimeConfig): void {
    this.isFleet = config.cluster.enabled;
    const inits = new Map(canariesIn(config.routes).map((init) => [init.key, init]));
    for (const [key, rollout] of this.rollouts) {
      rollout.init = inits.get(key) ?? rollout.init;
      rollout.show();
      if (!rollout.isNew) continue;
      rollout.isNew = false;
      const { route, targets, rules } = rollout.init;
      this.ports.event("canary_started", {
        route,
        targets: targets.join(", "),
        share: canaryShare(rollout.record, rules.steps),
      });
    }
    this.keep();
    this.stop();
    if (this.rollouts.size === 0) return;
    this.lookedMs = performance.now();
    this.timer = setInterval(() => this.look(performance.now()), LOOK_MS);
  }

  stop(): void {
    this.handOn();
    if (this.rollouts.size > 0) this.keep();
  }

  /** Another process has taken over, which judges from now on. */
  handOn(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  standings(): readonly CanaryStanding[] {
    return [...this.rollouts.values()].map((rollout) => rollout.standing());
  }

  /** An operator ends a rollout. @param route its prefix @returns how many there are */
  end(route: string, phase: "promoted" | "aborted"): readonly CanaryStanding[] {
    const found = [...this.rollouts.values()].filter(({ init }) => init.route === route);
    for (const rollout of found) {
      if (this.isFleet) rollout.wanted = phase;
      if (rollout.record.phase === phase) continue;
      rollout.record.phase = phase;
      rollout.reason = "operator";
      this.moved(rollout, phase === "promoted" ? "promote" : "abort");
    }
    return found.map((rollout) => rollout.standing());
  }

  /** Reports to the store of the fleet, and does what all have decided; to be called while the store is there. */
  async beat(store: CanaryStore): Promise<void> {
    for (const [key, rollout] of this.rollouts) {
      const { told } = rollout;
      const counts = countsOf(rollout.record);
      rollout.told = counts;
      let view = await report(store, key, rollout.record, told);
      const next = nextOf(rollout, view);
      if (next !== null) view = await move(store, key, view.rev, next);
      rollout.wanted = null;
      this.adopt(rollout, view, counts);
    }
    for (const key of this.left) {
      if (!this.rollouts.has(key)) await forget(store, key);
      this.left.delete(key);
    }
    this.beatMs = performance.now();
  }

  /** Takes up the record of the fleet; counts since the report come on top. */
  private adopt(rollout: Rollout, { id, record }: FleetView, reported: readonly number[]): void {
    const { phase, share } = rollout.record;
    rollout.fleetId = id;
    const late = countsOf(rollout.record).map((count, i) => count - reported[i]!);
    rollout.told = countsOf({ ...rollout.record, ...record });
    Object.assign(rollout.record, withCounts(record, late));
    if (record.phase === phase && record.share === share) return;
    const { action, reason } = decide({ ...rollout.record, phase: "running" }, rollout.init.rules);
    if (record.phase === "aborted") {
      if (rollout.reason !== "operator") rollout.reason = action === "abort" ? reason : "operator";
      this.moved(rollout, "abort");
    } else this.moved(rollout, record.phase === "promoted" ? "promote" : "grow");
  }

  private look(nowMs: number): void {
    const passedMs = Math.min(LONGEST_LOOK_MS, nowMs - this.lookedMs);
    this.lookedMs = nowMs;
    for (const rollout of this.rollouts.values()) {
      rollout.look(passedMs);
      const decision = decide(rollout.record, rollout.init.rules);
      // In a fleet all decide together; but an alarm does not wait for a store that is away.
      const isOwn = !this.isFleet || (nowMs - this.beatMs > AWAY_MS && decision.action === "abort");
      if (isOwn) this.do(rollout, decision);
    }
    if (++this.looks % KEEP_LOOKS === 0) this.keep();
  }

  private do(rollout: Rollout, decision: CanaryDecision): void {
    const { action, reason } = decision;
    if (action === "none") return;
    if (action === "hold") {
      if (rollout.reason === reason) return;
      rollout.reason = reason;
      const { init, record } = rollout;
      return this.ports.event("canary_held", {
        route: init.route,
        reason,
        share: canaryShare(record, init.rules.steps),
        ...numbersOf(record, init),
      });
    }
    apply(rollout.record, decision, rollout.init.rules);
    rollout.reason = reason;
    this.moved(rollout, action);
  }

  private moved(rollout: Rollout, action: "grow" | "promote" | "abort"): void {
    rollout.show();
    const { init, record, reason } = rollout;
    const fields = { route: init.route, share: canaryShare(record, init.rules.steps), ...numbersOf(record, init) };
    if (action === "abort") this.ports.event("canary_aborted", { ...fields, reason });
    else if (action === "grow") this.ports.event("canary_step", fields);
    else this.ports.event("canary_promoted", { ...fields, ...(reason === "operator" ? { reason } : {}) });
    this.keep();
  }

  /** Writes down how all rollouts stand. */
  keep(): void {
    const hadAny = this.kept.size > 0;
    // The store of the fleet must not remember a rollout that has left the configuration.
    for (const key of this.kept.keys()) if (this.isFleet && !this.rollouts.has(key)) this.left.add(key);
    this.kept.clear();
    for (const [key, { record, reason, fleetId }] of this.rollouts) this.kept.set(key, { record, reason, fleetId });
    if (this.kept.size > 0) this.ports.state.write(PART, Object.fromEntries(this.kept));
    else if (hadAny) this.ports.state.remove(PART);
  }

  metrics(): readonly Metric[] {
    return [
      metricOf(CANARY_METRICS, "gateway_canary_share", () =>
        this.unique().map(({ route, share }) => ({ value: share / 100, labels: { route } })),
      ),
      metricOf(CANARY_METRICS, "gateway_canary_requests_total", () =>
        [...this.rollouts.values()].filter(isFirst).flatMap(({ init: { route }, numbers }) =>
          [true, false].flatMap((isNew) => {
            const { requests, errors } = numbers.countsOf(isNew);
            const version = isNew ? "new" : "old";
            return [
              { value: requests - errors, labels: { route, version, result: "ok" } },
              { value: errors, labels: { route, version, result: "error" } },
            ];
          }),
        ),
      ),
    ];
  }

  /** Routes of several hosts may have one name: the first is shown. */
  private unique(): readonly CanaryStanding[] {
    return [...this.rollouts.values()].filter(isFirst).map((rollout) => rollout.standing());
  }

  /** The rollouts of a configuration: one with the same targets goes on. */
  private made({ routes }: RuntimeConfig): ReadonlyMap<string, Rollout> {
    return new Map(
      canariesIn(routes).map((init) => {
        const known = this.rollouts.get(init.key);
        return [init.key, known ?? new Rollout(init, this.workers, this.kept.get(init.key) ?? null)];
      }),
    );
  }
}

/** The next move of the fleet; null for none. */
function nextOf(
  { wanted, record, init, fleetId }: Rollout,
  view: FleetView,
): Pick<CanaryRecord, "phase" | "share"> | null {
  if (wanted !== null) return wanted === view.record.phase ? null : { phase: wanted, share: view.record.share };
  if (view.record.phase !== "running") return null;
  // This gateway has seen an alarm while the store was away; if that was of this rollout, and not of one before it.
  if (record.phase === "aborted" && (fleetId === "" || fleetId === view.id)) return record;
  const next = { ...record, ...view.record };
  const decision = decide(next, init.rules);
  if (decision.action === "none" || decision.action === "hold") return null;
  apply(next, decision, init.rules);
  return next;
}

function numbersOf(record: CanaryRecord, { rules }: CanaryInit) {
  return {
    requests: record.requests,
    errors: record.errors,
    old_requests: record.oldRequests,
    old_errors: record.oldErrors,
    p99_ms: p99Of(record.times),
    old_p99_ms: p99Of(record.oldTimes),
    errors_evidence: evidenceOf(rules.errorsRatio, record.worse),
    latency_evidence: evidenceOf(SLOW_RATIO, record.slower),
  };
}

function evidenceOf(ratio: number, logs: readonly number[]): number {
  const evidence = Math.exp(Math.min(50, new WorseEvidence(ratio, logs).log));
  return Number(evidence.toPrecision(4));
}

function p99Of(times: readonly number[]): number | null {
  const sketch = new LatencySketch();
  sketch.merge(times.flatMap((count, bucket) => (count > 0 ? [bucket, count] : [])));
  const found = sketch.percentiles();
  return found === null ? null : Number(found[2].toPrecision(4));
}

function since(now: ArmCounts, before: ArmCounts): ArmCounts {
  return {
    requests: now.requests - before.requests,
    errors: now.errors - before.errors,
    times: Array.from(now.times, (count, i) => count - before.times[i]!),
  };
}

function isFirst({ init }: Rollout, at: number, all: readonly Rollout[]): boolean {
  return all.findIndex((one) => one.init.route === init.route) === at;
}

function shared(rollouts: ReadonlyMap<string, Rollout>): SharedCanaries {
  return { canaries: [...rollouts].map(([key, { buffer }]) => [key, buffer] as const) };
}

/** The part of the state folder. */
const PART = "canaries";
