import { Byte, latin1 } from "../../core/ascii.ts";
import { METHOD_COUNT, Method } from "../../message/method.ts";
import type { RequestHead } from "../../message/request-head.ts";
import type { Route } from "../../message/route.ts";
import { allowValue } from "./method-set.ts";
import type { PatternTable } from "./pattern-table.ts";
import { ANY_METHOD, type RouteGroup } from "./route-group.ts";
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
 * (see `isPlainPath`), or `canonicalise(…).canonical`.
 *
 * Precedence: the longest prefix, then the most specific host; a route without the method is passed over. Exact paths
 * and prefixes are two tables, asked by two phases; patterns are asked behind the exact paths. Decisions §3.
 */
export class Router {
  /** In the order they were given. */
  readonly routes: readonly Route[];
  /** After an exact route was not found: the routes of path and host that lack the method, or null. */
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
    return this.exactRoute(this.bytesOf(path), 0, path.length, head);
  }

  /** The route with the longest prefix of the raw path, which must be plain, or null. */
  findPrefix(head: RequestHead): Route | null {
    const group = this.prefixGroup(head.bytes, head.pathFrom, head.pathTo, head, head.method);
    return group === null ? null : group.byMethod[head.method]!;
  }

  /** The route with the longest prefix of a canonical path, one character a byte, or null. */
  findPrefixCanonical(path: string, head: RequestHead): Route | null {
    const group = this.prefixGroup(this.bytesOf(path), 0, path.length, head, head.method);
    return group === null ? null : group.byMethod[head.method]!;
  }

  /** The value of Allow for a canonical path: every method that some route has for it; "" where no route matches. */
  allowOf(path: string, head: RequestHead): string {
    return this.methodsOf((method) => this.hasOwn(path, path, head, method) || this.hasPrefix(path, head, method));
  }

  /**
   * The same for a path that is owned, so that nothing falls to a prefix: the methods of exact paths and patterns alone.
   * @param patternPath the path as patterns are compared with it
   */
  ownAllowOf(path: string, head: RequestHead, patternPath: string): string {
    return this.methodsOf((method) => this.hasOwn(path, patternPath, head, method));
  }

  /** The route that a canonical path would have had by another method, for naming what was refused; null where there is none. */
  nearestOf(path: string, head: RequestHead): Route | null {
    const bytes = this.bytesOf(path);
    const group =
      this.exactGroup(bytes, 0, path.length, head, ANY_METHOD) ??
      this.patterns?.find(path, head, ANY_METHOD) ??
      this.prefixGroup(bytes, 0, path.length, head, ANY_METHOD);
    return group === null ? null : group.anyRoute();
  }

  private methodsOf(isAllowed: (method: Method) => boolean): string {
    const allowed = new Uint8Array(METHOD_COUNT);
    for (let method = Method.Other; method < METHOD_COUNT; method++) allowed[method] = isAllowed(method) ? 1 : 0;
    return allowValue(allowed);
  }

  private hasOwn(path: string, patternPath: string, head: RequestHead, method: Method): boolean {
    if (this.exactGroup(this.bytesOf(path), 0, path.length, head, method) !== null) return true;
    return this.patterns !== null && this.patterns.find(patternPath, head, method) !== null;
  }

  private hasPrefix(path: string, head: RequestHead, method: Method): boolean {
    return this.prefixGroup(this.bytesOf(path), 0, path.length, head, method) !== null;
  }

  /** Tells exact routes apart by path and host, whatever the method; -1 where the canonical path is none. */
  exactId(path: string, head: RequestHead): number {
    return this.exactGroup(this.bytesOf(path), 0, path.length, head, ANY_METHOD)?.id ?? -1;
  }

  /** Tells prefix routes apart by path and host, whatever the method; -1 where the canonical path falls to none. */
  prefixId(path: string, head: RequestHead): number {
    return this.prefixGroup(this.bytesOf(path), 0, path.length, head, ANY_METHOD)?.id ?? -1;
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

  /** One pass over the path: at each end of a segment what lies before is looked up, and the last hit stays. */
  private prefixGroup(
    bytes: Uint8Array,
    from: number,
    to: number,
    head: RequestHead,
    method: number,
  ): RouteGroup | null {
    // OPTIONS * names no resource of ours: no prefix holds it.
    if (from < to && bytes[from] !== Byte.Slash) return null;
    const table = this.prefixes;
    const limit = Math.min(to, from + table.maxLength);
    let best: RouteGroup | null = null;
    let hash = HASH_SEED;
    for (let at = from; at <= limit; at++) {
      const atSegmentEnd = at === to || bytes[at] === Byte.Slash;
      if (atSegmentEnd && table.hasLength(at - from)) {
        const node = table.find(hash, bytes, from, at);
        const group = node === null ? null : node.groupFor(head, method);
        if (group !== null) {
          best = group;
          this.matchedLength = at - from;
          this.matchedDepth = node!.depth;
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

const ROOT: Uint8Array = latin1("/");
