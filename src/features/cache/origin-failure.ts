import { Fault } from "../../core/fault.ts";

/** Whether a stale response may stand in for one with this status. RFC 5861 §4. */
export function isFailure(status: number): boolean {
  return status === 500 || (status >= 502 && status <= 504);
}

/** Whether a stale response may stand in for this refusal: the origin gave no response. */
export function isOriginFault(fault: Fault): boolean {
  return (
    fault === Fault.UpstreamUnavailable ||
    fault === Fault.UpstreamMalformed ||
    fault === Fault.UpstreamTimeout ||
    fault === Fault.NameUnresolved ||
    fault === Fault.NoHealthyTarget ||
    fault === Fault.OriginQueueFull ||
    fault === Fault.ConcurrencyLimit
  );
}
