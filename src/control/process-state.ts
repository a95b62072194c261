import { heapSize } from "bun:jsc";
import { availableParallelism } from "node:os";
import { WAF_RULES } from "../features/waf/rule-table.ts";
import { heapBytes, residentBytes } from "../memory/process-memory.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { OperationState } from "./operations.ts";

/** What only the control thread knows of the process. */
interface OwnState {
  readonly startedAtMs: number;
  readonly draining: boolean;
  readonly port: number;
  readonly listeners: readonly object[];
  readonly workers: number;
  readonly generation: number;
  readonly operations: OperationState;
  readonly configSource: object | null;
}

/** The process as `/internal/api/status` shows it, now. */
export function processState(config: RuntimeConfig, own: OwnState) {
  const rss = residentBytes();
  const heapUsed = heapSize();
  const disabled = new Set(config.server.waf.disabledRules);
  return {
    ...own,
    nowMs: Date.now(),
    uptimeMs: performance.now(),
    pid: process.pid,
    wafRules: WAF_RULES.filter((rule) => !disabled.has(rule.id)).length,
    cpus: availableParallelism(),
    // In use: that of this thread. In all: those of all threads.
    memory: { rss, heapUsed, heapTotal: Math.max(heapBytes(), heapUsed) },
  };
}
