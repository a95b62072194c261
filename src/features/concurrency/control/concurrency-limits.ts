import type { ControlService, Prepared } from "../../../core/control-service.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { createSlotTable, QueueCount, SlotCount, SlotTable } from "../../../memory/slot-table.ts";
import { allGatesIn, type GateInit, isAuto } from "../../../routes/concurrency-gates.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { AdaptiveLimit } from "../adaptive-limit.ts";
import type { SharedGates } from "../gates.ts";
import { CONCURRENCY_METRICS } from "../metrics.ts";

/** How often limits that are found are judged. */
const JUDGE_MS = 100;
/** How long a request of a queue that stands may wait, as a share of the calm latency, and at least. */
const PATIENCE_SHARE = 0.4;
const MIN_PATIENCE_MS = 3;

/** A gate as the control thread keeps it: across reloads, as long as a configuration has it. */
interface KeptGate {
  readonly init: GateInit;
  readonly buffer: SharedArrayBuffer;
  readonly table: SlotTable;
  /** One a lane; null for a limit of the file. */
  readonly found: readonly (FoundLimit | null)[];
}

/** A limit that edge finds, and the counts of its last judgement. */
interface FoundLimit {
  readonly limit: AdaptiveLimit;
  samples: number;
  sumMs: number;
  timeouts: number;
}

/** The shared slots of `concurrency`, and the limits that are found. docs/pressure.md#concurrency */
export class ConcurrencyLimits implements ControlService<RuntimeConfig> {
  private readonly workers: number;
  private gates: ReadonlyMap<string, KeptGate> = new Map();
  private timer: ReturnType<typeof setInterval> | null = null;

  constructor(config: RuntimeConfig, workers: number) {
    this.workers = workers;
    this.takeUp(this.made(config));
  }

  prepare(config: RuntimeConfig): Prepared & { readonly fields: SharedGates } {
    const gates = this.made(config);
    return { fields: shared(gates), takeUp: () => this.takeUp(gates) };
  }

  startFields(): SharedGates {
    return shared(this.gates);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  workerDied(worker: number): void {
    for (const { table } of this.gates.values()) table.freeOf(worker);
  }

  metrics(): readonly Metric[] {
    const rows = CONCURRENCY_METRICS;
    const lanes = (read: (table: SlotTable, lane: number) => number) => () =>
      [...this.gates.values()].flatMap(({ init, table }) =>
        init.lanes.flatMap(({ target, limit }, lane) =>
          limit > MAX_SHOWN ? [] : [{ value: read(table, lane), labels: { route: init.route, target } }],
        ),
      );
    return [
      metricOf(rows, "gateway_concurrency_limit", () => summed(lanes((table, lane) => table.limitOf(lane))())),
      metricOf(rows, "gateway_concurrency_in_flight", () => summed(lanes((table, lane) => table.takenOf(lane))())),
      metricOf(rows, "gateway_concurrency_queued", () =>
        summed(
          [...this.gates.values()].map(({ init: { route }, table }) => ({ value: table.queued, labels: { route } })),
        ),
      ),
      metricOf(rows, "gateway_concurrency_refusals_total", () =>
        summed(
          [...this.gates.values()].flatMap(({ init: { route }, table }) => [
            { value: table.sumOfQueue(QueueCount.Full), labels: { route, reason: "queue_full" } },
            { value: table.sumOfQueue(QueueCount.Late), labels: { route, reason: "queue_timeout" } },
          ]),
        ),
      ),
    ];
  }

  /** The gates of a configuration: a gate of the one before goes on, with its limit. */
  private made(config: RuntimeConfig): ReadonlyMap<string, KeptGate> {
    const before = new Map<string, AdaptiveLimit>();
    for (const { init, found } of this.gates.values())
      for (const [i, lane] of init.lanes.entries())
        if (found[i] != null) before.set(laneName(init, lane), found[i].limit);
    return new Map(
      allGatesIn(config.routes).map((init) => {
        const known = this.gates.get(init.key);
        const buffer = known?.buffer ?? createSlotTable(init.lanes.length, this.workers);
        const found = init.lanes.map((lane, i) => {
          if (!isAuto(lane)) return null;
          // Among other targets a target keeps the limit that was found for it.
          const limit = before.get(laneName(init, lane)) ?? new AdaptiveLimit();
          return known?.found[i] ?? { limit, samples: 0, sumMs: 0, timeouts: 0 };
        });
        return [init.key, { init, buffer, table: known?.table ?? new SlotTable(buffer), found }];
      }),
    );
  }

  private takeUp(gates: ReadonlyMap<string, KeptGate>): void {
    this.gates = gates;
    this.stop();
    for (const { init, table, found } of gates.values()) {
      init.lanes.forEach(({ limit }, lane) => void table.setLimit(lane, found[lane]?.limit.value ?? limit));
      table.patienceMs = 0;
      table.wakeAll();
    }
    const isAny = [...gates.values()].some(({ found }) => found.some((one) => one !== null));
    if (!isAny) return;
    this.timer = setInterval(() => this.judge(performance.now()), JUDGE_MS);
    this.timer.unref();
  }

  private judge(nowMs: number): void {
    for (const { table, found } of this.gates.values()) {
      let isMore = false;
      let patienceMs = 0;
      found.forEach((one, lane) => {
        if (one === null) return;
        const [samples, sumMs, timeouts] = [SlotCount.Samples, SlotCount.SumMs, SlotCount.Timeouts].map((what) =>
          table.sum(lane, what),
        ) as [number, number, number];
        one.limit.note(
          {
            samples: samples - one.samples,
            sumMs: sumMs - one.sumMs,
            timeouts: timeouts - one.timeouts,
            inFlight: table.takenOf(lane),
          },
          nowMs,
        );
        Object.assign(one, { samples, sumMs, timeouts });
        const { value, calmMs } = one.limit;
        isMore = isMore || value > table.limitOf(lane);
        table.setLimit(lane, value);
        if (calmMs > 0) patienceMs = Math.max(patienceMs, MIN_PATIENCE_MS, Math.round(calmMs * PATIENCE_SHARE));
      });
      table.patienceMs = found.every((one) => one !== null) ? patienceMs : 0;
      if (isMore) table.wakeAll();
    }
  }
}

function laneName({ routeKey }: GateInit, { target }: GateInit["lanes"][number]): string {
  return `${routeKey} ${target}`;
}

function shared(gates: ReadonlyMap<string, KeptGate>): SharedGates {
  return { gates: [...gates].map(([key, { buffer }]) => [key, buffer] as const) };
}

/** Routes of several hosts may have one label: there is one sample for it. */
function summed<L extends Readonly<Record<string, string>>>(
  samples: readonly { readonly value: number; readonly labels: L }[],
): { value: number; labels: L }[] {
  const sums = new Map<string, { value: number; labels: L }>();
  for (const { value, labels } of samples) {
    const key = JSON.stringify(labels);
    const sum = sums.get(key);
    if (sum === undefined) sums.set(key, { value, labels });
    else sum.value += value;
  }
  return [...sums.values()];
}

/** A lane without a limit is not shown. */
const MAX_SHOWN = 1_000_000;
