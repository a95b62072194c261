import type { ControlService, Prepared } from "../../../core/control-service.ts";
import { type Metric, metricOf } from "../../../core/metric-row.ts";
import { workerNumbers } from "../../../memory/worker-numbers.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import { type SloInit, slosIn } from "../../../routes/slo-routes.ts";
import { BURN_WINDOWS, BurnRings, burnRate } from "../burn-rings.ts";
import { SLO_METRICS } from "../metrics.ts";
import { type SharedSlos, SLO_NUMBERS, sloTotals } from "../slo-counts.ts";

const NOTE_MS = 5000;

/** An objective, and how fast its budget is used up. */
interface SloStanding {
  readonly route: string;
  readonly slo: "availability" | "latency";
  /** Share of good requests. */
  readonly objective: number;
  readonly windowMs: number;
  /** By the windows of BURN_WINDOWS. */
  readonly burn: readonly number[];
}

/** A route with objectives, as the control thread keeps it: across reloads, as long as a configuration has it. */
interface KeptSlo {
  readonly init: SloInit;
  readonly buffer: SharedArrayBuffer;
  readonly rings: BurnRings;
}

/** The past of all objectives. docs/pressure.md#objectives */
export class SloBook implements ControlService<RuntimeConfig> {
  private readonly workers: number;
  private slos: ReadonlyMap<string, KeptSlo> = new Map();
  private timer: ReturnType<typeof setInterval> | null = null;

  constructor(config: RuntimeConfig, workers: number) {
    this.workers = workers;
    this.slos = this.made(config);
  }

  prepare(config: RuntimeConfig): Prepared & { readonly fields: SharedSlos } {
    const slos = this.made(config);
    const takeUp = (): void => {
      this.slos = slos;
    };
    return { fields: shared(slos), takeUp };
  }

  startFields(): SharedSlos {
    return shared(this.slos);
  }

  use(): void {
    this.stop();
    if (this.slos.size === 0) return;
    this.note();
    this.timer = setInterval(() => this.note(), NOTE_MS);
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** All objectives as they stand; of routes with one name and objective the fastest burning. */
  standings(): readonly SloStanding[] {
    const nowMs = performance.now();
    const found = new Map<string, SloStanding>();
    for (const { init, buffer, rings } of this.slos.values()) {
      const totals = sloTotals(buffer);
      const parts = BURN_WINDOWS.map((_, window) => rings.within(window, totals, nowMs));
      for (const { slo, objective } of init.objectives) {
        const burn = parts.map(({ all, failed, slow }) => burnRate(slo === "latency" ? slow : failed, all, objective));
        const key = JSON.stringify([init.route, slo]);
        const before = found.get(key);
        const most = burn.map((rate, i) => Math.max(rate, before?.burn[i] ?? 0));
        found.set(key, { route: init.route, slo, objective, windowMs: init.windowMs, burn: most });
      }
    }
    return [...found.values()];
  }

  metrics(): readonly Metric[] {
    const each = (value: (one: SloStanding) => number) => () =>
      this.standings().map((one) => ({ value: value(one), labels: { route: one.route, slo: one.slo } }));
    return [
      metricOf(SLO_METRICS, "gateway_slo_burn_rate", () =>
        this.standings().flatMap(({ route, slo, burn }) =>
          BURN_WINDOWS.map(([window], i) => ({ value: burn[i]!, labels: { route, slo, window } })),
        ),
      ),
      metricOf(
        SLO_METRICS,
        "gateway_slo_objective",
        each(({ objective }) => objective),
      ),
      metricOf(
        SLO_METRICS,
        "gateway_slo_window_seconds",
        each(({ windowMs }) => windowMs / 1000),
      ),
    ];
  }

  private note(): void {
    const nowMs = performance.now();
    for (const { buffer, rings } of this.slos.values()) rings.note(sloTotals(buffer), nowMs);
  }

  /** The objectives of a configuration: those of the one before go on, with their past. */
  private made({ routes }: RuntimeConfig): ReadonlyMap<string, KeptSlo> {
    return new Map(
      slosIn(routes).map((init) => {
        const known = this.slos.get(init.key);
        const kept = {
          buffer: known?.buffer ?? workerNumbers(this.workers, SLO_NUMBERS),
          rings: known?.rings ?? new BurnRings(),
        };
        return [init.key, { init, ...kept }];
      }),
    );
  }
}

function shared(slos: ReadonlyMap<string, KeptSlo>): SharedSlos {
  return { slos: [...slos].map(([key, { buffer }]) => [key, buffer] as const) };
}
