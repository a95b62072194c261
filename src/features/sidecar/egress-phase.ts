import { Fault } from "../../core/fault.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import type { RequestHead } from "../../message/request-head.ts";
import type { Route } from "../../message/route.ts";
import type { AuthorityChoice } from "./authority-choice.ts";
import { refuseUnroutable } from "./unroutable.ts";

/** Finds the split that takes a path. */
export interface SplitFinder {
  /** @returns null where none does */
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
  private readonly authorities: AuthorityChoice;

  /** @param direct the route for requests that no split takes, whose handler chooses by `authorities` */
  constructor(splits: SplitFinder, direct: Route, authorities: AuthorityChoice) {
    this.splits = splits;
    this.direct = direct;
    this.authorities = authorities;
  }

  run(ex: Exchange): Verdict {
    const split = this.splits.splitFor(ex.request);
    ex.route = split ?? this.direct;
    if (refuseUnroutable(ex)) return Verdict.Done;
    const fault = split === null ? this.authorities.faultOf(ex) : Fault.None;
    if (fault === Fault.None) return Verdict.Next;
    ex.sink.abort(ex, fault);
    return Verdict.Done;
  }
}
