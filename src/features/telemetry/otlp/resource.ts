import type { InstrumentationScope } from "@opentelemetry/core";
import type { Resource } from "@opentelemetry/resources";

/** Who sends: the same objects with all that is sent, by which the library puts it together. */
export interface Sender {
  readonly resource: Resource;
  readonly scope: InstrumentationScope;
}

/** Seconds and nanoseconds, as the library wants a time. */
export type SplitTime = [seconds: number, nanos: number];

/** @param ms milliseconds since the epoch, with fractions */
export function splitTime(ms: number): SplitTime {
  const seconds = Math.floor(ms / 1000);
  return [seconds, Math.round((ms - seconds * 1000) * 1e6)];
}
