import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { PacedSink, type PacingPorts } from "./paced-sink.ts";

/** Paces the responses of routes with `limit_rate`. docs/guards.md#bytes-a-second */
export class PacingPhase implements Phase {
  readonly name = "pacing";
  /** Bytes a second, by the routes' numbers; 0 is no limit. */
  private readonly rates: readonly number[];
  private readonly ports: PacingPorts;

  constructor(rates: readonly number[], ports: PacingPorts) {
    this.rates = rates;
    this.ports = ports;
  }

  run(ex: Exchange): Verdict {
    const rate = this.rates[ex.route!.index]!;
    if (rate > 0) ex.sink = new PacedSink(ex.sink, rate, this.ports);
    return Verdict.Next;
  }
}
