import { Fault } from "../../../../src/core/fault.ts";
import { FaultDetail } from "../../../../src/core/fault-detail.ts";
import type { UpstreamFailure } from "../../../../src/message/upstream.ts";

/** No connection. */
export const REFUSED: UpstreamFailure = {
  fault: Fault.UpstreamUnavailable,
  detail: FaultDetail.None,
  sent: false,
  bodyTaken: false,
  answered: false,
  reused: false,
};

/** No answer in time. */
export const TIMED_OUT: UpstreamFailure = {
  fault: Fault.UpstreamTimeout,
  detail: FaultDetail.None,
  sent: true,
  bodyTaken: false,
  answered: false,
  reused: false,
};

/** A kept connection that the origin had closed. */
export const STALE: UpstreamFailure = {
  fault: Fault.UpstreamUnavailable,
  detail: FaultDetail.None,
  sent: true,
  bodyTaken: false,
  answered: false,
  reused: true,
};

/** An answer that is none. */
export const MALFORMED: UpstreamFailure = {
  fault: Fault.UpstreamMalformed,
  detail: FaultDetail.None,
  sent: true,
  bodyTaken: false,
  answered: true,
  reused: false,
};
