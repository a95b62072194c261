import type { CounterTotals } from "../../memory/counter-totals.ts";
import type { IncidentReader } from "../../memory/incident-ring.ts";
import type { EndpointAnswers } from "./built-in-endpoints.ts";
import { jsonAnswer } from "./control-rpc.ts";
import { incidentAnswer } from "./incident-list.ts";
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
export function internalAnswers(
  sources: InternalPorts,
): Pick<EndpointAnswers, "status" | "metrics" | "routes" | "upstreams" | "incidents" | "exposition"> {
  const { totals, incidents } = sources;
  const traffic = () => trafficSummary(totals, sources.config().server.waf);
  return {
    status: () => jsonAnswer(200, runtimeSummary(sources.state(), sources.config(), traffic())),
    metrics: () => jsonAnswer(200, traffic()),
    routes: () => jsonAnswer(200, sources.routes()),
    upstreams: async () => jsonAnswer(200, upstreamHealth(await sources.probeTargets(), sources.state().nowMs)),
    incidents: (query) => incidentAnswer(incidents, query),
    exposition: async (format) => {
      const { contentType, text } = await sources.exposition(format);
      return { status: 200, contentType, body: text };
    },
  };
}
