import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, type Route, Verdict } from "../../message/exchange.ts";
import type { RequestHead } from "../../message/request-head.ts";
import type { AuthorityChoice } from "./authority-choice.ts";
import type { DenialListener } from "./ingress-phase.ts";
import { refuseUnroutable } from "./unroutable.ts";

/** Finds the split that takes a path. */
interface SplitFinder {
  /** @returns null if none does */
  splitFor(head: RequestHead): Route | null;
}

/**
 * The way out of the outbound listener: the split with the longest prefix, else the server that the request itself names.
 * Paths pass through unchanged. docs/sidecar.md#splits
 */
export class EgressPhase implements Phase {
  readonly name = "sidecarEgress";
  private readonly splits: SplitFinder;
  private readonly direct: Route;
  private readonly authorities: AuthorityChoice | null;
  private readonly listener: DenialListener;

  /**
   * @param direct the route for requests that no split takes, whose handler chooses by `authorities`
   * @param authorities null where such requests go nowhere
   */
  constructor(splits: SplitFinder, direct: Route, authorities: AuthorityChoice | null, listener: DenialListener) {
    this.splits = splits;
    this.direct = direct;
    this.authorities = authorities;
    this.listener = listener;
  }

  run(ex: Exchange): Verdict {
    const split = this.splits.splitFor(ex.request);
    ex.route = split ?? this.direct;
    if (refuseUnroutable(ex)) return Verdict.Done;
    const fault = split === null ? this.faultOf(ex) : Fault.None;
    if (fault === Fault.None) return Verdict.Next;
    ex.sink.abort(ex, fault);
    return Verdict.Done;
  }

  private faultOf(ex: Exchange): Fault {
    if (this.authorities !== null) return this.authorities.faultOf(ex);
    this.listener.onSidecarDenied(ex, "outbound");
    return Fault.AccessDenied;
  }
}
