import { LatencyRecord } from "./latency-record.ts";

/** What ended in one span of a run. */
export interface TimelinePoint {
  /** Seconds from the beginning of the run to that of the span. */
  readonly second: number;
  readonly requests: number;
  readonly failures: number;
  readonly attacks: number;
  /** Of the benign requests, in milliseconds. */
  readonly p50_ms: number;
  readonly p99_ms: number;
  readonly max_ms: number;
}

/** A run second by second; a long one in longer spans, so that it never has more than `MAX_POINTS`. */
export class Timeline {
  readonly points: TimelinePoint[] = [];
  private readonly spanSeconds: number;
  private readonly lastSpan: number;
  private readonly latency = new LatencyRecord();
  private span = 0;
  private requests = 0;
  private failures = 0;
  private attacks = 0;

  /** @param durationMs of the run */
  constructor(durationMs: number) {
    this.spanSeconds = Math.max(1, Math.ceil(durationMs / 1000 / MAX_POINTS));
    this.lastSpan = Math.max(0, Math.ceil(durationMs / 1000 / this.spanSeconds) - 1);
  }

  /** The time goes on. @param elapsedMs since the run's clock began */
  at(elapsedMs: number): void {
    // What ends after the time is over belongs to the last span.
    const span = Math.min(this.lastSpan, Math.floor(elapsedMs / 1000 / this.spanSeconds));
    if (span > this.span) this.finish(span);
  }

  benign(micros: number, isGood: boolean): void {
    this.requests++;
    if (!isGood) this.failures++;
    this.latency.add(micros);
  }

  attack(): void {
    this.attacks++;
  }

  /** Ends the span that is open. */
  finish(next: number = this.span + 1): void {
    if (this.requests + this.attacks > 0 && this.points.length < MAX_POINTS) {
      const { p50, p99, max } = this.latency.percentiles();
      const { requests, failures, attacks } = this;
      const second = this.span * this.spanSeconds;
      this.points.push({ second, requests, failures, attacks, p50_ms: p50, p99_ms: p99, max_ms: max });
    }
    this.latency.reset();
    this.requests = 0;
    this.failures = 0;
    this.attacks = 0;
    this.span = next;
  }
}

const MAX_POINTS = 600;
