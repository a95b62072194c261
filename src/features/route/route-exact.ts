import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import type { Route } from "../../message/route.ts";
import { canonicalise } from "../../proto/target/canonical-path.ts";
import { isPlainPath } from "../../proto/target/plain-path.ts";
import type { Router } from "./router.ts";

/**
 * Spec, "Request processing order", step 2: the exact route, also by relative dot segments (`/public/../health`).
 * For the phases behind it, it leaves `canonicalPath` (matched) and `forwardPath` (sanitised, nothing stripped yet), both
 * "" where they are the raw path.
 */
export class RouteExactPhase implements Phase {
  readonly name = "routeExact";
  private readonly router: Router;

  constructor(router: Router) {
    this.router = router;
  }

  run(ex: Exchange): Verdict {
    const head = ex.request;
    const route = isPlainPath(head) ? this.router.findExact(head) : this.findUnusual(ex);
    if (route !== null) {
      ex.route = route;
      ex.prefixLength = ex.forwardPath === "" ? 0 : -1;
      return Verdict.Next;
    }
    const refused = this.router.refused;
    // The gateway's own endpoints own their paths: a wrong method does not fall through to an upstream's prefix.
    if (refused === null || !refused.builtIn) return Verdict.Next;
    ex.detail = this.router.allowOf(ex.canonicalPath === "" ? head.path() : ex.canonicalPath, head);
    ex.sink.abort(ex, Fault.MethodNotAllowed);
    return Verdict.Done;
  }

  private findUnusual(ex: Exchange): Route | null {
    const raw = ex.request.path();
    const path = canonicalise(raw);
    if (path.sanitised !== raw) ex.forwardPath = path.sanitised;
    if (path.canonical !== raw) ex.canonicalPath = path.canonical;
    // Encoded dot segments never reach an exact route: under a static prefix they are the guard's, and the exception of
    // the specification is for relative segments that stand there in the open.
    this.router.refused = null;
    return path.encodedDots ? null : this.router.findExactCanonical(path.canonical, ex.request);
  }
}
