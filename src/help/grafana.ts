import { METRIC_GROUPS, type MetricRow } from "../core/metric-row.ts";
import { METRICS, type MetricName as Name, unitOf } from "../facts/metrics.ts";

interface Panel {
  readonly title: string;
  readonly type: "timeseries" | "stat";
  readonly unit: string;
  readonly targets: readonly { readonly expr: string; readonly legend: string }[];
  readonly description: string;
}

/** What is asked of every query: the variables of the dashboard. */
const OF = 'job=~"$job", instance=~"$instance"';

/**
 * A dashboard for Grafana: what matters first, then a row for each part of the gateway with a panel for each of its metrics.
 * docs/tools.md#grafana-and-alerts
 */
export function grafanaDashboard(): object {
  const panels: object[] = [];
  let y = 0;
  let id = 1;
  const place = (own: readonly Panel[], into: object[]): void => {
    own.forEach((panel, i) => {
      const column = i % COLUMNS;
      if (i > 0 && column === 0) y += HEIGHT;
      into.push(panelJson(panel, id++, { h: HEIGHT, w: WIDTH, x: column * WIDTH, y }));
    });
    y += HEIGHT;
  };
  place(OVERVIEW, panels);
  for (const group of METRIC_GROUPS) {
    const row = { id: id++, type: "row", title: group, collapsed: true, gridPos: { h: 1, w: 24, x: 0, y: y++ } };
    const inner: object[] = [];
    place(
      Object.entries<MetricRow>(METRICS)
        .filter(([, guide]) => guide.group === group)
        .map(([name, guide]) => panelOf(name, guide)),
      inner,
    );
    panels.push({ ...row, panels: inner });
  }
  return {
    title: "edge",
    uid: "edge-gateway",
    tags: ["edge"],
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    timezone: "",
    graphTooltip: 1,
    annotations: { list: [] },
    templating: {
      list: [SOURCE, variable("job", "gateway_build_info"), variable("instance", 'gateway_build_info{job=~"$job"}')],
    },
    panels,
  };
}

function selected(name: Name, more = ""): string {
  return `${name}{${OF}${more}}`;
}

function rateOf(name: Name, by: readonly string[], more = ""): string {
  return `sum${byText(by)} (rate(${selected(name, more)}[$__rate_interval]))`;
}

function byText(labels: readonly string[]): string {
  return labels.length === 0 ? "" : ` by (${labels.join(", ")})`;
}

function legendOf(labels: readonly string[], fallback: string): string {
  return labels.length === 0 ? fallback : labels.map((label) => `{{${label}}}`).join(" ");
}

/** A quantile of a histogram. */
function quantile(name: Name, part: number, by: readonly string[]): { expr: string; legend: string } {
  const buckets = `sum by (${["le", ...by].join(", ")}) (rate(${name}_bucket{${OF}}[$__rate_interval]))`;
  return {
    expr: `histogram_quantile(${part}, ${buckets})`,
    legend: [`p${part * 100}`, legendOf(by, "")].join(" ").trim(),
  };
}

/** What a metric's panel shows follows from its kind: rates of counters, quantiles of histograms, gauges as they are. */
function panelOf(name: string, { title, labels, advice }: MetricRow): Panel {
  const own = name as Name;
  const unit = unitOf(name);
  const base = { title, type: "timeseries", description: `${name}. ${advice}` } as const;
  if (name.endsWith("_duration_seconds")) {
    return { ...base, unit: "s", targets: [0.5, 0.9, 0.99].map((part) => quantile(own, part, labels)) };
  }
  if (name.endsWith("_total")) {
    const by = labels.length > MAX_LABELS ? labels.slice(-MAX_LABELS) : labels;
    const target = { expr: rateOf(own, by), legend: legendOf(by, title) };
    return { ...base, unit: unit === "bytes" ? "Bps" : "ops", targets: [target] };
  }
  if (AGES.has(name)) {
    const expr =
      name === "gateway_certificate_not_after_seconds"
        ? `min by (domain) (${selected(own)}) - time()`
        : `time() - max${byText(labels)} (${selected(own)})`;
    return { ...base, unit: "s", targets: [{ expr, legend: legendOf(labels, title) }] };
  }
  const add = WORST.has(name) ? "min" : name === "gateway_circuit_breaker_state" ? "max" : "sum";
  const target = { expr: `${add}${byText(labels)} (${selected(own)})`, legend: legendOf(labels, title) };
  return { ...base, unit: unit === "bytes" ? "bytes" : "short", targets: [target] };
}

/** Moments: their panels show how long ago they were, or how far they are. */
const AGES: ReadonlySet<string> = new Set<Name>([
  "gateway_certificate_not_after_seconds",
  "gateway_config_last_reload_success_timestamp_seconds",
  "gateway_geo_database_built_seconds",
]);
/** 1 is good: of several the worst is shown. */
const WORST: ReadonlySet<string> = new Set<Name>([
  "gateway_upstream_healthy",
  "gateway_config_last_reload_successful",
  "gateway_cache_disk_up",
]);

const OVERVIEW: readonly Panel[] = [
  {
    title: "Requests by class",
    type: "timeseries",
    unit: "reqps",
    description: "All requests a second, by the first digit of their status.",
    targets: ["2", "3", "4", "5"].map((first) => ({
      expr: rateOf("gateway_requests_total", [], `, code=~"${first}.."`),
      legend: `${first}xx`,
    })),
  },
  {
    title: "Share of 5xx",
    type: "timeseries",
    unit: "percentunit",
    description: "Of all requests.",
    targets: [
      {
        expr: `${rateOf("gateway_requests_total", [], ', code=~"5.."')} / ${rateOf("gateway_requests_total", [])}`,
        legend: "5xx",
      },
    ],
  },
  {
    title: "Latency",
    type: "timeseries",
    unit: "s",
    description: "From the first byte of a request to the end of its response.",
    targets: [0.5, 0.9, 0.99].map((part) => quantile("gateway_request_duration_seconds", part, [])),
  },
  {
    title: "Upstreams out of service",
    type: "stat",
    unit: "short",
    description: "Upstreams whose breaker is open or whose health check fails.",
    targets: [
      { expr: `count(min by (upstream) (${selected("gateway_upstream_healthy")}) == 0) or vector(0)`, legend: "out" },
    ],
  },
  {
    title: "Cache hits",
    type: "timeseries",
    unit: "percentunit",
    description: "Share of the lookups that were hits.",
    targets: [
      {
        expr: `${rateOf("gateway_cache_requests_total", [], ', result="hit"')} / ${rateOf("gateway_cache_requests_total", [])}`,
        legend: "hits",
      },
    ],
  },
  {
    title: "CPU and memory",
    type: "timeseries",
    unit: "short",
    description: "Processors in use, and resident memory in GiB.",
    targets: [
      {
        expr: `sum by (instance) (rate(process_cpu_seconds_total{${OF}}[$__rate_interval]))`,
        legend: "CPU {{instance}}",
      },
      { expr: `sum by (instance) (process_resident_memory_bytes{${OF}}) / 1073741824`, legend: "GiB {{instance}}" },
    ],
  },
];

function panelJson({ title, type, unit, targets, description }: Panel, id: number, gridPos: object): object {
  return {
    id,
    type,
    title,
    description,
    datasource: DATASOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0, custom: { fillOpacity: 10, showPoints: "never" } }, overrides: [] },
    options:
      type === "stat"
        ? { reduceOptions: { calcs: ["lastNotNull"] } }
        : { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi" } },
    targets: targets.map(({ expr, legend }, i) => ({
      refId: String.fromCharCode(FIRST_LETTER + i),
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

function variable(name: string, of: string): object {
  return {
    name,
    type: "query",
    label: name,
    datasource: DATASOURCE,
    query: { query: `label_values(${of}, ${name})`, refId: name },
    refresh: 2,
    multi: true,
    includeAll: true,
    allValue: ".*",
    current: { text: "All", value: "$__all" },
  };
}

const DATASOURCE = { type: "prometheus", uid: "${source}" };
const SOURCE = { name: "source", type: "datasource", label: "data source", query: "prometheus" };
const COLUMNS = 3;
const WIDTH = 8;
const HEIGHT = 8;
/** More labels than these make a panel of lines that are too many. */
const MAX_LABELS = 2;
const FIRST_LETTER = 65;
