import type { Fault } from "../../../../src/core/fault.ts";
import { Exchange, type IdleExchangePorts, Pipeline } from "../../../../src/message/exchange.ts";
import type { RequestHead } from "../../../../src/message/request-head.ts";

/** An exchange for a request, and the faults that it is refused with. */
export interface RecordedExchange {
  readonly ex: Exchange;
  readonly faults: Fault[];
}

/** Makes an exchange whose sink takes refusals and nothing else. */
export function recordedExchange(request: RequestHead): RecordedExchange {
  const faults: Fault[] = [];
  const sink = { abort: (_: Exchange, fault: Fault) => void faults.push(fault) };
  // Only the sink is used: an exchange that is refused or routed has touched nothing else.
  const idle = { sink, pipeline: new Pipeline([], [], []) } as unknown as IdleExchangePorts;
  const ex = new Exchange(idle);
  Object.assign(ex, { request });
  return { ex, faults };
}
