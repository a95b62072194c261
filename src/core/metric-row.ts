/** Parts of the gateway, in the order in which they are shown. */
export const METRIC_GROUPS = [
  "Traffic",
  "Connections",
  "Upstreams",
  "Streams",
  "Under pressure",
  "Firewall and guards",
  "Who may come in",
  "Cache",
  "Compression",
  "Certificates",
  "Process",
  "Sidecar",
  "Fleet",
  "Functions",
] as const;

/** One metric of `/metrics`, by its name: docs/metrics.md, `edge help NAME` and the dashboard of `edge grafana` are made of it. */
export interface MetricRow {
  readonly kind: Metric["type"];
  readonly help: string;
  /** Names of its labels, in the order in which they are shown. */
  readonly labels: readonly string[];
  readonly group: (typeof METRIC_GROUPS)[number];
  /** A few words, for a panel. */
  readonly title: string;
  /** Why the value moves, and the operator's next step. */
  readonly advice: string;
}

/** Metrics by their names. */
export type MetricRows = Readonly<Record<string, MetricRow>>;

/** A metric as it is read at scrape time. Names follow the Prometheus rules: base units, counters end in `_total`. */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  /** Reads the samples now; no two may have the same name and labels. */
  read(): readonly Sample[];
}

/** One value of a metric. */
export interface Sample {
  readonly value: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The metric's name with `_bucket`, `_sum` or `_count` for a histogram's samples; absent for all others. */
  readonly metricName?: string;
}

/** The part that is read of a row: its labels, and no others. */
type SampleOf<Row extends MetricRow> = Row["kind"] extends "histogram"
  ? Sample
  : { readonly value: number; readonly labels: Readonly<Record<Row["labels"][number], string>> };

/** A metric of a row. */
export function metricOf<Rows extends MetricRows, Name extends keyof Rows & string>(
  rows: Rows,
  name: Name,
  read: () => readonly SampleOf<Rows[Name]>[],
): Metric {
  const { kind, help } = rows[name]!;
  return { name, help, type: kind, read };
}

/** A counter or gauge without labels. */
export function single<Rows extends MetricRows>(rows: Rows, name: keyof Rows & string, read: () => number): Metric {
  return metricOf<MetricRows, string>(rows, name, () => [{ value: read(), labels: {} }]);
}

/** A counter or gauge with one label. */
export function labelled<Rows extends MetricRows>(
  rows: Rows,
  name: keyof Rows & string,
  read: () => readonly { readonly label: string; readonly count: number }[],
): Metric {
  const [label = ""] = rows[name]!.labels;
  const samples = () => read().map((one) => ({ value: one.count, labels: { [label]: one.label } }));
  return metricOf<MetricRows, string>(rows, name, samples);
}
