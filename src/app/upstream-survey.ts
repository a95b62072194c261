import type { TargetConfig, UpstreamRouteConfig } from "../config/route-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";
import type { ProbedTarget } from "../features/admin/upstream-health.ts";
import { type ProbeOrigin, type ProbeOutcome, probeHttp } from "../upstream/http-probe.ts";
import { type NodeKeeper, probeOrigin } from "./node-keeper.ts";
import { nodeKeys } from "./node-list.ts";

/** Longest wait for the answer to one probe. Decisions, "upstreams/health". */
const PROBE_LIMIT_MS = 2000;
/** After this no further probe begins, so that the answer comes while somebody waits for it. */
const SURVEY_LIMIT_MS = 5000;
/** Probes under way at once: the control thread has other work. */
const MAX_RUNNING = 128;

/**
 * Probes every target of every route at once, for `/internal/api/upstreams/health`. Each origin and path is asked once,
 * however many routes lead there; who asks while a survey runs gets its result. It changes no state: reading is free.
 */
export class UpstreamSurvey {
  private readonly nodes: NodeKeeper;
  private current: Promise<readonly ProbedTarget[]> | null = null;

  constructor(nodes: NodeKeeper) {
    this.nodes = nodes;
  }

  /** The targets of a configuration as they are now. */
  run(config: RuntimeConfig): Promise<readonly ProbedTarget[]> {
    this.current ??= this.probeAll(config).finally(() => {
      this.current = null;
    });
    return this.current;
  }

  private async probeAll(config: RuntimeConfig): Promise<readonly ProbedTarget[]> {
    const entries = config.routes.flatMap((route) => (route.type === "upstream" ? entriesOf(route) : []));
    const probes = new Map(entries.map((entry) => [entry.probeKey, entry]));
    const outcomes = new Map<string, ProbeOutcome>();
    const untilMs = performance.now() + SURVEY_LIMIT_MS;
    const left = [...probes.values()];
    const work = async (): Promise<void> => {
      for (let entry = left.pop(); entry !== undefined; entry = left.pop()) {
        outcomes.set(entry.probeKey, performance.now() < untilMs ? await probe(entry) : NOT_ASKED);
      }
    };
    await Promise.all(Array.from({ length: Math.min(MAX_RUNNING, left.length) }, work));
    return entries.map((entry) => this.judge(entry, outcomes.get(entry.probeKey)!));
  }

  private judge({ route, target, key }: Entry, outcome: ProbeOutcome): ProbedTarget {
    const state = this.nodes.stateOf(key);
    const { statusCode, latencyMs, error } = outcome;
    const isOpen = state?.isOpen ?? false;
    const { healthCheck } = route;
    const isExpected = healthCheck.enabled
      ? statusCode >= healthCheck.expectStatusFrom && statusCode <= healthCheck.expectStatusTo
      : statusCode > 0 && statusCode < 500;
    return {
      route: route.path === "" ? route.prefix : route.path,
      target: target.url,
      status: isOpen ? "OPEN" : error === "" ? "CLOSED" : "UNREACHABLE",
      healthy: !isOpen && isExpected && (state?.healthy ?? true),
      statusCode,
      latencyMs,
      consecutiveFailures: state?.failures ?? 0,
      error,
    };
  }
}

interface Entry {
  readonly route: UpstreamRouteConfig;
  readonly target: TargetConfig;
  readonly key: string;
  readonly path: string;
  /** What is asked once only. */
  readonly probeKey: string;
}

function entriesOf(route: UpstreamRouteConfig): Entry[] {
  const keys = nodeKeys(route);
  const tls = JSON.stringify(route.tls);
  return route.targets.map((target, i) => {
    const path = route.healthCheck.enabled ? route.healthCheck.path : `${target.basePath}/`;
    return { route, target, key: keys[i]!, path, probeKey: `${target.originKey} ${path} ${tls}` };
  });
}

async function probe(entry: Entry): Promise<ProbeOutcome> {
  let origin: ProbeOrigin;
  try {
    origin = probeOrigin(entry);
  } catch {
    return { statusCode: 0, latencyMs: 0, error: "TLS: a file of the route's settings cannot be read" };
  }
  return probeHttp(origin, entry.path, PROBE_LIMIT_MS);
}

const NOT_ASKED: ProbeOutcome = { statusCode: 0, latencyMs: 0, error: "not asked: too many targets" };
