import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import type { PrefixGuard } from "./prefix-guard.ts";

/** Is told what the guard refuses. */
export interface GuardListener {
  onPathEscape(ex: Exchange): void;
}

/**
 * docs/guards.md#the-prefix-guard: refuses paths that lead out of the static prefix they aim at, unless an
 * exact route took them. A path that is its own canonical form cannot, so most requests pay one comparison.
 */
export class PrefixGuardPhase implements Phase {
  readonly name = "prefixGuard";
  private readonly guard: PrefixGuard;
  private readonly listener: GuardListener;

  constructor(guard: PrefixGuard, listener: GuardListener) {
    this.guard = guard;
    this.listener = listener;
  }

  run(ex: Exchange): Verdict {
    // RouteExactPhase has filled in both where the raw path is not canonical.
    if (ex.route !== null || (ex.canonicalPath === "" && ex.forwardPath === "")) return Verdict.Next;
    if (!this.guard.refuses(ex.request.path(), ex.request)) return Verdict.Next;
    this.listener.onPathEscape(ex);
    ex.sink.abort(ex, Fault.PrefixEscape);
    return Verdict.Done;
  }
}
