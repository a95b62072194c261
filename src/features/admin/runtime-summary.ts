import type { Cidr } from "../../config/cidr.ts";
import { ENGINE, VERSION } from "../../core/version.ts";
import type { TrafficSummary } from "./traffic-summary.ts";
import { uptimeText } from "./uptime.ts";

/** What the status of the process is made of, beside its configuration and its counters. */
export interface ProcessState {
  readonly startedAtMs: number;
  readonly nowMs: number;
  /** How long it has run. The time of day has no part in it. */
  readonly uptimeMs: number;
  readonly draining: boolean;
  readonly pid: number;
  /** The cleartext port that is listened on: the one the system chose where the configuration says 0. */
  readonly port: number;
  /** The listeners of `server`, with the ports that they have and what their connections are. */
  readonly listeners: readonly object[];
  /** Data workers. */
  readonly workers: number;
  /** Counts the configurations that have been in use since the start, from 1. */
  readonly generation: number;
  /** Rules of the WAF that are switched on. */
  readonly wafRules: number;
  readonly cpus: number;
  /** What operators have done that holds until the process ends. */
  readonly operations: object;
  /** Where the configuration comes from, beyond files; null if it comes from those. */
  readonly configSource: object | null;
  readonly memory: { readonly rss: number; readonly heapUsed: number; readonly heapTotal: number };
}

/** What the status says of the configuration. */
export interface StatusConfig {
  readonly server: {
    readonly waf: {
      readonly enabled: boolean;
      readonly mode: string;
      readonly allowedIps: readonly Pick<Cidr, "text">[];
    };
    readonly cors: { readonly enabled: boolean };
    readonly securityHeaders: { readonly enabled: boolean };
    readonly tls: { readonly clientAuth: string };
    readonly listeners: readonly {
      readonly tls: boolean;
      readonly site: { readonly clientAuth: string } | null;
    }[];
  };
  readonly sidecar: { readonly enabled: boolean; readonly strictMtls: boolean; readonly mode: string };
}

/** The body of `/internal/api/status`. docs/endpoints.md#status */
export function runtimeSummary(state: ProcessState, config: StatusConfig, traffic: TrafficSummary): object {
  const { server } = config;
  const uptimeSeconds = Math.floor(state.uptimeMs / 1000);
  const [engine, engineVersion] = ENGINE.split("/");
  return {
    status: state.draining ? "draining" : "ok",
    server: "edge",
    version: VERSION,
    uptime: uptimeText(uptimeSeconds),
    uptime_seconds: uptimeSeconds,
    started_at: new Date(state.startedAtMs).toISOString(),
    pid: state.pid,
    port: state.port,
    listeners: state.listeners,
    worker_pool_size: state.workers,
    generation: state.generation,
    operations: state.operations,
    config_source: state.configSource,
    runtime: {
      engine,
      engine_version: engineVersion,
      platform: process.platform,
      arch: process.arch,
      cpus: state.cpus,
      memory: {
        rss_bytes: state.memory.rss,
        heap_used_bytes: state.memory.heapUsed,
        heap_total_bytes: state.memory.heapTotal,
      },
    },
    telemetry: traffic,
    waf_enabled: server.waf.enabled,
    waf_mode: server.waf.mode,
    waf_rules_count: state.wafRules,
    waf_allowed_ips: server.waf.allowedIps.map((network) => network.text),
    cors_enabled: server.cors.enabled,
    security_headers: server.securityHeaders.enabled,
    mtls_enabled: demandsClientCertificates(config),
  };
}

/** Whether some listener lets in only those who show a certificate. */
function demandsClientCertificates({ server, sidecar }: StatusConfig): boolean {
  const onTlsPort = server.listeners.some(({ tls, site }) => tls && (site ?? server.tls).clientAuth === "require");
  const onIngress = sidecar.enabled && sidecar.strictMtls && sidecar.mode !== "egress";
  return onTlsPort || onIngress;
}
