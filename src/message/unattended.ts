import { Fault } from "../core/fault.ts";
import { Exchange, ExchangeState, type IdleExchangePorts, type ResponseSink } from "./exchange.ts";
import type { TunnelEnd } from "./ports.ts";
import type { PrebuiltResponse } from "./prebuilt-response.ts";

/** An exchange of the gateway's own with the request of another, without its body: no client waits for the response. */
export function unattendedCopy(ex: Exchange, idle: IdleExchangePorts): Exchange {
  const own = new Exchange(idle);
  own.request.copyFrom(ex.request);
  own.original = ex.facts;
  own.agent = ex.agent;
  own.route = ex.route;
  own.fromTrustedProxy = ex.fromTrustedProxy;
  own.forwardedIp = ex.forwardedIp;
  own.prefixLength = ex.prefixLength;
  own.forwardPath = ex.forwardPath;
  own.canonicalPath = ex.canonicalPath;
  own.captures = ex.captures;
  own.identity = ex.identity;
  own.bodyDone = true;
  own.startedMs = ex.startedMs;
  return own;
}

/** A copy that goes to another target as the request itself does: of the same client, under the same id. */
export function forwardedCopy(ex: Exchange, idle: IdleExchangePorts): Exchange {
  const copy = unattendedCopy(ex, idle);
  ex.response.requestIdLine.copy(copy.response.requestIdLine, 0, 0, ex.response.requestIdEnd);
  copy.response.requestIdEnd = ex.response.requestIdEnd;
  copy.client = ex.client;
  return copy;
}

/** Takes a response that no client waits for. */
export class UnattendedSink implements ResponseSink {
  readonly returnsBytes = true;
  private readonly done: (fault: Fault) => void;

  /** @param done learns once, when the exchange is over: why it failed, or Fault.None */
  constructor(done: (fault: Fault) => void) {
    this.done = done;
  }

  fixed(ex: Exchange, _response: PrebuiltResponse): void {
    this.end(ex);
  }

  head(ex: Exchange): void {
    ex.state = ExchangeState.Replying;
  }

  body(_ex: Exchange, _bytes: Uint8Array, _from: number, _to: number): boolean {
    return true;
  }

  end(ex: Exchange): void {
    if (ex.state === ExchangeState.Finished) return;
    const { fault } = ex;
    ex.state = ExchangeState.Finished;
    ex.endedMs = ex.startedMs;
    ex.pipeline.onEnd(ex);
    ex.release();
    this.done(fault);
  }

  abort(ex: Exchange, fault: Fault): void {
    ex.fault = fault;
    this.end(ex);
  }

  interim(): void {}

  wantBody(): void {}

  /** Nothing of the kind is asked for. */
  upgrade(ex: Exchange, tunnel: TunnelEnd): TunnelEnd {
    this.abort(ex, Fault.Cancelled);
    return tunnel;
  }
}
