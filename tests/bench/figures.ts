// The few sums that the benchmarks share, and the tables they print.

/** The middle value, or the mean of the two middle ones; NaN for none. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** The value below which `percent` of the samples lie, interpolated between neighbours; NaN for none. */
export function percentile(values: readonly number[], percent: number): number {
  if (values.length === 0) return Number.NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = ((sorted.length - 1) * percent) / 100;
  const low = sorted[Math.floor(at)]!;
  const high = sorted[Math.ceil(at)]!;
  return low + (high - low) * (at - Math.floor(at));
}

/**
 * The range that holds `percent` of the medians of samples drawn from `values` with replacement (the percentile bootstrap): about
 * where the median would be found again.
 * @param random gives numbers from 0 up to, not including, 1
 */
export function bootstrapMedian(
  values: readonly number[],
  percent: number,
  random: () => number = Math.random,
): { readonly low: number; readonly high: number } {
  const drawn = () => median(values.map(() => values[Math.floor(random() * values.length)]!));
  const medians = Array.from({ length: DRAWS }, drawn);
  const outside = (100 - percent) / 2;
  return { low: percentile(medians, outside), high: percentile(medians, 100 - outside) };
}

const DRAWS = 2000;

/** The slope of the least-squares line through `points`, in y per x; 0 when x does not vary. */
export function slope(points: readonly { x: number; y: number }[]): number {
  const meanX = points.reduce((sum, p) => sum + p.x, 0) / points.length;
  const meanY = points.reduce((sum, p) => sum + p.y, 0) / points.length;
  let covariance = 0;
  let variance = 0;
  for (const p of points) {
    covariance += (p.x - meanX) * (p.y - meanY);
    variance += (p.x - meanX) ** 2;
  }
  return variance === 0 ? 0 : covariance / variance;
}

/** The order in which `items` are measured in a round: as they are in odd rounds, from the last to the first in even ones. */
export function inTurn<T>(items: readonly T[], round: number): readonly T[] {
  return round % 2 === 1 ? items : items.toReversed();
}

/** A number with `digits` decimals, or a dash when there is none. */
export function fixed(value: number | undefined, digits: number): string {
  return value === undefined || Number.isNaN(value) ? "-" : value.toFixed(digits);
}

/** A Markdown table: the first column left, the others right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = head.map((_, i) => (i === 0 ? "---" : "---:"));
  return [line(head), line(rule), ...rows.map(line)].join("\n");
}
