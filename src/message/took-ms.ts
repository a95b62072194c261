import type { Exchange } from "./exchange.ts";

/** Milliseconds from the first byte of a request to the end of its response; 0 if it did not begin. */
export function tookMs({ startedMs, endedMs }: Pick<Exchange, "startedMs" | "endedMs">): number {
  return startedMs > 0 ? endedMs - startedMs : 0;
}
