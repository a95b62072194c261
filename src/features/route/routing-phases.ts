import { Byte } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { type BodyRules, refuseBody } from "../../message/body-rules.ts";
import { type Exchange, type Phase, type Route, Verdict } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { PrebuiltResponse } from "../../message/prebuilt-response.ts";
import { Method, methodFromName, type RequestHead, TargetFlag } from "../../message/request-head.ts";
import type { PolicyRouteFinder } from "../../message/route-policies.ts";
import { isPlainPath } from "../../proto/h1/request-rules.ts";
import {
  canonicaliseDeeply,
  deeperReadings,
  offsetBehindSegments,
  pathFrom,
  withPlainSlashes,
} from "../../proto/target/canonical-path.ts";
import { mergeSlashes } from "../../proto/target/dot-segments.ts";
import { percentByte } from "../../proto/target/percent-decoding.ts";
import { ALL_METHODS } from "./method-set.ts";
import type { PrefixGuard } from "./prefix-guard.ts";
import type { Router } from "./router.ts";

/** What the exact routes share a request with. */
interface ExactRouting {
  readonly router: Router;
  readonly bodies: BodyRules;
  /** Null if there are no mounts. */
  readonly guard: PrefixGuard | null;
  /** Whether an exchange without a route is a question of a browser, which a later phase answers for every method. */
  readonly isPreflight: ((ex: Exchange) => boolean) | null;
}

/**
 * Finds the exact route, by whatever spelling of its path (`/public/../health`,
 * `/%2e/health`, `//health`). For the phases that follow, it leaves `canonicalPath` (matched) and `forwardPath` (sanitised,
 * nothing stripped yet), both "" if the path is plain. docs/security.md#paths-and-hosts
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
    const route = this.find(ex);
    if (route !== null) {
      ex.route = route;
      ex.prefixLength = ex.forwardPath === "" ? 0 : -1;
      return Verdict.Next;
    }
    const { refused } = this.router;
    if (refused === null) return Verdict.Next;
    if (this.routing.isPreflight?.(ex) === true && !refused.isBuiltIn(head)) return Verdict.Next;
    // The path is this one's: a wrong method does not fall through to a prefix.
    const path = ex.canonicalPath === "" ? head.path() : ex.canonicalPath;
    ex.detail = this.router.ownAllowOf(path, head, refused.isTranscoded(head) ? patternPath(ex) : null);
    ex.route = refused.anyRoute(head);
    return refuseUnrouted(ex, Fault.MethodNotAllowed, this.routing.bodies);
  }

  /** The route, and the exchange's paths; null also if the path is a route's that lacks the method: see `router.refused`. */
  find(ex: Exchange): Route | null {
    if (!isPlainPath(ex.request)) return this.findUnusual(ex);
    const route = this.router.findExact(ex.request);
    return route === null && this.router.hasPatterns ? this.findPattern(ex) : route;
  }

  private findUnusual(ex: Exchange): Route | null {
    const head = ex.request;
    const raw = head.path();
    const path = canonicaliseDeeply(raw);
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
    if (this.router.refused?.isTranscoded(ex.request) === false) return null;
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

/**
 * Finds the longest prefix, else answers 404 or 405 (docs/routing.md#no-route). It works out which part of the
 * path goes upstream: `prefixLength` bytes of the raw path are left out, or `forwardPath` is sent, prefix stripped.
 */
export class RoutePrefixPhase implements Phase {
  readonly name = "routePrefix";
  private readonly router: Router;
  private readonly bodies: BodyRules;
  private readonly nothing: Fault;

  /** @param nothing what a path without a route gets */
  constructor(router: Router, bodies: BodyRules, nothing: Fault = Fault.NotFound) {
    this.router = router;
    this.bodies = bodies;
    this.nothing = nothing;
  }

  run(ex: Exchange): Verdict {
    if (ex.route !== null) return Verdict.Next;
    const isPlain = ex.canonicalPath === "" && ex.forwardPath === "";
    const route = this.find(ex);
    if (route === null) return this.refuse(ex);
    if (!isPlain && this.leadsElsewhere(ex, route)) {
      ex.sink.abort(ex, Fault.BadTarget);
      return Verdict.Done;
    }
    ex.route = route;
    if (isPlain) ex.prefixLength = route.stripPrefix ? this.router.matchedLength : 0;
    else this.stripUnusual(ex, route);
    return Verdict.Next;
  }

  /** The route of the paths that RouteExactPhase has left in the exchange. */
  find(ex: Exchange): Route | null {
    const isPlain = ex.canonicalPath === "" && ex.forwardPath === "";
    if (isPlain) return this.router.findPrefix(ex.request);
    return this.router.findPrefixCanonical(this.canonicalPathOf(ex), ex.request);
  }

  /**
   * Whether an origin that decodes a path more than once might find itself at another route than the one that was found: no
   * rule of either fits such a request. Of routes with one prefix, `regex` may tell the paths apart.
   */
  private leadsElsewhere(ex: Exchange, route: Route): boolean {
    const path = this.canonicalPathOf(ex);
    if (!path.includes("%")) return false;
    const readings = deeperReadings(path);
    if (readings === null || this.router.isElsewhere(path, readings, ex.request)) return true;
    if (readings.length === 0) return false;
    const own = ex.canonicalPath;
    const isAnothers = readings.some((reading) => {
      ex.canonicalPath = reading;
      return this.find(ex) !== route;
    });
    ex.canonicalPath = own;
    // The router keeps how long the prefix is that it has found last.
    this.find(ex);
    return isAnothers;
  }

  /** The raw path may spell the prefix otherwise than the canonical one (`//node`, `/%6eode`): segments are counted. */
  private stripUnusual(ex: Exchange, route: Route): void {
    const isRaw = ex.forwardPath === "";
    const sanitised = isRaw ? ex.request.path() : ex.forwardPath;
    const from = route.stripPrefix ? offsetBehindSegments(sanitised, this.router.matchedDepth) : 0;
    if (from === 0) {
      ex.prefixLength = isRaw ? 0 : -1;
      return;
    }
    const rest = pathFrom(sanitised, from);
    if (isRaw && (from === sanitised.length || sanitised.slice(from) === rest)) {
      ex.prefixLength = from;
      return;
    }
    ex.prefixLength = -1;
    ex.forwardPath = rest;
  }

  /**
   * 404 or 405: CONNECT and TRACE are 405 everywhere. OPTIONS * asks about the server as a whole, and gets the
   * methods that it knows (RFC 9110 §9.3.7).
   */
  private refuse(ex: Exchange): Verdict {
    const head = ex.request;
    if (head.method === Method.Options && head.bytes[head.pathFrom] === Byte.Star && !head.hasBody()) {
      ex.sink.fixed(ex, WHOLE_SERVER);
      return Verdict.Done;
    }
    const path = this.canonicalPathOf(ex);
    const allow = this.router.prefixAllowOf(path, head);
    const isNever = head.method === Method.Connect || head.method === Method.Trace;
    if (allow !== "" || isNever) {
      ex.detail = allow === "" ? ALL_METHODS : allow;
      ex.route = this.router.prefixRouteOf(path, head);
      return refuseUnrouted(ex, Fault.MethodNotAllowed, this.bodies);
    }
    if (this.nothing === Fault.NotFound) ex.detail = head.path();
    return refuseUnrouted(ex, this.nothing, this.bodies);
  }

  private canonicalPathOf(ex: Exchange): string {
    return ex.canonicalPath === "" ? ex.request.path() : ex.canonicalPath;
  }
}

/** Asks the routing phases for a request's route before they run, and leaves the exchange as it was. */
export class RouteLookup implements PolicyRouteFinder {
  private readonly router: Router;
  private readonly exact: RouteExactPhase;
  private readonly prefix: RoutePrefixPhase;

  constructor(router: Router, exact: RouteExactPhase, prefix: RoutePrefixPhase) {
    this.router = router;
    this.exact = exact;
    this.prefix = prefix;
  }

  /**
   * The route whose policies a request meets, whatever becomes of it: for a path that lacks the method, one of its routes; for a preflight
   * (Fetch Standard §4.8), that of the method that it asks for. The exchange stays as it is.
   */
  policyRouteOf(ex: Exchange): Route | null {
    const { request, canonicalPath, forwardPath } = ex;
    const { method } = request;
    request.method = askedMethod(request);
    const found = this.exact.find(ex) ?? this.router.refused?.anyRoute(request) ?? this.prefix.find(ex);
    const path = ex.canonicalPath === "" ? request.path() : ex.canonicalPath;
    const route = found ?? this.router.prefixRouteOf(path, request);
    request.method = method;
    ex.canonicalPath = canonicalPath;
    ex.forwardPath = forwardPath;
    return route;
  }

  /** The route that the phases will find; null if they find none, or one of the path that lacks the method. */
  routeOf(ex: Exchange): Route | null {
    const found = this.exact.find(ex);
    const isRefused = found === null && this.router.refused !== null;
    const route = found === null && !isRefused ? this.prefix.find(ex) : found;
    ex.canonicalPath = "";
    ex.forwardPath = "";
    return route;
  }
}

function askedMethod({ method, headers }: RequestHead): Method {
  const asked = method === Method.Options ? headers.valueOf(HeaderId.AccessControlRequestMethod) : "";
  return asked === "" ? method : methodFromName(asked);
}

const WHOLE_SERVER = new PrebuiltResponse(204, [["Allow", ALL_METHODS]], "");

/**
 * Refuses a path with a `%` that two hexadecimal digits do not follow (RFC 3986 §2.1), and one with `%00`: decoders behind
 * the gateway differ on both. The WAF and the prefix guard come first, whose 403 says more. The query is left alone.
 */
export class PathEscapesPhase implements Phase {
  readonly name = "pathEscapes";

  run(ex: Exchange): Verdict {
    const head = ex.request;
    if ((head.targetFlags & TargetFlag.Percent) === 0) return Verdict.Next;
    if (areEscapesSound(head.bytes, head.pathFrom, head.pathTo)) return Verdict.Next;
    ex.sink.abort(ex, Fault.BadTarget);
    return Verdict.Done;
  }
}

function areEscapesSound(bytes: Uint8Array, from: number, to: number): boolean {
  for (let at = from; at < to; at++) {
    if (bytes[at] !== Byte.Percent) continue;
    // -1 for a broken one, 0 for NUL.
    if (at + 2 >= to || percentByte(bytes[at + 1]!, bytes[at + 2]!) <= 0) return false;
    at += 2;
  }
  return true;
}

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

/** Refuses a request that no route takes: for its body, where that is ruled out, else for `fault`. docs/routing.md#no-route */
function refuseUnrouted(ex: Exchange, fault: Fault, bodies: BodyRules): Verdict {
  if (refuseBody(ex, bodies) === Verdict.Next) ex.sink.abort(ex, fault);
  return Verdict.Done;
}
