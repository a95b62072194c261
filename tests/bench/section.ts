// What one part of the benchmarks hands back.

/** The result of one part: a heading, its tables, and the figures behind them. */
export interface Section {
  readonly name: string;
  readonly markdown: string;
  readonly data: unknown;
  /** True when the part itself says that something is wrong, beyond a slow figure. */
  readonly failed: boolean;
}

/** A progress line, on a terminal only. */
export function progress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${text}\n`);
}
