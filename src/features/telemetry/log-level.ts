import type { Takers } from "../../core/message-takers.ts";
import type { WorkerService } from "../../core/worker-service.ts";
/** How much is logged, from all to the least. docs/operations.md#log-level */
export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];

/** Whether a value is the name of a level. */
export function isLogLevel(value: unknown): value is LogLevel {
  return LOG_LEVELS.includes(value as LogLevel);
}

/** From the control thread: how much is logged from now on. */
interface LogLevelMessage {
  readonly kind: "log-level";
  readonly level: LogLevel;
}

/** The level of one thread's log, which may change while it runs. */
export class LogThreshold implements WorkerService<unknown> {
  readonly onMessage: Takers<LogLevelMessage> = { "log-level": ({ level }) => this.take(level) };
  /** Whether access lines are left out. */
  isQuiet = false;
  /** Whether bounds and samples are left aside. */
  isVerbose = false;
  private rank = RANKS.info;

  begin({ logLevel }: { readonly logLevel: LogLevel }): void {
    this.take(logLevel);
  }

  /** Takes another level. */
  take(level: LogLevel): void {
    this.rank = RANKS[level];
    this.isQuiet = this.rank > RANKS.info;
    this.isVerbose = this.rank === RANKS.debug;
  }

  /** Whether the log has lines of this level. */
  takes(level: LogLevel): boolean {
    return RANKS[level] >= this.rank;
  }
}

const RANKS: Readonly<Record<LogLevel, number>> = { debug: 0, info: 1, warn: 2, error: 3 };
