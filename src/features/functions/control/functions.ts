import type { ControlService } from "../../../core/control-service.ts";
import type { Metric } from "../../../core/metric-row.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { LogThreshold } from "../../telemetry/log-level.ts";
import { moduleSettings } from "./configured-modules.ts";
import { type FunctionThreadPorts, FunctionThreads, type FunctionWorkers, threadPorts } from "./function-threads.ts";
import { lockRun, type SharedPlace } from "./run-lock.ts";
import { runScheduled } from "./schedule-run.ts";
import { ScheduledFunctions } from "./scheduled-functions.ts";

/** The control thread's part in code of users: the threads of functions and hooks, and schedules. docs/functions.md */
export class Functions extends FunctionThreads implements ControlService<RuntimeConfig> {
  private readonly schedules: ScheduledFunctions;
  private settings: RuntimeConfig["functions"] | null = null;
  private isServing = false;

  /** @param fleet whose lock decides which gateway makes a run */
  constructor(
    pool: FunctionWorkers,
    fleet: { readonly shared: SharedPlace },
    threshold: LogThreshold,
    event: FunctionThreadPorts["event"],
  ) {
    super(threadPorts(pool, threshold, event));
    this.schedules = new ScheduledFunctions({
      now: () => Date.now(),
      lock: (id, dueMs, leaseMs) => lockRun(fleet.shared, id, dueMs, leaseMs),
      event,
      run: (job, due) => {
        return runScheduled(job, due, moduleSettings({ functions: this.settings! }), ({ level, line }) => {
          if (threshold.takes(level)) event("function_log", { module: job.module, level, ...line });
        });
      },
    });
  }

  override use(config: RuntimeConfig): void {
    super.use(config);
    this.settings = config.functions;
    if (this.isServing) this.schedules.use(config.functions.cron);
  }

  /** Until then it may be that a predecessor still makes the runs. */
  override workerListens(worker: number): void {
    super.workerListens(worker);
    this.isServing = true;
    this.schedules.use(this.settings?.cron ?? []);
  }

  override stop(): void {
    this.schedules.stop();
    super.stop();
  }

  override metrics(): readonly Metric[] {
    return [...super.metrics(), ...this.schedules.metrics()];
  }
}
