import { accessSync, constants } from "node:fs";
import { availableParallelism } from "node:os";
import { parseDuration } from "../config/duration.ts";
import { MAX_LOAD_CONNECTIONS, MAX_LOAD_MS, MAX_LOAD_RATE } from "../core/limits.ts";
import {
  type DurationTier,
  durationKey,
  TIER_WORDS,
  tiersOf,
  tiersOfDurations,
} from "../tools/loadgen/duration-tier.ts";
import { reasonOf } from "../tools/loadgen/error-reason.ts";
import { GcLogFollower } from "../tools/loadgen/gc-log-follower.ts";
import { NO_GC_TELEMETRY } from "../tools/loadgen/gc-telemetry.ts";
import type { LoadPlan } from "../tools/loadgen/load-plan.ts";
import { type LoadResult, LoadRun } from "../tools/loadgen/load-run.ts";
import { parseTarget } from "../tools/loadgen/load-target.ts";
import { ReportFiles } from "../tools/loadgen/report-files.ts";
import { type SaturationReport, saturationReport } from "../tools/loadgen/saturation-report.ts";
import { reachTarget } from "../tools/loadgen/target-reach.ts";
import { progressLine, tierSummary } from "../tools/loadgen/tier-summary.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { type CommandCall, type FlagValues, startCommand } from "./flags.ts";

/** The command as `edge help loadgen` shows it. docs/tools.md#load-generator */
export const loadgenCommand = {
  name: "edge loadgen",
  summary: "Loads a gateway with benign and hostile requests at a steady rate, and shows whether it passed.",
  flags: [
    { name: "url", type: "string", default: "http://127.0.0.1:8080/health", placeholder: "URL", help: "benign target" },
    { name: "c", type: "int", default: 20, min: 1, max: MAX_LOAD_CONNECTIONS, help: "keep-alive connections" },
    {
      name: "d",
      type: "string",
      default: "5s",
      placeholder: "TIME[,TIME]",
      help: "duration, or a list such as 5s,60s,300s; overrides -tier",
    },
    {
      name: "tier",
      type: "string",
      default: "quick",
      placeholder: "WORD",
      help: "quick (5 s), medium or steady (60 s), soak (300 s), all",
      choices: TIER_WORDS,
    },
    { name: "rate", type: "int", default: 2000, min: 1, max: MAX_LOAD_RATE, help: "requests per second in total" },
    {
      name: "attack-ratio",
      alias: "a",
      type: "float",
      default: 0.1,
      min: 0,
      max: 1,
      help: "share of attacks among them, 0 to 1",
    },
    {
      name: "gc-trace",
      type: "string",
      default: "",
      placeholder: "FILE",
      help: "the gateway's garbage collector log (BUN_JSC_logGC=1, stderr), followed as it grows",
    },
    { name: "m", type: "string", default: "GET", placeholder: "METHOD", help: "method of the benign requests" },
    { name: "body", type: "string", default: "", help: "body of the benign requests" },
    { name: "json", type: "string", default: "", placeholder: "FILE", help: "write the report as JSON" },
    { name: "csv", type: "string", default: "", placeholder: "FILE", help: "write one line of figures per tier" },
    { name: "md", type: "string", default: "", placeholder: "FILE", help: "write the report as Markdown" },
    { name: "dry-run", type: "bool", default: false, help: "check the arguments, print the durations, exit" },
  ],
  notes: [
    "With several durations each gets its own report (report_60s.json); the files as named hold all of them.",
    "",
    "PASS: at least 99.9 % of the benign requests answered 2xx, their p99 under 10 ms, every attack refused with 400, 403,",
    "413, 431 or 501 or a closed connection; in the soak tier, a heap that grows by at most 1.0 MB a minute.",
    "Exit codes: 0 PASS, 1 FAIL, 2 wrong usage or target unreachable, 130 interrupted (the reports hold what was measured).",
  ],
} as const;

type Values = FlagValues<(typeof loadgenCommand)["flags"]>;
/** The flags as they were typed; defaults are never at fault. */
type Given = CommandCall<(typeof loadgenCommand)["flags"]>["given"];

/** One call: what to run and where its reports go. */
interface LoadCall {
  readonly plans: readonly LoadPlan[];
  readonly tiers: readonly DurationTier[];
  readonly files: ReportFiles;
  readonly gcTrace: string;
}

/** `edge loadgen`: one run a tier, the reports, and the exit code of the verdict. */
export async function runLoadgen(args: readonly string[], io: CommandIo): Promise<number> {
  const flags = startCommand(loadgenCommand, args, io);
  if (typeof flags === "number") return flags;
  const call = readCall(flags.values, flags.given);
  if (typeof call === "string") return refuse(io, call);
  if (flags.values["dry-run"]) {
    io.out(`${call.tiers.map((tier) => durationKey(tier.durationMs)).join(",")}\n`);
    return ExitCode.Done;
  }
  const target = await reachTarget(call.plans[0]!.target);
  if (typeof target === "string") return refuse(io, `cannot reach ${call.plans[0]!.target.url}: ${target}`);
  try {
    const plans = call.plans.map((plan) => ({ ...plan, target }));
    return await new LoadSession({ ...call, plans }, io).run();
  } catch (error) {
    return refuse(io, reasonOf(error));
  }
}

function refuse(io: CommandIo, message: string): ExitCode {
  io.err(`edge loadgen: ${message}\n`);
  return ExitCode.Usage;
}

/** The flags, checked as far as possible without the target; a text about what is wrong with them. */
function readCall(values: Values, given: Given): LoadCall | string {
  const target = parseTarget(values.url);
  if (typeof target === "string") return `${given.get("url")}: ${target}`;
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(values.m) || /^(CONNECT|TRACE)$/.test(values.m)) {
    return `${given.get("m")}: expected a method such as GET or POST, found ${JSON.stringify(values.m)}`;
  }
  const tiers = readTiers(values, given);
  if (typeof tiers === "string") return tiers;
  const files = new ReportFiles(values, tiers);
  const fault = files.fault();
  if (fault !== "") return fault;
  const gcTrace = values["gc-trace"];
  try {
    if (gcTrace !== "") accessSync(gcTrace, constants.R_OK);
  } catch (error) {
    return `${given.get("gc-trace")}: cannot read ${gcTrace}: ${reasonOf(error)}`;
  }
  const plans = tiers.map((tier) => ({
    target,
    method: values.m,
    body: values.body,
    concurrency: values.c,
    durationMs: tier.durationMs,
    tier: tier.name,
    ratePerSecond: values.rate,
    attackRatio: values["attack-ratio"],
  }));
  return { plans, tiers, files, gcTrace };
}

// A list of durations goes before the tier, which then only names the rules that hold.
function readTiers(values: Values, given: Given): readonly DurationTier[] | string {
  if (!given.has("d")) return tiersOf(values.tier);
  if (given.has("tier") && values.tier === "all")
    return `${given.get("d")} and ${given.get("tier")} all: give one of them`;
  const durations: number[] = [];
  for (const text of values.d.split(",")) {
    const ms = parseDuration(text);
    if (ms <= 0 || ms > MAX_LOAD_MS) {
      return `${given.get("d")}: expected durations such as 5s or 5s,60s,300s, at most a day each, found ${JSON.stringify(text)}`;
    }
    durations.push(ms);
  }
  return tiersOfDurations(durations, given.has("tier") ? values.tier : "");
}

/** The runs of one call, one after the other, until the end or Ctrl-C. */
class LoadSession {
  private readonly reports: SaturationReport[] = [];
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
  }

  async run(): Promise<number> {
    process.on("SIGINT", this.onSignal);
    process.on("SIGTERM", this.onSignal);
    try {
      for (let i = 0; i < this.call.plans.length && !this.isInterrupted; i++) await this.runTier(i);
      this.call.files.writeAll(this.reports);
    } finally {
      process.off("SIGINT", this.onSignal);
      process.off("SIGTERM", this.onSignal);
      this.gc?.close();
    }
    if (this.isInterrupted) return ExitCode.Interrupted;
    return this.reports.every((report) => report.overall_verdict === "PASS") ? ExitCode.Done : ExitCode.Failure;
  }

  private async runTier(index: number): Promise<void> {
    const plan = this.call.plans[index]!;
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
    this.io.out(tierSummary(report));
    this.call.files.writeTier(this.call.tiers[index]!, report);
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
