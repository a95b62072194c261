import { usesTls } from "../config/origin.ts";
import { detailLabel } from "../core/fault-detail-rows.ts";
import type { ProbedTarget } from "../features/admin/upstream-health.ts";
import type { TranscodedRouteConfig } from "../features/transcode/transcoded-route.ts";
import type { NameResolver } from "../net/name-resolver.ts";
import { labelOf } from "../routes/route-base.ts";
import { upstreamRoutes } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { StreamConfig } from "../routes/streams/stream-config.ts";
import { CONNECTED_STATUS } from "../routes/streams/stream-keys.ts";
import { INGRESS_LABEL, listedSidecarRoutes } from "../routes/upstream/sidecar-routes.ts";
import type { UpstreamRouteConfig } from "../routes/upstream/upstream-config.ts";
import type { UpstreamTlsConfig } from "../routes/upstream/upstream-keys.ts";
import type { ProbeOrigin, ProbeOutcome } from "../upstream/http-probe.ts";
import { isExpected } from "../upstream/prober.ts";
import { readUpstreamTls } from "../upstream/tls-files.ts";
import { nodeKeys } from "../worker/node-list.ts";
import { systemRoots } from "../worker/sidecar-identity.ts";
import { type NodeRegistry, probeOrigin, probeTarget } from "./node-registry.ts";

/** Longest wait for the response to one probe. docs/endpoints.md#upstreams */
const PROBE_LIMIT_MS = 2000;
/** After this no further probe begins, so that the response comes while the client still waits. */
const SURVEY_LIMIT_MS = 5000;
/** Probes under way at once: the control thread has other work. */
const MAX_RUNNING = 128;

/**
 * Probes every target of every route, of a sidecar and of the transcoder at once, for `/internal/api/upstreams/health`. Each
 * origin and path is asked once, however many routes lead there; who asks while a survey runs gets its result. It changes no
 * state: reading is free.
 */
export class UpstreamSurvey {
  private readonly nodes: NodeRegistry;
  private current: Promise<readonly ProbedTarget[]> | null = null;

  constructor(nodes: NodeRegistry) {
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
    const entries = entriesOf(config);
    const probes = new Map(entries.map((entry) => [entry.probeKey, entry]));
    const outcomes = new Map<string, ProbeOutcome>();
    const untilMs = performance.now() + SURVEY_LIMIT_MS;
    const left = [...probes.values()];
    const work = async (): Promise<void> => {
      for (let entry = left.pop(); entry !== undefined; entry = left.pop()) {
        outcomes.set(entry.probeKey, performance.now() < untilMs ? await probe(entry, this.nodes.names) : NOT_ASKED);
      }
    };
    await Promise.all(Array.from({ length: Math.min(MAX_RUNNING, left.length) }, work));
    return entries.map((entry) => this.judge(entry, outcomes.get(entry.probeKey)!));
  }

  private judge({ label, url, name = "", nodeKey, isExpected }: Entry, outcome: ProbeOutcome): ProbedTarget {
    const state = nodeKey === "" ? null : this.nodes.stateOf(nodeKey);
    const { statusCode, latencyMs, error, detail } = outcome;
    const isOpen = state?.isOpen ?? false;
    return {
      route: label,
      target: url,
      name,
      status: isOpen ? "OPEN" : error === "" || statusCode > 0 ? "CLOSED" : "UNREACHABLE",
      healthy: !isOpen && isExpected(outcome) && (state?.healthy ?? true),
      statusCode,
      latencyMs,
      consecutiveFailures: state?.failures ?? 0,
      drained: state?.isDrained ?? false,
      error,
      faultDetail: detail === undefined ? "" : detailLabel(detail),
    };
  }
}

/** A target of a route with its question. */
interface Entry {
  /** What the route is called. */
  readonly label: string;
  readonly url: string;
  /** What operators call it; absent or "" for no name. */
  readonly name?: string;
  /** Of its node; "" if it is none. */
  readonly nodeKey: string;
  readonly path: string;
  /** The same for probes that one question serves. */
  readonly probeKey: string;
  /** @throws when a file of its TLS settings cannot be read */
  readonly origin: () => ProbeOrigin;
  readonly isExpected: (outcome: ProbeOutcome) => boolean;
  /** Whether its breaker alone is known. */
  readonly isKnown?: boolean;
}

/** Those of routes, of streams, of a sidecar and of the transcoder. */
function entriesOf(config: RuntimeConfig): Entry[] {
  const { transcoder } = config;
  const { maxResponseFields } = config.proxy.transport;
  return [
    ...upstreamRoutes(config.routes).flatMap((route) => routeEntries(route, labelOf(route), maxResponseFields)),
    ...listedSidecarRoutes(config).flatMap(({ listener, route }) => {
      const isInbound = listener === INGRESS_LABEL;
      return routeEntries(
        route,
        isInbound ? listener : `${listener} ${labelOf(route)}`,
        maxResponseFields,
        systemRoots,
      );
    }),
    ...config.streams.flatMap((stream) => streamEntries(stream, maxResponseFields)),
    ...(transcoder.enabled
      ? transcoder.routes.map((route) => grpcEntry(route, transcoder.tls, maxResponseFields))
      : []),
  ];
}

/** @param roots the roots where the settings name none; without it, the library's own list */
function routeEntries(
  route: UpstreamRouteConfig,
  label: string,
  maxResponseFields: number,
  roots?: () => readonly string[] | undefined,
): Entry[] {
  const keys = nodeKeys(route);
  const tls = JSON.stringify(route.tls);
  const { healthCheck, strictOrigins } = route;
  const { enabled, grpc, host, method, headers, port, body } = healthCheck;
  const question = enabled ? JSON.stringify([host, method, headers, port, body]) : "";
  return route.targets.map((target, i) => {
    const path = healthCheck.enabled ? healthCheck.path : `${target.basePath}/`;
    return {
      label,
      url: target.url,
      name: target.name,
      nodeKey: keys[i]!,
      path,
      probeKey: `${target.originKey} ${path} ${tls} ${strictOrigins} ${grpc} ${question}`,
      origin: () => {
        const origin = probeOrigin(route, target, maxResponseFields);
        if (roots === undefined || origin.tls === null || origin.tls.ca !== undefined) return origin;
        return { ...origin, tls: { ...origin.tls, ca: roots() } };
      },
      isExpected: healthCheck.enabled ? (outcome) => isExpected(healthCheck, outcome) : isAnswer,
    };
  });
}

/** Of a stream, whose targets are connected to. */
function streamEntries(stream: StreamConfig, maxResponseFields: number): Entry[] {
  const keys = nodeKeys(stream);
  return stream.targets.map((target, i) => ({
    label: stream.path,
    url: target.url,
    name: target.name,
    nodeKey: keys[i]!,
    path: "",
    probeKey: target.originKey,
    // Nothing says whether a datagram has arrived.
    isKnown: stream.type === "udp",
    origin: () => probeOrigin(stream, target, maxResponseFields),
    isExpected: isAnswer,
  }));
}

function grpcEntry(
  { httpPath, upstream }: TranscodedRouteConfig,
  tls: UpstreamTlsConfig,
  maxResponseFields: number,
): Entry {
  const { hostname, port, authority, originKey } = upstream;
  return {
    label: httpPath,
    url: originKey + upstream.basePath,
    nodeKey: "",
    path: "",
    probeKey: `${originKey} ${upstream.basePath} grpc`,
    origin: () => {
      const secure = usesTls(upstream.scheme) ? readUpstreamTls(tls, hostname) : null;
      const grpc = { basePath: upstream.basePath, mustTell: false };
      return { hostname, port, authority, tls: secure, isHttp2: true, grpc, maxResponseFields };
    },
    isExpected: isAnswer,
  };
}

async function probe(entry: Entry, names: NameResolver): Promise<ProbeOutcome> {
  if (entry.isKnown === true) return { statusCode: CONNECTED_STATUS, latencyMs: 0, error: "" };
  let origin: ProbeOrigin;
  try {
    origin = entry.origin();
  } catch {
    return { statusCode: 0, latencyMs: 0, error: "TLS: a file of the route's settings cannot be read" };
  }
  return probeTarget(origin, entry.path, PROBE_LIMIT_MS, names);
}

function isAnswer({ statusCode }: ProbeOutcome): boolean {
  return statusCode > 0 && statusCode < 500;
}

const NOT_ASKED: ProbeOutcome = { statusCode: 0, latencyMs: 0, error: "not asked: too many targets" };
