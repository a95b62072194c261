import type { Fault } from "../core/fault.ts";
import type { FaultDetail } from "../core/fault-detail.ts";

/** Times of one upstream exchange in milliseconds; 0 is no limit. */
export interface UpstreamTimes {
  readonly connectMs: number;
  readonly responseHeaderMs: number;
  readonly idleMs: number;
}

/** Why an upstream exchange failed, as far as a retry must know. */
export interface UpstreamFailure {
  readonly fault: Fault;
  /** Why, in the word of the log; FaultDetail.None if the fault has no finer cause. */
  readonly detail: FaultDetail;
  /** Whether the origin may have looked at the request. */
  readonly sent: boolean;
  /** Whether anything of the request's body, even its end alone, was handed on: only a kept body can be sent again. */
  readonly bodyTaken: boolean;
  /** Whether any byte of a response came. */
  readonly answered: boolean;
  /** Whether the connection had served an earlier exchange, so that the origin may just have closed it. */
  readonly reused: boolean;
  /**
   * Whether the origin has retired the connection in order, after it took others there, and has left this request out: by the last stream
   * that its GOAWAY names, or by a refusal after it. RFC 9113 §6.8, §8.7
   */
  readonly leftOut?: boolean;
}
