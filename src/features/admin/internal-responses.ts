import type { CounterTotals } from "../../memory/counter-totals.ts";
import type { IncidentReader } from "../../memory/incident-ring.ts";
import type { EndpointResponses } from "./built-in-endpoints.ts";
import { jsonResponse } from "./control-rpc.ts";
import { incidentResponse } from "./incident-list.ts";
import { type ProcessState, runtimeSummary, type StatusConfig } from "./runtime-summary.ts";
import { trafficSummary } from "./traffic-summary.ts";
import { type ProbedTarget, upstreamHealth } from "./upstream-health.ts";

/** What the control thread's responses are made of; each is asked anew for every one. */
interface InternalPorts {
  /** The configuration in use. */
  readonly config: () => StatusConfig;
  readonly state: () => ProcessState;
  /** Every active route, as `/internal/api/routes` lists them. */
  readonly routes: () => object;
  /** Probes every target now. */
  readonly probeTargets: () => Promise<readonly ProbedTarget[]>;
  readonly totals: CounterTotals;
  readonly incidents: IncidentReader;
  /** Text and content type of the Prometheus exposition. @param format what the scraper would rather have; "" for none */
  readonly exposition: (format: string) => Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Answers the questions of the built-in endpoints whose data this feature has. */
export function internalResponses(
  sources: InternalPorts,
): Pick<EndpointResponses, "status" | "metrics" | "routes" | "upstreams" | "incidents" | "exposition"> {
  const { totals, incidents } = sources;
  const traffic = () => trafficSummary(totals, sources.config().server.waf);
  return {
    status: () => jsonResponse(200, runtimeSummary(sources.state(), sources.config(), traffic())),
    metrics: () => jsonResponse(200, traffic()),
    routes: () => jsonResponse(200, sources.routes()),
    upstreams: async () => jsonResponse(200, upstreamHealth(await sources.probeTargets(), sources.state().nowMs)),
    incidents: (query) => incidentResponse(incidents, query),
    exposition: async (format) => {
      const { contentType, text } = await sources.exposition(format);
      return { status: 200, contentType, body: text };
    },
  };
}
