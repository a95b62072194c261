import { Byte, latin1 } from "../../core/ascii.ts";
import { METHOD_COUNT, Method } from "../../message/method.ts";
import type { RequestHead } from "../../message/request-head.ts";
import type { Route } from "../../message/route.ts";
import { slashedPath } from "../../proto/target/canonical-path.ts";
import { allowValue } from "./method-set.ts";
import type { PatternTable } from "./pattern-table.ts";
import { ANY_METHOD, type RouteGroup } from "./route-group.ts";
import type { RouteNode } from "./route-node.ts";
import { HASH_SEED, hashOf, hashStep, type RouteTable } from "./route-table.ts";

/** Where the routes of a router stand. */
export interface RouterTables {
  readonly exact: RouteTable;
  readonly prefixes: RouteTable;
  /** Routes with variable parts; null where there are none. */
  readonly patterns: PatternTable | null;
}

/**
 * Finds routes. A lookup costs one hash over the path, up to the length of the longest path in the table, whatever the
 * number of routes. The paths of the table are canonical, and so must be the paths that are looked up: a plain raw path
 * (see `isPlainPath`), or `canonicalise(…).canonical`, whose backslashes are read as slashes.
 *
 * Precedence: an exact path, then patterns, then the longest prefix; the most specific path is chosen before the method is
 * looked at. Of the routes with that path, the most specific host that has the method; none is a 405.
 * docs/security.md#methods
 */
export class Router {
  /** In the order they were given. */
  readonly routes: readonly Route[];
  /** After an exact route or a pattern was not found: the routes of path and host that lack the method, or null. */
  refused: RouteGroup | null = null;
  /** After a prefix was found: its length in bytes, 0 for "/". */
  matchedLength = 0;
  /** After a prefix was found: the number of its segments. */
  matchedDepth = 0;
  private readonly exact: RouteTable;
  private readonly prefixes: RouteTable;
  private readonly patterns: PatternTable | null;
  /** Takes a canonical path as bytes. */
  private scratch: Buffer = Buffer.allocUnsafe(1024);

  /** @see buildRouter */
  constructor(routes: readonly Route[], { exact, prefixes, patterns }: RouterTables) {
    this.routes = routes;
    this.exact = exact;
    this.prefixes = prefixes;
    this.patterns = patterns;
  }

  /** Whether some route has a pattern. */
  get hasPatterns(): boolean {
    return this.patterns !== null;
  }

  /**
   * The route whose pattern takes a path, or null; `refused` is kept where an exact path has set it.
   * @param path raw or sanitised, one character a byte, slashes merged
   */
  findPattern(path: string, head: RequestHead): Route | null {
    if (this.patterns === null || !path.startsWith("/")) return null;
    const group = this.patterns.find(path, head, head.method);
    if (group !== null) return group.byMethod[head.method]!;
    this.refused ??= this.patterns.find(path, head, ANY_METHOD);
    return null;
  }

  /** The exact route of the raw path, which must be plain, or null. */
  findExact(head: RequestHead): Route | null {
    return this.exactRoute(head.bytes, head.pathFrom, head.pathTo, head);
  }

  /** The exact route of a canonical path, one character a byte, or null. */
  findExactCanonical(path: string, head: RequestHead): Route | null {
    const read = slashedPath(path);
    return this.exactRoute(this.bytesOf(read), 0, read.length, head);
  }

  /** The route with the longest prefix of the raw path, which must be plain, or null: no prefix, or not this method. */
  findPrefix(head: RequestHead): Route | null {
    return routeIn(this.prefixNode(head.bytes, head.pathFrom, head.pathTo, head), head);
  }

  /** The same for a canonical path, one character a byte. */
  findPrefixCanonical(path: string, head: RequestHead): Route | null {
    return routeIn(this.prefixOf(path, head), head);
  }

  /**
   * The value of Allow where an exact path or a pattern lacks the method.
   * @param path canonical
   * @param patternPath the path as patterns are compared with it; null where patterns do not complement the exact path
   */
  ownAllowOf(path: string, head: RequestHead, patternPath: string | null): string {
    return this.methodsOf((method) => {
      if (this.exactOf(path, head, method) !== null) return true;
      return patternPath !== null && this.patterns !== null && this.patterns.find(patternPath, head, method) !== null;
    });
  }

  /** The value of Allow where the longest prefix of a canonical path lacks the method; "" where there is no prefix. */
  prefixAllowOf(path: string, head: RequestHead): string {
    const node = this.prefixOf(path, head);
    return node === null ? "" : this.methodsOf((method) => node.groupFor(head, method) !== null);
  }

  /** One of the routes with the longest prefix of a canonical path, whatever the method, or null. */
  prefixRouteOf(path: string, head: RequestHead): Route | null {
    return this.prefixOf(path, head)?.groupFor(head, ANY_METHOD)?.anyRoute() ?? null;
  }

  /** Whether one of the readings, canonical as the path is, belongs to another route than the prefix that takes the path. */
  isElsewhere(path: string, readings: readonly string[], head: RequestHead): boolean {
    const other = readings.some((reading) => {
      if (this.exactId(reading, head) >= 0) return true;
      return this.patterns !== null && this.patterns.find(reading, head, ANY_METHOD) !== null;
    });
    if (other) return true;
    const nodes = readings.map((reading) => this.prefixOf(reading, head));
    // Last, since what it finds is what was matched.
    const found = this.prefixOf(path, head);
    return nodes.some((node) => node !== found);
  }

  private methodsOf(isAllowed: (method: Method) => boolean): string {
    const allowed = new Uint8Array(METHOD_COUNT);
    for (let method = Method.Other; method < METHOD_COUNT; method++) allowed[method] = isAllowed(method) ? 1 : 0;
    return allowValue(allowed);
  }

  /** Tells exact routes apart by path and host, whatever the method; -1 where the canonical path is none. */
  exactId(path: string, head: RequestHead): number {
    return this.exactOf(path, head, ANY_METHOD)?.id ?? -1;
  }

  /** Tells prefix routes apart by path and host, whatever the method; -1 where the canonical path falls to none. */
  prefixId(path: string, head: RequestHead): number {
    return this.prefixOf(path, head)?.groupFor(head, ANY_METHOD)?.id ?? -1;
  }

  private exactRoute(bytes: Uint8Array, from: number, to: number, head: RequestHead): Route | null {
    const group = this.exactGroup(bytes, from, to, head, head.method);
    if (group !== null) return group.byMethod[head.method]!;
    this.refused = this.exact.hasLength(to - from) ? this.exactGroup(bytes, from, to, head, ANY_METHOD) : null;
    return null;
  }

  private exactGroup(
    bytes: Uint8Array,
    from: number,
    to: number,
    head: RequestHead,
    method: number,
  ): RouteGroup | null {
    // A target without a path is one for "/". RFC 9110 §4.2.3.
    if (from === to) return this.exactGroup(ROOT, 0, ROOT.length, head, method);
    if (!this.exact.hasLength(to - from)) return null;
    const node = this.exact.find(hashOf(bytes, from, to), bytes, from, to);
    return node === null ? null : node.groupFor(head, method);
  }

  private exactOf(path: string, head: RequestHead, method: number): RouteGroup | null {
    const read = slashedPath(path);
    return this.exactGroup(this.bytesOf(read), 0, read.length, head, method);
  }

  private prefixOf(path: string, head: RequestHead): RouteNode | null {
    const read = slashedPath(path);
    return this.prefixNode(this.bytesOf(read), 0, read.length, head);
  }

  /** One pass over the path: at each end of a segment what lies before is looked up, and the last hit stays. */
  private prefixNode(bytes: Uint8Array, from: number, to: number, head: RequestHead): RouteNode | null {
    // OPTIONS * names no resource of ours: no prefix holds it.
    if (from < to && bytes[from] !== Byte.Slash) return null;
    const table = this.prefixes;
    const limit = Math.min(to, from + table.maxLength);
    let best: RouteNode | null = null;
    let hash = HASH_SEED;
    for (let at = from; at <= limit; at++) {
      const atSegmentEnd = at === to || bytes[at] === Byte.Slash;
      if (atSegmentEnd && table.hasLength(at - from)) {
        const node = table.find(hash, bytes, from, at);
        if (node?.takesHostOf(head) === true) {
          best = node;
          this.matchedLength = at - from;
          this.matchedDepth = node.depth;
        }
      }
      if (at < limit) hash = hashStep(hash, bytes[at]!);
    }
    return best;
  }

  private bytesOf(path: string): Buffer {
    if (path.length > this.scratch.length) this.scratch = Buffer.allocUnsafe(path.length * 2);
    this.scratch.latin1Write(path, 0, path.length);
    return this.scratch;
  }
}

function routeIn(node: RouteNode | null, head: RequestHead): Route | null {
  return node === null ? null : (node.groupFor(head, head.method)?.byMethod[head.method] ?? null);
}

const ROOT: Uint8Array = latin1("/");
