import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-id.ts";
import { Method } from "../../message/method.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import type { RequestHead } from "../../message/request-head.ts";
import type { Route } from "../../message/route.ts";
import { canonicalise } from "../../proto/target/canonical-path.ts";
import { mergeSlashes } from "../../proto/target/dot-segments.ts";
import { isPlainPath } from "../../proto/target/plain-path.ts";
import { refuseUnrouted } from "./route-refusal.ts";
import type { Router } from "./router.ts";

/**
 * Spec, "Request processing order", step 2: the exact route, also by relative dot segments (`/public/../health`).
 * For the phases behind it, it leaves `canonicalPath` (matched) and `forwardPath` (sanitised, nothing stripped yet), both
 * "" where they are the raw path.
 */
export class RouteExactPhase implements Phase {
  readonly name = "routeExact";
  private readonly router: Router;
  private readonly maxBodyBytes: number;
  /** Of the path that is being looked at. */
  private hasEncodedDots = false;

  /** @param maxBodyBytes the server's limit, for requests that no route takes; 0 means none */
  constructor(router: Router, maxBodyBytes: number) {
    this.router = router;
    this.maxBodyBytes = maxBodyBytes;
  }

  run(ex: Exchange): Verdict {
    const head = ex.request;
    let route = isPlainPath(head) ? this.router.findExact(head) : this.findUnusual(ex);
    if (route === null && this.router.hasPatterns && !this.hasEncodedDots) route = this.findPattern(ex);
    this.hasEncodedDots = false;
    if (route !== null) {
      ex.route = route;
      ex.prefixLength = ex.forwardPath === "" ? 0 : -1;
      return Verdict.Next;
    }
    const refused = this.router.refused;
    // The gateway's own endpoints own their paths: a wrong method does not fall through to an upstream's prefix.
    if (refused === null || !refused.ownsPath || (!refused.builtIn && isPreflight(head))) return Verdict.Next;
    const path = ex.canonicalPath === "" ? head.path() : ex.canonicalPath;
    ex.detail = this.router.ownAllowOf(path, head, patternPath(ex));
    ex.route = refused.anyRoute();
    return refuseUnrouted(ex, Fault.MethodNotAllowed, this.maxBodyBytes);
  }

  private findPattern(ex: Exchange): Route | null {
    return this.router.findPattern(patternPath(ex), ex.request);
  }

  private findUnusual(ex: Exchange): Route | null {
    const raw = ex.request.path();
    const path = canonicalise(raw);
    if (path.sanitised !== raw) ex.forwardPath = path.sanitised;
    if (path.canonical !== raw) ex.canonicalPath = path.canonical;
    // Encoded dot segments never reach an exact route: under a static prefix they are the guard's, and the exception of
    // the specification is for relative segments that stand there in the open.
    this.router.refused = null;
    this.hasEncodedDots = path.encodedDots;
    return path.encodedDots ? null : this.router.findExactCanonical(path.canonical, ex.request);
  }
}

/** The path as patterns are compared with it: dot segments resolved, slashes merged, escapes as they came. */
function patternPath(ex: Exchange): string {
  const path = ex.forwardPath === "" ? ex.request.path() : ex.forwardPath;
  return path.includes("//") ? mergeSlashes(path) : path;
}

/** The question of a browser, which the CORS phase answers for every method. */
function isPreflight(head: RequestHead): boolean {
  return head.method === Method.Options && head.headers.find(HeaderId.AccessControlRequestMethod) >= 0;
}
