import { stringify } from "yaml";
import { percentText } from "../core/number-text.ts";
import type { MetricName as Name } from "../facts/metrics.ts";
import { THRESHOLDS, type Threshold, type Thresholds } from "../features/dashboard/thresholds.ts";

/** One rule. */
interface AlertRow {
  readonly name: string;
  /** The metrics that it is about: docs/metrics.md says what to do. */
  readonly metrics: readonly Name[];
  readonly expr: string;
  /** How long it has to hold. */
  readonly lasting: string;
  /** Whether a person is to be woken. */
  readonly severity: "critical" | "warning";
  readonly summary: string;
  readonly description: string;
}

/** The rules of `edge alerts`, which go by the thresholds of the verdict. docs/tools.md#grafana-and-alerts */
export function alertRows(from: Thresholds = THRESHOLDS): readonly AlertRow[] {
  return [...ofRequests(from), ...ofObjectives(from), ...ofState(from), ...ofProcess(), ...ofRefusals(from)];
}

function ofRequests({ manyErrors, routeErrors, routeRequests, slow }: Thresholds): AlertRow[] {
  return [
    {
      name: "EdgeDown",
      metrics: ["gateway_build_info"],
      expr: 'up{job="edge"} == 0',
      lasting: "2m",
      severity: "critical",
      summary: "{{ $labels.instance }} does not answer",
      description:
        "Prometheus cannot scrape the gateway. The job is called edge here: if yours has another name, change the rule.",
    },
    {
      name: "EdgeManyErrors",
      metrics: ["gateway_requests_total"],
      expr: `${errorsBy("instance", manyErrors)} > ${manyErrors.value}`,
      lasting: "5m",
      severity: "critical",
      summary: "{{ $value | humanizePercentage }} of the requests at {{ $labels.instance }} fail",
      description: `More than ${percentText(manyErrors.value)} of the requests of the last five minutes were answered with 5xx.`,
    },
    {
      name: "EdgeRouteErrors",
      metrics: ["gateway_requests_total"],
      expr: `(${errorsBy("instance, path", routeErrors)} > ${routeErrors.value}) and sum by (instance, path) (${rateOf("gateway_requests_total", routeRequests)}) > ${routeRequests.value}`,
      lasting: "10m",
      severity: "warning",
      summary: "{{ $value | humanizePercentage }} of the requests to {{ $labels.path }} fail",
      description: `More than ${percentText(routeErrors.value)} of the requests of one route were answered with 5xx.`,
    },
    {
      name: "EdgeSlow",
      metrics: ["gateway_request_duration_seconds"],
      expr: `histogram_quantile(0.99, sum by (instance, le) (${rateOf("gateway_request_duration_seconds_bucket", slow)})) > ${slow.value}`,
      lasting: "10m",
      severity: "warning",
      summary: "One request in a hundred takes {{ $value | humanizeDuration }} at {{ $labels.instance }}",
      description: `The 99th percentile of all requests is above ${slow.value} seconds. Set the bound to your usual value.`,
    },
  ];
}

function ofObjectives({ budgetOfHour, budgetOfSixHours }: Thresholds): AlertRow[] {
  return [
    {
      name: "EdgeObjectiveMissed",
      metrics: ["gateway_slo_burn_rate", "gateway_slo_window_seconds"],
      expr: `${burning("1h", budgetOfHour)} and ${burning("5m", budgetOfHour)}`,
      lasting: "2m",
      severity: "critical",
      summary: "{{ $labels.route }} at {{ $labels.instance }} misses its objective ({{ $labels.slo }})",
      description: `An hour at this rate uses ${percentText(budgetOfHour.value)} of the bad requests up that the route's slo allows for its whole window.`,
    },
    {
      name: "EdgeObjectiveBurns",
      metrics: ["gateway_slo_burn_rate", "gateway_slo_window_seconds"],
      expr: `${burning("6h", budgetOfSixHours)} and ${burning("1h", budgetOfSixHours)}`,
      lasting: "15m",
      severity: "warning",
      summary: "{{ $labels.route }} at {{ $labels.instance }} uses up its budget of bad requests ({{ $labels.slo }})",
      description: `Six hours at this rate use ${percentText(budgetOfSixHours.value)} of the bad requests up that the route's slo allows for its whole window.`,
    },
  ];
}

/** Whether a window's burn rate would use so much of the budget up, in the time of the threshold. */
function burning(window: string, { value, alertS = 0 }: Threshold): string {
  const rate = `max by (instance, route, slo) (gateway_slo_burn_rate{window="${window}"})`;
  return `${rate} > ${value} * max by (instance, route, slo) (gateway_slo_window_seconds) / ${alertS}`;
}

function ofState({ certificateEnds }: Thresholds): AlertRow[] {
  return [
    {
      name: "EdgeUpstreamOut",
      metrics: ["gateway_upstream_healthy", "gateway_circuit_breaker_state"],
      expr: "gateway_upstream_healthy == 0",
      lasting: "5m",
      severity: "warning",
      summary: "{{ $labels.upstream }} is out of service",
      description: "Its circuit breaker is open, or its health check fails.",
    },
    {
      name: "EdgeAllUpstreamsOut",
      metrics: ["gateway_upstream_healthy"],
      expr: "max by (instance) (gateway_upstream_healthy) == 0",
      lasting: "1m",
      severity: "critical",
      summary: "No upstream of {{ $labels.instance }} is in service",
      description:
        "Every circuit breaker is open or every health check fails: check the network of your gateway first.",
    },
    {
      name: "EdgeCertificateExpires",
      metrics: ["gateway_certificate_not_after_seconds", "gateway_acme_renewals_total"],
      expr: `min by (instance, domain) (gateway_certificate_not_after_seconds) - time() < ${certificateEnds.value} * 86400`,
      lasting: "1h",
      severity: "critical",
      summary: "The certificate of {{ $labels.domain }} ends in {{ $value | humanizeDuration }}",
      description: "edge should have renewed it long before: run edge certs.",
    },
    {
      name: "EdgeReloadFailed",
      metrics: ["gateway_config_last_reload_successful"],
      expr: "gateway_config_last_reload_successful == 0",
      lasting: "5m",
      severity: "warning",
      summary: "The last reload at {{ $labels.instance }} failed",
      description:
        "The gateway serves an older configuration than your files, and a restart would fail. edge check names the faults.",
    },
  ];
}

function ofProcess(): AlertRow[] {
  return [
    {
      name: "EdgeWorkerStalled",
      metrics: ["gateway_worker_stalls_total"],
      expr: "increase(gateway_worker_stalls_total[15m]) > 0",
      lasting: "0m",
      severity: "warning",
      summary: "A worker of {{ $labels.instance }} stood still and was replaced",
      description: "Its connections were lost. Your machine has no CPU left, or you found a defect.",
    },
    {
      name: "EdgeShortOfDescriptors",
      metrics: ["gateway_accept_pauses_total"],
      expr: 'increase(gateway_accept_pauses_total{reason="descriptors"}[10m]) > 0',
      lasting: "0m",
      severity: "critical",
      summary: "{{ $labels.instance }} has no file descriptors left",
      description: "Connections wait. Raise LimitNOFILE.",
    },
    {
      name: "EdgeConnectionsFull",
      metrics: ["gateway_accept_pauses_total", "gateway_active_tcp_connections"],
      expr: 'increase(gateway_accept_pauses_total{reason="max_connections"}[10m]) > 0',
      lasting: "5m",
      severity: "warning",
      summary: "{{ $labels.instance }} has as many connections as it may",
      description: "New connections wait. Raise server.max_connections, or find the client that holds so many.",
    },
  ];
}

function ofRefusals({ attack, logLinesDropped }: Thresholds): AlertRow[] {
  return [
    {
      name: "EdgeUnderAttack",
      metrics: ["gateway_waf_blocked_requests_total"],
      expr: `sum by (instance) (${rateOf("gateway_waf_blocked_requests_total", attack)}) > ${attack.value}`,
      lasting: "10m",
      severity: "warning",
      summary: "The firewall of {{ $labels.instance }} refuses {{ $value | humanize }} requests a second",
      description: "edge top, list 3, shows you the clients. Right after you released, they may be false positives.",
    },
    {
      name: "EdgeLogLinesDropped",
      metrics: ["gateway_log_lines_dropped_total"],
      expr: `${rateOf("gateway_log_lines_dropped_total", logLinesDropped)} > ${logLinesDropped.value}`,
      lasting: "10m",
      severity: "warning",
      summary: "{{ $labels.instance }} drops lines of its log",
      description: "The reader of your log is too slow, or an output is down.",
    },
  ];
}

/** The growth of a counter, over the time of a threshold: `rate(x[5m])`. */
function rateOf(counter: string, { alertS = 0 }: Threshold): string {
  return `rate(${counter}[${alertS / 60}m])`;
}

/** The share of 5xx, by some labels. */
function errorsBy(labels: string, over: Threshold): string {
  const failed = rateOf('gateway_requests_total{code=~"5.."}', over);
  return `sum by (${labels}) (${failed}) / sum by (${labels}) (${rateOf("gateway_requests_total", over)})`;
}

/** The rules as a file of Prometheus. */
export function alertRules(): string {
  const rules = alertRows().map(({ name, metrics, expr, lasting, severity, summary, description }) => ({
    alert: name,
    expr,
    ...(lasting === "0m" ? {} : { for: lasting }),
    labels: { severity },
    annotations: { summary, description, see: metrics.map((metric) => `docs/metrics.md#${metric}`).join(" ") },
  }));
  const head = "# Alerts for edge, printed by `edge alerts`. Set the bounds to your usual values.\n";
  return head + stringify({ groups: [{ name: "edge", rules }] }, { lineWidth: 0 });
}
