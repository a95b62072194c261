import { basename } from "node:path";
import type { EventWriter } from "../../../core/event-row.ts";
import { type Metric, metricOf, type Sample } from "../../../core/metric-row.ts";
import type { FUNCTION_EVENTS } from "../events.ts";
import { FUNCTION_METRICS } from "../metrics.ts";
import { nextRun } from "../schedule.ts";

/** A line of `functions.cron`. */
export interface ScheduledJob {
  readonly schedule: string;
  /** Absolute path. */
  readonly module: string;
  readonly timeoutMs: number;
}

/** What a run is told, as the module sees it. */
export interface ScheduledEvent {
  readonly type: "scheduled";
  readonly cron: string;
  readonly scheduledTime: number;
}

/** How a run has ended: `error` is "" for `ok`. */
export interface RunOutcome {
  readonly result: "ok" | "error" | "timeout" | "died";
  readonly error: string;
  /** Places are those of the TypeScript files; "" if there is none. */
  readonly stack: string;
}

/** The lock of the fleet on a run. */
export interface RunLock {
  /** Whether this gateway is to make the run: the first that asks. */
  readonly isOwn: boolean;
  /** Why not; "" if it is. */
  readonly reason: "" | "elsewhere" | "overlap" | "store_away";
  release(): void;
}

/** What schedules ask of the control thread. */
interface SchedulePorts {
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly run: (job: ScheduledJob, event: ScheduledEvent) => Promise<RunOutcome>;
  /** Asks the fleet whether this gateway makes a run; a gateway that is alone makes all. @param id the same at all gateways */
  readonly lock: (id: string, dueMs: number, leaseMs: number) => Promise<RunLock>;
  readonly event: EventWriter<typeof FUNCTION_EVENTS>;
}

/** The jobs of `functions.cron`: one timer each, no run beside another of the same job. docs/functions.md#schedules */
export class ScheduledFunctions {
  private readonly ports: SchedulePorts;
  private jobs: ReadonlyMap<string, JobTimer> = new Map();
  private readonly counts: Map<string, number> = new Map();
  private readonly lastOkMs: Map<string, number> = new Map();

  constructor(ports: SchedulePorts) {
    this.ports = ports;
  }

  /** Takes the list of a configuration. A job that was there goes on, with its run under way. */
  use(jobs: readonly ScheduledJob[]): void {
    const next = new Map<string, JobTimer>();
    for (const job of jobs) {
      // The same line twice is two jobs, and so are modules of one name in two folders.
      let id = idOf(job);
      while (next.has(id)) id += "+";
      const before = this.jobs.get(id);
      next.set(id, before !== undefined && Bun.deepEquals(before.job, job) ? before : this.start(id, job));
    }
    for (const timer of this.jobs.values()) if (![...next.values()].includes(timer)) timer.stop();
    this.jobs = next;
  }

  stop(): void {
    this.use([]);
  }

  metrics(): readonly Metric[] {
    const samples = (values: ReadonlyMap<string, number>, of: (value: number) => number): Sample[] =>
      [...values].map(([labels, value]) => ({ value: of(value), labels: JSON.parse(labels) }));
    return [
      metricOf(FUNCTION_METRICS, "gateway_scheduled_runs_total", () => samples(this.counts, (count) => count)),
      metricOf(FUNCTION_METRICS, "gateway_scheduled_last_success_timestamp_seconds", () =>
        samples(this.lastOkMs, (ms) => ms / 1000),
      ),
    ];
  }

  private start(id: string, job: ScheduledJob): JobTimer {
    return new JobTimer(job, this.ports.now, {
      due: (dueMs) => this.due(id, job, dueMs),
      overlaps: (dueMs) => this.leftOut(job, dueMs, "overlap"),
    });
  }

  /** A run that is not made; what another gateway makes needs no line. */
  private leftOut(job: ScheduledJob, dueMs: number, reason: RunLock["reason"]): void {
    this.count(basename(job.module), reason);
    if (reason !== "elsewhere")
      this.ports.event("function_scheduled", { ...factsOf(job, dueMs), ok: false, result: reason });
  }

  private async due(id: string, job: ScheduledJob, dueMs: number): Promise<void> {
    const { ports } = this;
    const module = basename(job.module);
    const lock = await ports.lock(id, dueMs, job.timeoutMs + LEASE_GRACE_MS);
    if (!lock.isOwn) {
      this.leftOut(job, dueMs, lock.reason);
      return;
    }
    const fromMs = ports.now();
    const { result, error, stack } = await ports.run(job, {
      type: "scheduled",
      cron: job.schedule,
      scheduledTime: dueMs,
    });
    lock.release();
    this.count(module, result);
    const toMs = ports.now();
    if (result === "ok") this.lastOkMs.set(JSON.stringify({ module }), toMs);
    ports.event("function_scheduled", {
      ...factsOf(job, dueMs),
      ok: result === "ok",
      result,
      duration_ms: Math.round(toMs - fromMs),
      ...(error === "" ? {} : { error }),
      ...(stack === "" ? {} : { stack }),
    });
  }

  private count(module: string, result: string): void {
    const labels = JSON.stringify({ module, result });
    this.counts.set(labels, (this.counts.get(labels) ?? 0) + 1);
  }
}

interface JobCalls {
  due(dueMs: number): Promise<void>;
  /** The run before is still under way. */
  overlaps(dueMs: number): void;
}

/** One job's timer. The clock is examined every minute, so that one that is set meanwhile is noticed. */
class JobTimer {
  readonly job: ScheduledJob;
  private readonly now: () => number;
  private readonly calls: JobCalls;
  private timer: Timer | null = null;
  private dueMs: number | null;
  private isRunning = false;

  constructor(job: ScheduledJob, now: () => number, calls: JobCalls) {
    this.job = job;
    this.now = now;
    this.calls = calls;
    this.dueMs = nextRun(job.schedule, now());
    this.wait();
  }

  stop(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.dueMs = null;
  }

  private wait(): void {
    if (this.dueMs === null) return;
    const waitMs = Math.min(LOOK_MS, Math.max(0, this.dueMs - this.now()));
    this.timer = setTimeout(() => this.look(), waitMs);
  }

  private look(): void {
    const nowMs = this.now();
    const { dueMs } = this;
    if (dueMs === null) return;
    if (nowMs >= dueMs) {
      this.dueMs = nextRun(this.job.schedule, nowMs);
      // Long after: the machine was asleep. What was missed is not made up for.
      if (nowMs - dueMs < LATE_MS) {
        if (this.isRunning) this.calls.overlaps(dueMs);
        else void this.run(dueMs);
      }
    } else if (dueMs - nowMs > LOOK_MS) {
      // The clock may have gone back.
      this.dueMs = nextRun(this.job.schedule, nowMs);
    }
    this.wait();
  }

  private async run(dueMs: number): Promise<void> {
    this.isRunning = true;
    try {
      await this.calls.due(dueMs);
    } finally {
      this.isRunning = false;
    }
  }
}

function factsOf({ module, schedule }: ScheduledJob, dueMs: number) {
  return { module, schedule, due: new Date(dueMs).toISOString() };
}

/** The same at all gateways of a fleet, wherever their files are. */
function idOf({ schedule, module }: ScheduledJob): string {
  return `${schedule} ${basename(module)}`;
}

const LOOK_MS = 60_000;
const LATE_MS = 60_000;
/** How much longer than a run the lock on it is kept, where the gateway that has it has died. */
const LEASE_GRACE_MS = 10_000;
