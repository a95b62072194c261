import { build, type Histogram } from "hdr-histogram-js";

/** Percentiles in milliseconds. */
interface LatencyPercentiles {
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Durations in an HdrHistogram: whole microseconds up to a minute, three digits of each. */
export class LatencyRecord {
  private readonly histogram: Histogram = build({
    bitBucketSize: 32,
    lowestDiscernibleValue: 1,
    highestTrackableValue: LONGEST_MICROS,
    numberOfSignificantValueDigits: 3,
    autoResize: false,
  });

  add(micros: number): void {
    this.histogram.recordValue(Math.min(micros, LONGEST_MICROS));
  }

  /** 0 to 100; 0 ms when nothing was recorded. */
  percentileMs(percent: number): number {
    return this.histogram.totalCount === 0 ? 0 : this.histogram.getValueAtPercentile(percent) / 1000;
  }

  percentiles(): LatencyPercentiles {
    return {
      p50: this.percentileMs(50),
      p90: this.percentileMs(90),
      p99: this.percentileMs(99),
      max: this.percentileMs(100),
    };
  }

  reset(): void {
    this.histogram.reset();
  }
}

const LONGEST_MICROS = 60_000_000;
