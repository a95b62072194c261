import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import type { Route } from "../../message/route.ts";
import { canonicalise, withPlainSlashes } from "../../proto/target/canonical-path.ts";
import { mergeSlashes } from "../../proto/target/dot-segments.ts";
import { isPlainPath } from "../../proto/target/plain-path.ts";
import type { PrefixGuard } from "./prefix-guard.ts";
import { type BodyRules, refuseUnrouted } from "./route-refusal.ts";
import type { Router } from "./router.ts";

/** What the exact routes share a request with. */
export interface ExactRouting {
  readonly router: Router;
  readonly bodies: BodyRules;
  /** Null where there are no mounts. */
  readonly guard: PrefixGuard | null;
  /** Whether an exchange without a route is a question of a browser, which a later phase answers for every method. */
  readonly isPreflight: ((ex: Exchange) => boolean) | null;
}

/**
 * Finds the exact route, by whatever spelling of its path (`/public/../health`,
 * `/%2e/health`, `//health`). For the phases that follow, it leaves `canonicalPath` (matched) and `forwardPath` (sanitised,
 * nothing stripped yet), both "" where the path is plain. docs/security.md#paths-and-hosts
 */
export class RouteExactPhase implements Phase {
  readonly name = "routeExact";
  private readonly router: Router;
  private readonly routing: ExactRouting;

  constructor(routing: ExactRouting) {
    this.router = routing.router;
    this.routing = routing;
  }

  run(ex: Exchange): Verdict {
    const head = ex.request;
    let route: Route | null;
    if (isPlainPath(head)) {
      route = this.router.findExact(head);
      if (route === null && this.router.hasPatterns) route = this.findPattern(ex);
    } else route = this.findUnusual(ex);
    if (route !== null) {
      ex.route = route;
      ex.prefixLength = ex.forwardPath === "" ? 0 : -1;
      return Verdict.Next;
    }
    const { refused } = this.router;
    if (refused === null) return Verdict.Next;
    if (!refused.builtIn && this.routing.isPreflight?.(ex) === true) return Verdict.Next;
    // The path is this one's: a wrong method does not fall through to a prefix.
    const path = ex.canonicalPath === "" ? head.path() : ex.canonicalPath;
    ex.detail = this.router.ownAllowOf(path, head, refused.onlyTranscoded ? patternPath(ex) : null);
    ex.route = refused.anyRoute();
    return refuseUnrouted(ex, Fault.MethodNotAllowed, this.routing.bodies);
  }

  private findUnusual(ex: Exchange): Route | null {
    const head = ex.request;
    const raw = head.path();
    const path = canonicalise(raw);
    // One of the two is set wherever the path is not plain; canonical paths keep their backslashes.
    if (path.sanitised !== raw || raw.includes("\\")) ex.forwardPath = path.sanitised;
    if (path.canonical !== raw) ex.canonicalPath = path.canonical;
    // The exception from the guard is for relative segments that are written in the open. docs/guards.md#the-prefix-guard
    if (path.hiddenDots && this.routing.guard?.refuses(raw, head) === true) {
      this.router.refused = null;
      return null;
    }
    const route = this.router.findExactCanonical(path.canonical, head);
    return route === null && this.router.hasPatterns ? this.findPattern(ex) : route;
  }

  /**
   * The pattern that takes the path as it was written, or else with its encoded slashes and backslashes read as slashes: then
   * what fills the variables is that reading.
   */
  private findPattern(ex: Exchange): Route | null {
    if (this.router.refused?.onlyTranscoded === false) return null;
    const path = patternPath(ex);
    const route = this.router.findPattern(path, ex.request);
    if (route !== null || (ex.canonicalPath === "" && ex.forwardPath === "")) return route;
    const read = mergeSlashes(withPlainSlashes(path));
    if (read === path) return null;
    const found = this.router.findPattern(read, ex.request);
    if (found !== null) ex.forwardPath = read;
    return found;
  }
}

/** The path as patterns are compared with it: dot segments resolved, slashes merged, escapes as they came. */
function patternPath(ex: Exchange): string {
  const path = ex.forwardPath === "" ? ex.request.path() : ex.forwardPath;
  return path.includes("//") ? mergeSlashes(path) : path;
}
