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

/** A counter or gauge without labels. */
export function single(type: "counter" | "gauge", name: string, help: string, read: () => number): Metric {
  return { name, help, type, read: () => [{ value: read(), labels: {} }] };
}

/** A counter or gauge with one label. */
export function labelled(
  type: "counter" | "gauge",
  name: string,
  help: string,
  label: string,
  read: () => readonly { readonly label: string; readonly count: number }[],
): Metric {
  return { name, help, type, read: () => read().map((one) => ({ value: one.count, labels: { [label]: one.label } })) };
}
