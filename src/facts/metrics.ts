import type { MetricRows } from "../core/metric-row.ts";
import { ACME_METRICS } from "../features/acme/metrics.ts";
import { AGENT_METRICS } from "../features/agents/metrics.ts";
import { AI_METRICS } from "../features/ai/metrics.ts";
import { AUTH_METRICS } from "../features/auth/metrics.ts";
import { BAN_METRICS } from "../features/bans/metrics.ts";
import { BOT_METRICS } from "../features/bots/metrics.ts";
import { CACHE_METRICS } from "../features/cache/metrics.ts";
import { CANARY_METRICS } from "../features/canary/metrics.ts";
import { COMPRESS_METRICS } from "../features/compress/metrics.ts";
import { CONCURRENCY_METRICS } from "../features/concurrency/metrics.ts";
import { CONNECT_METRICS } from "../features/connect/metrics.ts";
import { FLEET_METRICS, REMOTE_METRICS } from "../features/fleet/metrics.ts";
import { FUNCTION_METRICS } from "../features/functions/metrics.ts";
import { GEO_METRICS } from "../features/geo/metrics.ts";
import { HEDGE_METRICS } from "../features/hedge/metrics.ts";
import { LIMIT_METRICS } from "../features/limit/metrics.ts";
import { MIRROR_METRICS } from "../features/mirror/metrics.ts";
import { OVERLOAD_METRICS } from "../features/overload/metrics.ts";
import { PAGE_METRICS } from "../features/pages/metrics.ts";
import { SIDECAR_METRICS } from "../features/sidecar/metrics.ts";
import { SLO_METRICS } from "../features/slo/metrics.ts";
import { TELEMETRY_METRICS } from "../features/telemetry/metrics.ts";
import { TLS_METRICS } from "../features/tls/metrics.ts";
import { WAF_METRICS } from "../features/waf/metrics.ts";
import { WAITING_METRICS } from "../features/waiting/metrics.ts";
import { GATEWAY_METRICS } from "./gateway-metrics.ts";

/** All metrics of `/metrics`, in the order in which they are shown within their group: a new one is a row of its owner, and what reads it. */
export const METRICS = {
  ...GATEWAY_METRICS,
  ...MIRROR_METRICS,
  ...HEDGE_METRICS,
  ...AI_METRICS,
  ...PAGE_METRICS,
  ...WAF_METRICS,
  ...TELEMETRY_METRICS,
  ...LIMIT_METRICS,
  ...CONCURRENCY_METRICS,
  ...WAITING_METRICS,
  ...CONNECT_METRICS,
  ...SLO_METRICS,
  ...CANARY_METRICS,
  ...OVERLOAD_METRICS,
  ...AGENT_METRICS,
  ...BOT_METRICS,
  ...BAN_METRICS,
  ...GEO_METRICS,
  ...AUTH_METRICS,
  ...CACHE_METRICS,
  ...COMPRESS_METRICS,
  ...TLS_METRICS,
  ...ACME_METRICS,
  ...SIDECAR_METRICS,
  ...FLEET_METRICS,
  ...REMOTE_METRICS,
  ...FUNCTION_METRICS,
} as const satisfies MetricRows;

/** The name of a metric. */
export type MetricName = keyof typeof METRICS;

/** The unit of a metric, as its name says it. */
export function unitOf(name: string): "seconds" | "bytes" | "count" | "number" {
  if (/_seconds$/.test(name)) return "seconds";
  if (/_bytes(_total)?$/.test(name)) return "bytes";
  return name.endsWith("_total") ? "count" : "number";
}
