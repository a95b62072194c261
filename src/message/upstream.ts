import type { Fault } from "../core/fault.ts";
import type { Exchange } from "./exchange.ts";
import type { HeaderBlock } from "./header-block.ts";
import type { TunnelEnd } from "./ports.ts";

/** Times of one upstream exchange in milliseconds; 0 is no limit. */
export interface UpstreamTimes {
  readonly connectMs: number;
  readonly responseHeaderMs: number;
  readonly idleMs: number;
}

/** Why an upstream exchange failed, as far as a retry must know. */
export interface UpstreamFailure {
  readonly fault: Fault;
  /** Whether the origin may have looked at the request. */
  readonly sent: boolean;
  /** Whether anything of the request's body, even its end alone, was handed on: only a kept body can be sent again. */
  readonly bodyTaken: boolean;
  /** Whether any byte of a response came. */
  readonly answered: boolean;
  /** Whether the connection had served an earlier exchange, so that the origin may just have closed it. */
  readonly reused: boolean;
  /** Whether the origin has retired the connection in order, after it took others there, and has left this request out. RFC 9113 §6.8 */
  readonly leftOut?: boolean;
}

/** Who asked for the exchange: it writes the request's head and is notified of the response's. */
export interface UpstreamCaller {
  readonly times: UpstreamTimes;
  /** What a stream counts as that the origin resets; Fault.UpstreamUnavailable where the caller does not say. */
  readonly resetFault?: Fault;
  /**
   * Whether it sends an exchange once more from `ex.replay`, which the upstream sets where the origin has not looked at the request and
   * what is gone of its body is still there.
   */
  readonly repeatsBodies?: boolean;
  /** Bytes that `encodeRequest` may write at most. */
  requestBound(ex: Exchange): number;
  /** Writes the request's head. @returns the offset after it */
  encodeRequest(ex: Exchange, out: Buffer, at: number): number;
  /** The response's head is in `ex.reply`; the body follows by itself into `ex.sink`. */
  onReplyHead(ex: Exchange): void;
  /** An interim response that passes (102, 103). */
  onInterim(ex: Exchange, status: number, headers: HeaderBlock): void;
  /** The origin has agreed to leave HTTP; `origin` is its end of the tunnel. @returns the client's end */
  onUpgrade(ex: Exchange, origin: TunnelEnd): TunnelEnd;
  /** Nothing of a response has been handed over: the caller may try again or refuse. */
  onFailure(ex: Exchange, failure: UpstreamFailure): void;
}

/** One origin to which exchanges can be sent. */
export interface Upstream {
  readonly label: string;
  /** The authority to send as Host where the client's is not kept. */
  readonly authority: string;
  /** Starts the exchange on a kept connection, or on a new one. */
  send(ex: Exchange, caller: UpstreamCaller): void;
  /** Starts the exchange on a new connection, for a retry after a kept one failed. */
  sendFresh(ex: Exchange, caller: UpstreamCaller): void;
  /** Whether the name of the origin has been asked for, and nothing is known of it: what takes long now is not the origin. */
  readonly awaitsName?: boolean;
}
