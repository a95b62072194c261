import { originOf, originUrl } from "../../../config/origin.ts";
import type { ControlService } from "../../../core/control-service.ts";
import type { ServiceRecord } from "../../../proto/dns/service-records.ts";
import { upstreamRoutes } from "../../../routes/route-config.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { ServiceConfig, UpstreamKeys } from "../../../routes/upstream/upstream-keys.ts";
import { askService, type ServiceResult } from "./service-query.ts";

/** The parts of the control thread that services of targets need. */
interface ServicePorts {
  /** There are other servers: what `applied` gives is another configuration now. */
  readonly changed: () => void;
  /** A service could not be found out; the servers known before serve on. */
  readonly onFailure: (service: string, reason: string) => void;
  readonly ask?: (name: string, servers: readonly string[]) => Promise<ServiceResult>;
}

/** A service as it was found. */
export interface FoundService {
  readonly name: string;
  readonly records: readonly ServiceRecord[];
  /** "" if it has servers. */
  readonly failure: string;
}

/** A service that some route names. */
interface Service {
  records: readonly ServiceRecord[];
  /** Since when the name servers say that it has no servers; Infinity if they do not. */
  lostMs: number;
  timer: Timer | null;
  lastFailure: string;
}

/**
 * Targets by SRV records (RFC 2782), `srv+http://_web._tcp.example.com`: the control thread asks beside requests, as long as a record
 * says that it lives, and brings other servers to the workers as a configuration. docs/upstreams.md#srv-records
 */
export class ServiceTargets implements ControlService<RuntimeConfig> {
  private readonly ports: ServicePorts;
  private services: Map<string, Service> = new Map();
  private transport: RuntimeConfig["proxy"]["transport"] | null = null;

  constructor(ports: ServicePorts) {
    this.ports = ports;
  }

  /** @returns when every service has its first response, or takes too long for a start to wait */
  async use(_: RuntimeConfig, config: RuntimeConfig): Promise<void> {
    this.transport = config.proxy.transport;
    const before = this.services;
    this.services = new Map();
    for (const name of namesIn(config)) {
      const known = before.get(name);
      before.delete(name);
      this.services.set(name, known ?? { records: [], lostMs: Number.POSITIVE_INFINITY, timer: null, lastFailure: "" });
    }
    for (const gone of before.values()) clear(gone);
    const fresh = [...this.services].filter(([, { timer }]) => timer === null);
    if (fresh.length > 0)
      await Promise.race([Promise.all(fresh.map(([name, one]) => this.look(name, one))), Bun.sleep(START_MS)]);
  }

  /** The services with their servers, or why none is known. */
  found(): readonly FoundService[] {
    return [...this.services].map(([name, { records, lastFailure }]) => ({
      name,
      records,
      failure: records.length > 0 ? "" : lastFailure || "ETIMEOUT",
    }));
  }

  stop(): void {
    for (const service of this.services.values()) clear(service);
    this.services.clear();
  }

  /** The configuration with the servers of its services. */
  applied(config: RuntimeConfig): RuntimeConfig {
    if (!config.routes.some((route) => "service" in route && route.service !== null)) return config;
    const routes = config.routes.map((route) => {
      if (!("service" in route) || route.service === null) return route;
      const records = this.services.get(route.service.name)?.records ?? [];
      return records.length === 0 ? route : { ...route, targets: targetsOf(route.service, records) };
    });
    return { ...config, routes };
  }

  private async look(name: string, service: Service): Promise<void> {
    const { nameservers, dnsHoldMs } = this.transport!;
    const result = await (this.ports.ask ?? askService)(name, nameservers);
    if (this.services.get(name) !== service) return;
    const failure = "failure" in result ? result.failure : result.records.length === 0 ? "ENOTFOUND" : "";
    if (failure !== "" && failure !== service.lastFailure) this.ports.onFailure(name, failure);
    service.lastFailure = failure;
    const ttlMs = "failure" in result || failure !== "" ? RETRY_MS : result.ttl * 1000;
    clear(service);
    service.timer = setTimeout(() => void this.look(name, service), Math.min(Math.max(ttlMs, MIN_TTL_MS), MAX_TTL_MS));
    service.timer.unref();
    if ("failure" in result) return;
    const now = performance.now();
    service.lostMs = failure === "" ? Number.POSITIVE_INFINITY : Math.min(service.lostMs, now);
    // As for addresses: a service that has gone serves on for a while.
    if (failure !== "" && now - service.lostMs < dnsHoldMs) return;
    const records = [...result.records].sort(inOrder);
    if (JSON.stringify(records) === JSON.stringify(service.records)) return;
    service.records = records;
    this.ports.changed();
  }
}

/** The names of the services that routes have as targets. */
function namesIn({ routes, proxy }: RuntimeConfig): ReadonlySet<string> {
  const all = proxy.enabled ? upstreamRoutes(routes) : [];
  return new Set(all.flatMap(({ service }) => (service === null ? [] : [service.name])));
}

/** Servers of the lowest priority take all requests while one of them is healthy; the others are backups. */
function targetsOf({ scheme, basePath }: ServiceConfig, records: readonly ServiceRecord[]): UpstreamKeys["targets"] {
  const first = Math.min(...records.map(({ priority }) => priority));
  // RFC 2782: a weight of 0 beside others is a very small chance, not none.
  const hasZero = records.some(({ weight }) => weight === 0);
  return records.map(({ host, port, priority, weight }) => {
    const origin = originOf(scheme, host, port, basePath);
    return {
      ...origin,
      url: originUrl(origin),
      weight: hasZero ? Math.max(1, weight * ZERO_SHARE) : weight,
      backup: priority > first,
      name: "",
      concurrency: null,
    };
  });
}

function inOrder(one: ServiceRecord, other: ServiceRecord): number {
  return (
    one.priority - other.priority ||
    (one.host < other.host ? -1 : one.host > other.host ? 1 : 0) ||
    one.port - other.port ||
    one.weight - other.weight
  );
}

function clear(service: Service): void {
  if (service.timer !== null) clearTimeout(service.timer);
  service.timer = null;
}

/** How long a start waits for the name servers. */
const START_MS = 2000;
/** Time until the next question after one without a response. */
const RETRY_MS = 1000;
const MIN_TTL_MS = 1000;
const MAX_TTL_MS = 300_000;
const ZERO_SHARE = 100;
