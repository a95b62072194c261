import { eventLine } from "../features/telemetry/event-line.ts";
import type { LogBatch } from "../features/telemetry/log-batch.ts";
import type { IncidentListener, OverLimit, WafIncident } from "../features/waf/incident.ts";
import type { Exchange } from "../message/exchange.ts";
import type { RequestNamer } from "../message/ports.ts";
import type { WorkerCounters } from "../shared/counter-table.ts";
import type { IncidentWriter } from "../shared/incident-ring.ts";

/** Tells the ring, the counters and the log of what the WAF found. Spec, "Events": waf_block. */
export class IncidentReporter implements IncidentListener {
  private readonly ring: IncidentWriter;
  private readonly counters: WorkerCounters;
  private readonly log: LogBatch;

  private readonly names: RequestNamer;

  constructor(ring: IncidentWriter, counters: WorkerCounters, log: LogBatch, names: RequestNamer) {
    this.names = names;
    this.ring = ring;
    this.counters = counters;
    this.log = log;
  }

  onInspected(): void {
    this.counters.wafInspected();
  }

  onBudgetExhausted(): void {
    this.counters.wafBudgetExhausted();
  }

  onIncident(incident: WafIncident, ex: Exchange): void {
    const blocked = incident.action === "blocked";
    if (blocked) this.counters.wafBlocked(incident.category);
    else this.counters.wafDetected(incident.category);
    this.ring.record({ ...incident, payloadSnippet: incident.snippet });
    this.log.add(
      eventLine(incident.timestampMs, blocked ? "waf_block" : "waf_detect", {
        request_id: this.names.idOf(ex),
        client_ip: incident.clientIp,
        method: incident.method,
        path: incident.path,
        category: incident.category,
        rule_id: incident.ruleId,
        anomaly_score: incident.anomalyScore,
        action: incident.action,
        location: incident.location,
      }),
    );
  }

  onOverLimit({ timestampMs, clientIp, method, path, maxBytes }: OverLimit, ex: Exchange): void {
    this.counters.wafBlocked("over_limit");
    this.log.add(
      eventLine(timestampMs, "waf_over_limit", {
        request_id: this.names.idOf(ex),
        client_ip: clientIp,
        method,
        path,
        key: "server.waf.over_limit",
        max_inspect_body_size: maxBytes,
      }),
    );
  }
}
