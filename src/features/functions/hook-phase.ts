import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { HookCall, type HookPorts } from "./hook-call.ts";

/** Asks the hooks of routes before their handlers. docs/functions.md#hooks */
export class HookPhase implements Phase {
  readonly name = "hooks";
  private readonly sites: readonly (HookPorts | null)[];

  /** @param sites by the routes' numbers; null if a route has no hooks */
  constructor(sites: readonly (HookPorts | null)[]) {
    this.sites = sites;
  }

  run(ex: Exchange): Verdict {
    const site = this.sites[ex.route!.index] ?? null;
    return site === null ? Verdict.Next : new HookCall(site, ex).start();
  }
}
