import { Fault } from "../../core/fault.ts";
import {
  type Exchange,
  type MessageGate,
  type Phase,
  type Route,
  type TrailerGate,
  Verdict,
} from "../../message/exchange.ts";
import type { HeaderBlock } from "../../message/header-block.ts";
import { WafBodyPhase, WafPhase, WafTrailerPhase } from "./waf.ts";

/** Says which route a request would take, before the routing phases have run, and changes nothing. */
export interface RouteFinder {
  /** Null if no route takes it, whatever is answered then. */
  routeOf(ex: Exchange): Route | null;
}

/**
 * Judges heads where routes have firewalls of their own: by that of the route which the routing phases will find, by the server's
 * if there is none. docs/waf.md#at-a-route
 */
export class RoutedWafPhase implements Phase {
  readonly name: string = WafPhase.NAME;
  private readonly finder: RouteFinder;
  private readonly byRoute: readonly (WafPhase | null)[];
  private readonly unmatched: WafPhase | null;

  /**
   * @param byRoute by the routes' numbers; null if the firewall is off
   * @param unmatched for what no route takes
   */
  constructor(finder: RouteFinder, byRoute: readonly (WafPhase | null)[], unmatched: WafPhase | null) {
    this.finder = finder;
    this.byRoute = byRoute;
    this.unmatched = unmatched;
  }

  run(ex: Exchange): Verdict {
    const route = this.finder.routeOf(ex);
    const phase = route === null ? this.unmatched : this.byRoute[route.index]!;
    return phase === null ? Verdict.Next : phase.run(ex);
  }
}

/** Judges bodies by the firewall of the route that takes them. */
export class RoutedWafBodyPhase implements Phase, MessageGate {
  readonly name: string = WafBodyPhase.NAME;
  readonly needsBody = true;
  private readonly byRoute: readonly (WafBodyPhase | null)[];

  /** @param byRoute by the routes' numbers; null where bodies are not inspected */
  constructor(byRoute: readonly (WafBodyPhase | null)[]) {
    this.byRoute = byRoute;
  }

  run(ex: Exchange): Verdict {
    const phase = this.byRoute[ex.route!.index]!;
    return phase === null ? Verdict.Next : phase.run(ex);
  }

  judgeMessage(ex: Exchange, message: Uint8Array): Fault {
    const phase = this.byRoute[ex.route!.index]!;
    return phase === null ? Fault.None : phase.judgeMessage(ex, message);
  }
}

/** The same for trailers. */
export class RoutedWafTrailerPhase implements Phase, TrailerGate {
  readonly name: string = WafTrailerPhase.NAME;
  readonly needsBody = true;
  private readonly byRoute: readonly (WafTrailerPhase | null)[];
  private readonly unmatched: WafTrailerPhase | null;

  constructor(byRoute: readonly (WafTrailerPhase | null)[], unmatched: WafTrailerPhase | null) {
    this.byRoute = byRoute;
    this.unmatched = unmatched;
  }

  run(ex: Exchange): Verdict {
    const phase = this.byRoute[ex.route!.index]!;
    return phase === null ? Verdict.Next : phase.run(ex);
  }

  judgeTrailers(ex: Exchange, trailers: HeaderBlock): Fault {
    const phase = ex.route === null ? this.unmatched : this.byRoute[ex.route.index]!;
    return phase === null ? Fault.None : phase.judgeTrailers(ex, trailers);
  }
}
