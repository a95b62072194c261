import { Fault } from "../core/fault.ts";
import { type Exchange, ExchangeState } from "../message/exchange.ts";

/**
 * The exchange is over, answered or cut: the taps hear of it. Every protocol's way to end one, called once.
 * @param nowMs the turn's time
 */
export function finishExchange(ex: Exchange, nowMs: number): void {
  ex.state = ExchangeState.Finished;
  ex.endedMs = nowMs;
  ex.pipeline.onEnd(ex);
}

/** The client is gone or gives the request up: whoever works on it stops. Nothing happens where it is over already. */
export function cancelExchange(ex: Exchange, nowMs: number): void {
  if (ex.state !== ExchangeState.Open && ex.state !== ExchangeState.Replying) return;
  ex.fault = Fault.Cancelled;
  ex.body.onBodyFault(ex, Fault.Cancelled);
  ex.source.onCancelled(ex);
  finishExchange(ex, nowMs);
}
