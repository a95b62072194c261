import { availableParallelism } from "node:os";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import { WAF_RULES } from "../features/waf/rule-table.ts";
import type { OperationState } from "./operations.ts";

/** What only the control thread knows of the process. */
interface OwnState {
  readonly startedAtMs: number;
  readonly draining: boolean;
  readonly port: number;
  readonly workers: number;
  readonly generation: number;
  readonly operations: OperationState;
  readonly configSource: object | null;
}

/** The process as `/internal/api/status` shows it, now. */
export function processState(config: RuntimeConfig, own: OwnState) {
  const { rss, heapUsed, heapTotal } = process.memoryUsage();
  const disabled = new Set(config.server.waf.disabledRules);
  return {
    ...own,
    nowMs: Date.now(),
    uptimeMs: performance.now(),
    pid: process.pid,
    wafRules: WAF_RULES.filter((rule) => !disabled.has(rule.id)).length,
    cpus: availableParallelism(),
    // The engine leaves what lies outside its blocks out of the total, so that more may be in use than there is.
    memory: { rss, heapUsed, heapTotal: Math.max(heapTotal, heapUsed) },
  };
}
