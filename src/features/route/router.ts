import { Byte, equalsBytes, latin1 } from "../../core/bytes.ts";
import type { Route } from "../../message/exchange.ts";
import { METHOD_COUNT, Method, type RequestHead } from "../../message/request-head.ts";
import { requestHost } from "../../message/request-host.ts";
import { slashedPath } from "../../proto/target/canonical-path.ts";
import { allowValue } from "./method-set.ts";

/** Routes whose paths have variable parts. */
interface PatternLookup {
  /** What a path leads to; null for nothing. @param method a number, or ANY_METHOD */
  find(path: string, head: RequestHead, method: number): RouteGroup | null;
}

/** Where the routes of a router stand. */
interface RouterTables {
  readonly exact: RouteTable;
  readonly prefixes: RouteTable;
  /** Routes with variable parts; null where there are none. */
  readonly patterns: PatternLookup | null;
  /** Routes whose paths are in lists; null without any. */
  readonly listed: RouteNode | null;
}

/**
 * Finds routes. A lookup costs one hash over the path, up to the length of the longest path in the table, whatever the
 * number of routes. The paths of the table are canonical, and so must be the paths that are looked up: a plain raw path
 * (see `isPlainPath`), or `canonicalise(…).canonical`, whose backslashes are read as slashes.
 *
 * Precedence: an exact path, then the paths of lists, then patterns, then the longest prefix; the most specific path is chosen before the method is
 * looked at. Of the routes with that path, the most specific host that has the method; none is a 405. A route whose `match` does
 * not fit a request is as if it were not there. docs/security.md#methods
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
  private readonly patterns: PatternLookup | null;
  private readonly listed: RouteNode | null;
  /** Takes a canonical path as bytes. */
  private scratch: Buffer = Buffer.allocUnsafe(1024);

  /** @see buildRouter */
  constructor(routes: readonly Route[], { exact, prefixes, patterns, listed }: RouterTables) {
    this.routes = routes;
    this.exact = exact;
    this.prefixes = prefixes;
    this.patterns = patterns;
    this.listed = listed;
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
    if (group !== null) return group.routeFor(head, head.method);
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
      if (this.exactGroupOf(path, head, method) !== null) return true;
      return patternPath !== null && this.patterns !== null && this.patterns.find(patternPath, head, method) !== null;
    });
  }

  /** The value of Allow where the longest prefix of a canonical path lacks the method; "" where there is no prefix. */
  prefixAllowOf(path: string, head: RequestHead): string {
    const node = this.prefixOf(path, head);
    return node === null ? "" : this.methodsOf((method) => node.routeFor(head, method) !== null);
  }

  /** One of the routes with the longest prefix of a canonical path, whatever the method, or null. */
  prefixRouteOf(path: string, head: RequestHead): Route | null {
    return this.prefixOf(path, head)?.groupFor(head, ANY_METHOD)?.anyRoute(head) ?? null;
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
    return this.exactGroupOf(path, head, ANY_METHOD)?.id ?? -1;
  }

  /** Tells prefix routes apart by path and host, whatever the method; -1 where the canonical path falls to none. */
  prefixId(path: string, head: RequestHead): number {
    return this.prefixOf(path, head)?.groupFor(head, ANY_METHOD)?.id ?? -1;
  }

  private exactRoute(bytes: Uint8Array, from: number, to: number, head: RequestHead): Route | null {
    const node = this.exactNode(bytes, from, to);
    const route = (node ?? this.listed)?.routeFor(head, head.method) ?? null;
    if (route === null) this.refused = node === null ? null : node.groupFor(head, ANY_METHOD);
    return route;
  }

  private exactNode(bytes: Uint8Array, from: number, to: number): RouteNode | null {
    // A target without a path is one for "/". RFC 9110 §4.2.3.
    if (from === to) return this.exactNode(ROOT, 0, ROOT.length);
    return this.exact.hasLength(to - from) ? this.exact.find(hashOf(bytes, from, to), bytes, from, to) : null;
  }

  private exactGroupOf(path: string, head: RequestHead, method: number): RouteGroup | null {
    const read = slashedPath(path);
    return this.exactNode(this.bytesOf(read), 0, read.length)?.groupFor(head, method) ?? null;
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
        if (node?.takes(head) === true) {
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
  return node === null ? null : node.routeFor(head, head.method);
}

const ROOT: Uint8Array = latin1("/");

/**
 * All routes with one path: those of named hosts by host, and those of every host. More specific hosts come first: a
 * full name, then `*.` patterns from the longest to the shortest, then any host.
 */
export class RouteNode {
  /** The path in canonical form, one byte a character; that of the prefix "/" is empty. */
  readonly path: Uint8Array;
  /** Number of segments of the path. */
  readonly depth: number;
  private anyHost: RouteGroup | null = null;
  private readonly byName: Map<string, RouteGroup> = new Map();
  /** By the pattern without its star: `.example.com`. */
  private readonly bySuffix: Map<string, RouteGroup> = new Map();
  private hasHosts = false;
  /** Whether some route takes every request, whatever its host. */
  private takesAll = false;

  constructor(path: Uint8Array, depth: number) {
    this.path = path;
    this.depth = depth;
  }

  /** Adds a route under each of its hosts. Groups that this makes are numbered from `firstId`. @returns the next id */
  add(route: Route, firstId: number): number {
    let id = firstId;
    if (route.init.hosts.length === 0) {
      this.anyHost = grown(this.anyHost ?? new RouteGroup(id++), route);
      this.takesAll ||= route.init.match === undefined;
    }
    for (const host of route.init.hosts) {
      this.hasHosts = true;
      const isPattern = host.startsWith("*.");
      const map = isPattern ? this.bySuffix : this.byName;
      const key = isPattern ? host.slice(1) : host;
      map.set(key, grown(map.get(key) ?? new RouteGroup(id++), route));
    }
    return id;
  }

  /** Whether some group takes the request, whatever the method. */
  takes(head: RequestHead): boolean {
    return this.takesAll || this.groupFor(head, ANY_METHOD) !== null;
  }

  /** The route of the most specific group that takes the request and has the method: groups of one path complement each other. */
  routeFor(head: RequestHead, method: Method): Route | null {
    if (this.hasHosts) {
      const group = this.groupOfHost(requestHost(head), head, method);
      if (group !== null) return group.routeFor(head, method);
    }
    return this.anyHost === null ? null : this.anyHost.routeFor(head, method);
  }

  /**
   * The most specific group that takes the request and has the method.
   * @param method a Method, or ANY_METHOD
   */
  groupFor(head: RequestHead, method: number): RouteGroup | null {
    if (this.hasHosts) {
      const group = this.groupOfHost(requestHost(head), head, method);
      if (group !== null) return group;
    }
    return this.anyHost?.has(head, method) === true ? this.anyHost : null;
  }

  private groupOfHost(host: string, head: RequestHead, method: number): RouteGroup | null {
    const named = this.byName.get(host);
    if (named?.has(head, method) === true) return named;
    for (let dot = host.indexOf(".", 1); dot > 0; dot = host.indexOf(".", dot + 1)) {
      const group = this.bySuffix.get(host.slice(dot));
      if (group?.has(head, method) === true) return group;
    }
    return null;
  }
}

/** In the place of a method: whichever. */
export const ANY_METHOD = -1;

/** The routes with the same path and the same host, by method. */
export class RouteGroup {
  /** Number of the group, for telling groups apart. */
  readonly id: number;
  /** The route of each method (by Method) that asks nothing more of a request, or null. */
  protected readonly byMethod: (Route | null)[] = new Array<Route | null>(METHOD_COUNT).fill(null);

  /** @param other whose routes this one has to begin with */
  constructor(id: number, other: RouteGroup | null = null) {
    this.id = id;
    if (other !== null) this.byMethod = other.byMethod;
  }

  /** Adds a route. Where two routes name the same method, the earlier keeps it. */
  add(route: Route): void {
    for (let method = 0; method < METHOD_COUNT; method++) {
      if (route.allowedMethods[method] === 1) this.byMethod[method] ??= route;
    }
  }

  /** The route that takes the request with this method, or null. */
  routeFor(_head: RequestHead, method: Method): Route | null {
    return this.byMethod[method]!;
  }

  /** Whether the group has the method for the request, or any where `method` is ANY_METHOD. */
  has(head: RequestHead, method: number): boolean {
    return method === ANY_METHOD || this.routeFor(head, method) !== null;
  }

  /** Whether the gateway itself answers on this path. */
  isBuiltIn(head: RequestHead): boolean {
    return this.routesFor(head).some((route) => route.kind.isBuiltIn);
  }

  /** Whether all routes are transcoded: patterns may take the methods that they lack. */
  isTranscoded(head: RequestHead): boolean {
    return this.routesFor(head).every((route) => route.kind.sharesMethods);
  }

  /** One of the routes, which have path and label in common. */
  anyRoute(head: RequestHead): Route | null {
    return this.routesFor(head)[0] ?? null;
  }

  /** The routes that take the request with some method. */
  protected routesFor(_head: RequestHead): readonly Route[] {
    return this.byMethod.filter((route) => route !== null);
  }
}

/**
 * A group in which some routes have `match`: they are asked in the order of the file, those without it last. A group of its own,
 * so that all others ask nothing. What the gateway itself answers comes first. docs/routing.md#match
 */
class MatchGroup extends RouteGroup {
  private readonly choosy: Route[] = [];
  private hasPlain: boolean;

  /** @param others what there has been so far: routes without `match` */
  constructor(id: number, others: RouteGroup) {
    super(id, others);
    this.hasPlain = this.byMethod.some((route) => route !== null);
  }

  override add(route: Route): void {
    if (route.init.match !== undefined) {
      this.choosy.push(route);
      return;
    }
    super.add(route);
    this.hasPlain = true;
  }

  override routeFor(head: RequestHead, method: Method): Route | null {
    const plain = this.byMethod[method]!;
    if (plain?.kind.isBuiltIn === true) return plain;
    for (const route of this.choosy) {
      if (route.allowedMethods[method] === 1 && route.init.match!.fits(head)) return route;
    }
    return plain;
  }

  override has(head: RequestHead, method: number): boolean {
    if (method !== ANY_METHOD) return this.routeFor(head, method) !== null;
    return this.hasPlain || this.choosy.some((route) => route.init.match!.fits(head));
  }

  protected override routesFor(head: RequestHead): readonly Route[] {
    return [...this.choosy.filter((route) => route.init.match!.fits(head)), ...super.routesFor(head)];
  }
}

/** The group with one more route: another group where that is the first with `match`. */
function grown(group: RouteGroup, route: Route): RouteGroup {
  const isFirst = route.init.match !== undefined && !(group instanceof MatchGroup);
  const own = isFirst ? new MatchGroup(group.id, group) : group;
  own.add(route);
  return own;
}

/**
 * Route paths by their hash: open addressing, at most half full, made once and never changed. A hit is verified byte
 * for byte. The paths are the operator's, so clients cannot choose which of them collide.
 */
export class RouteTable {
  /** Length in bytes of the longest path. */
  readonly maxLength: number;
  private readonly nodes: readonly RouteNode[];
  /** Index in `nodes` of each slot; -1 where it is free. */
  private readonly slots: Int32Array;
  private readonly hashes: Int32Array;
  private readonly mask: number;
  /** 1 at each length that some path has. */
  private readonly lengths: Uint8Array;

  /** @param nodes with paths that differ from each other */
  constructor(nodes: readonly RouteNode[]) {
    let size = 8;
    while (size < nodes.length * 2) size *= 2;
    this.nodes = nodes;
    this.slots = new Int32Array(size).fill(FREE);
    this.hashes = new Int32Array(size);
    this.mask = size - 1;
    this.maxLength = nodes.reduce((longest, node) => Math.max(longest, node.path.length), 0);
    this.lengths = new Uint8Array(this.maxLength + 1);
    nodes.forEach((node, index) => {
      this.insert(node, index);
    });
  }

  /** Whether some path has this length in bytes. */
  hasLength(length: number): boolean {
    return length <= this.maxLength && this.lengths[length] === 1;
  }

  /**
   * The node whose path is `bytes[from, to)`, or null.
   * @param hash of these bytes, see `hashStep`
   */
  find(hash: number, bytes: Uint8Array, from: number, to: number): RouteNode | null {
    for (let slot = slotOf(hash, this.mask); ; slot = (slot + 1) & this.mask) {
      const index = this.slots[slot]!;
      if (index === FREE) return null;
      if (this.hashes[slot] !== hash) continue;
      const node = this.nodes[index]!;
      if (equalsBytes(bytes, from, to, node.path)) return node;
    }
  }

  private insert(node: RouteNode, index: number): void {
    const hash = hashOf(node.path, 0, node.path.length);
    let slot = slotOf(hash, this.mask);
    while (this.slots[slot] !== FREE) slot = (slot + 1) & this.mask;
    this.slots[slot] = index;
    this.hashes[slot] = hash;
    this.lengths[node.path.length] = 1;
  }
}

/** The hash of no bytes. */
const HASH_SEED = 0x811c9dc5 | 0;

/** The hash of some bytes and one more after them (FNV-1a, 32 bits). */
function hashStep(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}

/** The hash of `bytes[from, to)`. */
export function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = HASH_SEED;
  for (let at = from; at < to; at++) hash = hashStep(hash, bytes[at]!);
  return hash;
}

function slotOf(hash: number, mask: number): number {
  return (hash ^ (hash >>> 15)) & mask;
}

const FREE = -1;
