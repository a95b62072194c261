import type { CallOutcome } from "../../memory/span-ring.ts";
import type { Exchange } from "../../message/exchange.ts";

/** Where spans of calls are recorded, for requests whose trace is. docs/tracing.md#functions */
export interface CallSpans {
  /** Begins one; null if the request's trace is not recorded. */
  call(ex: Exchange, name: "fetch" | "onRequest" | "onResponse", module: string): CallSpanPorts | null;
}

/** The span of a call. */
export interface CallSpanPorts {
  /** A thread has it. */
  onThread(): void;
  /** Begins the span of a request of `ctx.upstream()`. */
  upstream(): UpstreamSpanPorts;
  /** @param status of the response that it gave; 0 for none */
  end(outcome: CallOutcome, status: number): void;
}

/** The span of a request of `ctx.upstream()`. */
export interface UpstreamSpanPorts {
  /** What the target is told. */
  readonly traceparent: string;
  /** @param ex the exchange with the target, which is over */
  end(ex: Exchange): void;
}
