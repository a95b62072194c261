import { Byte } from "../../core/ascii.ts";
import { Fault } from "../../core/fault.ts";
import type { Exchange } from "../../message/exchange.ts";
import { FixedReply } from "../../message/fixed-reply.ts";
import { Method } from "../../message/method.ts";
import { type Phase, Verdict } from "../../message/pipeline.ts";
import type { Route } from "../../message/route.ts";
import { deeperReadings, offsetBehindSegments, pathFrom } from "../../proto/target/canonical-path.ts";
import { ALL_METHODS } from "./method-set.ts";
import { type BodyRules, refuseUnrouted } from "./route-refusal.ts";
import type { Router } from "./router.ts";

/**
 * Finds the longest prefix, else answers 404 or 405 (docs/routing.md#no-route). It works out which part of the
 * path goes upstream: `prefixLength` bytes of the raw path are left out, or `forwardPath` is sent, prefix stripped.
 */
export class RoutePrefixPhase implements Phase {
  readonly name = "routePrefix";
  private readonly router: Router;
  private readonly bodies: BodyRules;

  constructor(router: Router, bodies: BodyRules) {
    this.router = router;
    this.bodies = bodies;
  }

  run(ex: Exchange): Verdict {
    if (ex.route !== null) return Verdict.Next;
    const isPlain = ex.canonicalPath === "" && ex.forwardPath === "";
    const route = isPlain
      ? this.router.findPrefix(ex.request)
      : this.router.findPrefixCanonical(this.canonicalPathOf(ex), ex.request);
    if (route === null) return this.refuse(ex);
    if (!isPlain && this.leadsElsewhere(ex)) {
      ex.sink.abort(ex, Fault.BadTarget);
      return Verdict.Done;
    }
    ex.route = route;
    if (isPlain) ex.prefixLength = route.stripPrefix ? this.router.matchedLength : 0;
    else this.stripUnusual(ex, route);
    return Verdict.Next;
  }

  /**
   * Whether an origin that decodes a path more than once might find itself at another route than the one that was found: no
   * rule of either fits such a request.
   */
  private leadsElsewhere(ex: Exchange): boolean {
    const path = this.canonicalPathOf(ex);
    if (!path.includes("%")) return false;
    const readings = deeperReadings(path);
    return readings === null || this.router.isElsewhere(path, readings, ex.request);
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
    ex.detail = head.path();
    return refuseUnrouted(ex, Fault.NotFound, this.bodies);
  }

  private canonicalPathOf(ex: Exchange): string {
    return ex.canonicalPath === "" ? ex.request.path() : ex.canonicalPath;
  }
}

const WHOLE_SERVER = new FixedReply(204, [["Allow", ALL_METHODS]], "");
