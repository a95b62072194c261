import { availableParallelism } from "node:os";
import { type DurationTier, durationKey } from "../tools/loadgen/duration-tier.ts";
import { GcLogFollower } from "../tools/loadgen/gc-log-follower.ts";
import { NO_GC_TELEMETRY } from "../tools/loadgen/gc-telemetry.ts";
import type { LoadPlan } from "../tools/loadgen/load-plan.ts";
import { type LoadResult, LoadRun } from "../tools/loadgen/load-run.ts";
import { nextRate, type SweepStep, sweepReport, sweepStep, sweepText } from "../tools/loadgen/rate-sweep.ts";
import type { ReportFiles } from "../tools/loadgen/report-files.ts";
import { type ComparedFigure, compareRuns, comparisonText, earlierReport } from "../tools/loadgen/run-comparison.ts";
import { type SaturationReport, saturationReport } from "../tools/loadgen/saturation-report.ts";
import { progressLine, tierSummary } from "../tools/loadgen/tier-summary.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";

/** One call of `edge loadgen`: what to run and where its reports go. */
export interface LoadCall {
  readonly plans: readonly LoadPlan[];
  readonly tiers: readonly DurationTier[];
  readonly files: ReportFiles;
  readonly gcTrace: string;
  /** The JSON of an earlier run; "" if there is none. */
  readonly earlier: string;
  /** Whether the rate is searched for that is kept. */
  readonly sweeps: boolean;
}

/** The runs of one call, one after the other, until the end or Ctrl-C. */
export class LoadSession {
  private readonly reports: SaturationReport[] = [];
  private readonly compared: (readonly ComparedFigure[] | null)[] = [];
  private readonly steps: SweepStep[] = [];
  /** Takes all but a report: the standard output may be that of a report. */
  private readonly say: (text: string) => void;
  private readonly gc: GcLogFollower | null;
  private current: LoadRun | null = null;
  private isInterrupted = false;
  private readonly onSignal = (): void => {
    // A second one does not wait for anything.
    if (this.isInterrupted) process.exit(ExitCode.Interrupted);
    this.isInterrupted = true;
    this.current?.interrupt();
  };

  constructor(
    private readonly call: LoadCall,
    private readonly io: CommandIo,
  ) {
    this.gc = call.gcTrace === "" ? null : new GcLogFollower(call.gcTrace);
    this.say = call.files.takesOutput ? (text) => io.err(text) : (text) => io.out(text);
  }

  async run(): Promise<number> {
    process.on("SIGINT", this.onSignal);
    process.on("SIGTERM", this.onSignal);
    try {
      if (this.call.sweeps) await this.sweep();
      else for (let i = 0; i < this.call.plans.length && !this.isInterrupted; i++) await this.runTier(i);
      const sweep = this.call.sweeps ? sweepReport(this.steps, this.reports[0]!) : null;
      if (sweep !== null) this.say(sweepText(sweep));
      this.call.files.writeAll({ reports: this.reports, sweep, compared: this.compared });
    } finally {
      process.off("SIGINT", this.onSignal);
      process.off("SIGTERM", this.onSignal);
      this.gc?.close();
    }
    if (this.isInterrupted) return ExitCode.Interrupted;
    if (this.call.sweeps) return this.steps.some((step) => step.is_good) ? ExitCode.Done : ExitCode.Failure;
    return this.reports.every((report) => report.overall_verdict === "PASS") ? ExitCode.Done : ExitCode.Failure;
  }

  private async runTier(index: number): Promise<void> {
    const report = await this.measure(this.call.plans[index]!);
    this.say(tierSummary(report));
    const { earlier, files, tiers } = this.call;
    const before = earlier === "" ? null : earlierReport(earlier, report);
    const figures = before === null ? null : compareRuns(before, report);
    if (figures !== null) this.say(comparisonText(figures));
    this.compared.push(figures);
    files.writeTier(tiers[index]!, report);
  }

  private async sweep(): Promise<void> {
    const plan = this.call.plans[0]!;
    for (;;) {
      const rate = nextRate(this.steps, plan.ratePerSecond);
      if (rate === null || this.isInterrupted) return;
      const report = await this.measure({ ...plan, ratePerSecond: rate });
      if (this.isInterrupted && this.steps.length > 0) return void this.reports.pop();
      this.steps.push(sweepStep(report));
    }
  }

  private async measure(plan: LoadPlan): Promise<SaturationReport> {
    this.gc?.begin();
    this.current = new LoadRun(plan);
    const watch = this.watch(this.current, plan);
    let result: LoadResult;
    try {
      result = await this.current.run(threadsFor(plan));
    } finally {
      for (const timer of watch) clearInterval(timer);
    }
    this.gc?.follow(result.elapsedMs);
    const report = saturationReport(result, this.gc?.telemetry(result.elapsedMs) ?? NO_GC_TELEMETRY);
    this.reports.push(report);
    return report;
  }

  /** Follows the collector's log, and shows progress on a terminal. */
  private watch(run: LoadRun, plan: LoadPlan): ReturnType<typeof setInterval>[] {
    const timers = [setInterval(() => this.gc?.follow(run.elapsedMs), GC_POLL_MS)];
    if (process.stderr.isTTY) {
      let shownMs = 0;
      this.io.err(
        `${plan.ratePerSecond} requests a second for ${durationKey(plan.durationMs)} on ${plan.target.url}\n`,
      );
      const show = () => {
        const elapsedMs = run.elapsedMs;
        this.io.err(progressLine(run.tally, elapsedMs, elapsedMs - shownMs));
        shownMs = elapsedMs;
      };
      timers.push(setInterval(show, 1000));
    }
    return timers;
  }
}

/** Measured on one core: a thread keeps this rate; beyond it, the load is shared. */
const RATE_PER_THREAD = 20_000;
const GC_POLL_MS = 100;

function threadsFor(plan: LoadPlan): number {
  return Math.min(availableParallelism(), Math.ceil(plan.ratePerSecond / RATE_PER_THREAD));
}
