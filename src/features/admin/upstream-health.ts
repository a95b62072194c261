/** A target of a route as a probe found it. docs/endpoints.md#upstreams */
export interface ProbedTarget {
  /** The route's prefix or path. */
  readonly route: string;
  readonly target: string;
  /** What operators call it; "" for no name. */
  readonly name: string;
  readonly status: "CLOSED" | "OPEN" | "UNREACHABLE";
  readonly healthy: boolean;
  /** 0 when no response came. */
  readonly statusCode: number;
  readonly latencyMs: number;
  /** Failures in a row that requests have met. */
  readonly consecutiveFailures: number;
  /** Whether an operator has taken it out. */
  readonly drained: boolean;
  /** Why no response came, or why its body is not a good one; "" when neither. */
  readonly error: string;
  /** The cause as the log names it; "" for none. */
  readonly faultDetail: string;
}

/** The body of `/internal/api/upstreams/health`. docs/endpoints.md#upstreams */
export function upstreamHealth(targets: readonly ProbedTarget[], checkedAtMs: number): object {
  const healthy = targets.filter((target) => target.healthy).length;
  return {
    status: healthy === targets.length ? "healthy" : healthy > 0 ? "degraded" : "unhealthy",
    checked_at: new Date(checkedAtMs).toISOString(),
    total: targets.length,
    healthy,
    upstreams: targets.map((target) => ({
      route: target.route,
      target: target.target,
      ...(target.name === "" ? {} : { name: target.name }),
      status: target.status,
      healthy: target.healthy,
      status_code: target.statusCode,
      latency_ms: Math.round(target.latencyMs * 1000) / 1000,
      consecutive_failures: target.consecutiveFailures,
      drained: target.drained,
      error: target.error,
      ...(target.faultDetail === "" ? {} : { fault_detail: target.faultDetail }),
    })),
  };
}
