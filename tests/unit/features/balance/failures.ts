import { Fault } from "../../../../src/core/fault.ts";
import type { UpstreamFailure } from "../../../../src/message/upstream.ts";

/** No connection. */
export const REFUSED: UpstreamFailure = {
  fault: Fault.UpstreamUnavailable,
  sent: false,
  bodyTaken: false,
  answered: false,
  reused: false,
};

/** No answer in time. */
export const TIMED_OUT: UpstreamFailure = {
  fault: Fault.UpstreamTimeout,
  sent: true,
  bodyTaken: false,
  answered: false,
  reused: false,
};

/** A kept connection that the origin had closed. */
export const STALE: UpstreamFailure = {
  fault: Fault.UpstreamUnavailable,
  sent: true,
  bodyTaken: false,
  answered: false,
  reused: true,
};

/** An answer that is none. */
export const MALFORMED: UpstreamFailure = {
  fault: Fault.UpstreamMalformed,
  sent: true,
  bodyTaken: false,
  answered: true,
  reused: false,
};
