import { Byte, equalsBytes, latin1 } from "../../core/bytes.ts";
import type { Route } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { HostTable } from "../../message/host-table.ts";
import { METHOD_COUNT, Method, type RequestHead } from "../../message/request-head.ts";
import { requestHost } from "../../message/request-host.ts";
import { slashedPath } from "../../proto/target/canonical-path.ts";
import { allowValue } from "./method-set.ts";

/** Routes whose paths have variable parts. */
interface PatternLookup {
  /**
   * The routes of a path, or null.
   * @param method a number, or ANY_METHOD
   * @param hosts that take the request, as RouteHosts gives them
   */
  find(path: string, head: RequestHead, method: number, hosts: readonly number[]): RouteGroup | null;
}

/** A route by its expression, under one host. */
export interface RegexPlace {
  /** The same for routes of the host with this expression. */
  readonly id: number;
  readonly regex: string;
  readonly route: Route;
}

/** The routes by expressions of one host. */
export interface RegexLookup {
  /**
   * The first that takes the request.
   * @param path canonical, backslashes read as slashes
   * @param method a Method that it has, or ANY_METHOD
   * @param regex of the places that count; "" for all
   */
  find(path: string, head: RequestHead, method: number, regex?: string): RegexPlace | null;
}

/** Where the routes of a router stand. */
interface RouterTables {
  readonly hosts: RouteHosts;
  readonly exact: RouteTable;
  readonly prefixes: RouteTable;
  /** Endpoints of the gateway's own with all that is below their paths. */
  readonly above: readonly RouteNode[];
  /** Routes whose paths are in lists, by the number of the host; null without any. */
  readonly listed: readonly (RouteGroup | undefined)[] | null;
  /** By the number of the host; null without routes by expressions. */
  readonly regexes: readonly (RegexLookup | undefined)[] | null;
  /** Routes with variable parts; null if there are none. */
  readonly patterns: PatternLookup | null;
  /** Whether a host goes before a path: `server.route_order`. */
  readonly isHostFirst: boolean;
}

const ROOT: Uint8Array = latin1("/");

/** Takes requests without an exact path or a pattern. */
type Place = RouteNode | RegexPlace;

/**
 * Finds routes. A look-up costs one hash over the path, up to the length of the longest path in the table, for each host of the routes that
 * the request's is or is below, whatever the number of routes. The paths of the table are canonical, and so must be the paths that are
 * looked up: a plain raw path (see `isPlainPath`), or `canonicalise(…).canonical`, whose backslashes are read as slashes.
 *
 * Precedence, host first: the most specific host that has something for the path; there, an exact path, then the paths of lists, then expressions in the order of the
 * file, then the longest prefix. Path first: an exact path, the paths of lists, expressions, the longest prefix, each with the most specific
 * host. Endpoints of the gateway's own and patterns hold on every host, before expressions and prefixes of all hosts.
 * The method comes last: of the routes with this path, the most specific host that has the method; none is a 405. A route whose `match` does not fit a request is as if it were not there. docs/routing.md#which-route-wins
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
  private readonly tables: RouterTables;
  private readonly patterns: PatternLookup | null;
  /** Takes a canonical path as bytes. */
  private scratch: Buffer = Buffer.allocUnsafe(1024);
  /** The question of the moment: made once, since each request asks several. */
  private readonly now: Asked = new Asked();

  /** @see buildRouter */
  constructor(routes: readonly Route[], tables: RouterTables) {
    this.routes = routes;
    this.tables = tables;
    this.patterns = tables.patterns;
  }

  /** Whether a host goes before a path. */
  get isHostFirst(): boolean {
    return this.tables.isHostFirst;
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
    const group = this.patternOf(path, head, head.method);
    if (group !== null) return group.routeFor(head, head.method);
    this.refused ??= this.patternOf(path, head, ANY_METHOD);
    return null;
  }

  /** The exact route of the raw path, which must be plain, or null. */
  findExact(head: RequestHead): Route | null {
    return this.exactRoute(this.now.set(head, head.bytes, head.pathFrom, head.pathTo, null));
  }

  /** The exact route of a canonical path, one character a byte, or null. */
  findExactCanonical(path: string, head: RequestHead): Route | null {
    return this.exactRoute(this.asked(path, head));
  }

  /**
   * The route of the raw path, which must be plain, that is found by an expression or has the longest prefix, or null: there is none, or not
   * with this method. An exact path was not found.
   */
  findPrefix(head: RequestHead): Route | null {
    return this.placedRoute(this.now.set(head, head.bytes, head.pathFrom, head.pathTo, null));
  }

  /** The same for a canonical path, one character a byte. */
  findPrefixCanonical(path: string, head: RequestHead): Route | null {
    return this.placedRoute(this.asked(path, head));
  }

  /**
   * The value of Allow where an exact path or a pattern lacks the method.
   * @param path canonical
   * @param patternPath the path as patterns are compared with it; null where patterns do not complement the exact path
   */
  ownAllowOf(path: string, head: RequestHead, patternPath: string | null): string {
    const node = this.exactNode(this.asked(path, head));
    return methodsOf((method) => {
      if (node !== null && this.exactAt(node, head, method) !== null) return true;
      return patternPath !== null && this.patternOf(patternPath, head, method) !== null;
    });
  }

  /** The value of Allow where the expression or the longest prefix of a canonical path lacks the method; "" without either. */
  prefixAllowOf(path: string, head: RequestHead): string {
    const asked = this.asked(path, head);
    const place = this.placeOf(asked);
    return place === null ? "" : methodsOf((method) => this.routeAt(place, asked, method) !== null);
  }

  /** One of the routes of the same place, whatever the method, or null. */
  prefixRouteOf(path: string, head: RequestHead): Route | null {
    const place = this.placeOf(this.asked(path, head));
    if (place === null) return null;
    return place instanceof RouteNode ? place.group.anyRoute(head) : place.route;
  }

  /** Whether one of the readings, canonical as the path is, belongs to another route than the one that takes the path. */
  isElsewhere(path: string, readings: readonly string[], head: RequestHead): boolean {
    const own = this.prefixId(path, head);
    return readings.some((reading) => {
      if (this.exactId(reading, head) >= 0 || this.patternOf(reading, head, ANY_METHOD) !== null) return true;
      return this.prefixId(reading, head) !== own;
    });
  }

  /** Tells exact routes apart by path and host, whatever the method; -1 if the canonical path is none. */
  exactId(path: string, head: RequestHead): number {
    return this.exactNode(this.asked(path, head))?.id ?? -1;
  }

  /** Tells the places of all other routes apart, whatever the method; -1 if the canonical path falls to none. */
  prefixId(path: string, head: RequestHead): number {
    return this.placeOf(this.asked(path, head))?.id ?? -1;
  }

  private patternOf(path: string, head: RequestHead, method: number): RouteGroup | null {
    return this.patterns === null ? null : this.patterns.find(path, head, method, this.tables.hosts.of(head));
  }

  private exactRoute(asked: Asked): Route | null {
    const { head } = asked;
    const node = this.exactNode(asked);
    const listed = this.tables.listed === null ? null : this.listedRoute(asked, node);
    if (listed !== null) return listed;
    const route = node === null ? null : this.exactAt(node, head, head.method);
    if (route === null) this.refused = node === null ? null : node.group;
    return route;
  }

  /** The routes of the most specific host that has the exact path, unless a host before it has something else for the path. */
  private exactNode(asked: Asked): RouteNode | null {
    const { head, bytes, from, to } = asked;
    // A target without a path is one for "/". RFC 9110 §4.2.3.
    if (from === to) return this.exactNode(asked.set(head, ROOT, 0, ROOT.length, "/"));
    const { exact, above, hosts, isHostFirst } = this.tables;
    for (const node of above) {
      const end = from + node.path.length;
      if (end < to && equalsBytes(bytes, from, end, node.path)) return node;
    }
    if (!exact.hasLength(to - from)) return null;
    const hash = hashOf(bytes, from, to);
    const all = hosts.of(head);
    for (let i = 0; i < all.length; i++) {
      const node = exact.find(all[i]!, hash, bytes, from, to);
      if (node === null || !node.group.has(head, ANY_METHOD)) continue;
      const isShadowed = i > 0 && isHostFirst && !node.group.holdsOnEveryHost();
      return isShadowed && this.placeIn(all, i, asked) !== null ? null : node;
    }
    return null;
  }

  /** The route whose list has the path. @param node of an exact path, before which only lists of more specific hosts go */
  private listedRoute(asked: Asked, node: RouteNode | null): Route | null {
    const { hosts, listed, isHostFirst } = this.tables;
    const all = hosts.of(asked.head);
    const end = node === null ? all.length : isHostFirst ? all.indexOf(node.host) : 0;
    for (let i = 0; i < end; i++) {
      const route = listed![all[i]!]?.routeFor(asked.head, asked.head.method) ?? null;
      if (route === null) continue;
      return isHostFirst && i > 0 && this.placeIn(all, i, asked) !== null ? null : route;
    }
    return null;
  }

  /** Routes of one path complement each other, the most specific host first. */
  private exactAt(node: RouteNode, head: RequestHead, method: number): Route | null {
    return this.besides(this.tables.exact, node, head, method);
  }

  private placedRoute(asked: Asked): Route | null {
    const place = this.placeOf(asked);
    if (place === null) return null;
    const isPrefix = place instanceof RouteNode;
    this.matchedLength = isPrefix ? place.path.length : 0;
    this.matchedDepth = isPrefix ? place.depth : 0;
    return this.routeAt(place, asked, asked.head.method);
  }

  private placeOf(asked: Asked): Place | null {
    const hosts = this.tables.hosts.of(asked.head);
    if (this.tables.isHostFirst || hosts.length === 1) return this.placeIn(hosts, hosts.length, asked);
    for (const host of hosts) {
      const found = this.regexOf(host, asked, ANY_METHOD);
      if (found !== null) return found;
    }
    return this.longestOf(hosts, 0, hosts.length, asked);
  }

  /** The place at the first of the hosts before `end` that has one for the path. */
  private placeIn(hosts: readonly number[], end: number, asked: Asked): Place | null {
    for (let i = 0; i < end; i++) {
      const found = this.regexOf(hosts[i]!, asked, ANY_METHOD) ?? this.longestOf(hosts, i, i + 1, asked);
      if (found !== null) return found;
    }
    return null;
  }

  private regexOf(host: number, asked: Asked, method: number, regex = ""): RegexPlace | null {
    const routes = this.tables.regexes?.[host];
    return routes === undefined || !asked.isPath ? null : routes.find(asked.path(), asked.head, method, regex);
  }

  /** One pass over the path: at each end of a segment a look-up of all before it for the hosts in `[first, end)`; the last hit stays. */
  private longestOf(hosts: readonly number[], first: number, end: number, asked: Asked): RouteNode | null {
    const table = this.tables.prefixes;
    const { bytes, from, to, head } = asked;
    if (!asked.isPath || (end - first === 1 && !table.hasHost(hosts[first]!))) return null;
    const limit = Math.min(to, from + table.maxLength);
    let best: RouteNode | null = null;
    let hash = HASH_SEED;
    for (let at = from; at <= limit; at++) {
      const atSegmentEnd = at === to || bytes[at] === Byte.Slash;
      if (atSegmentEnd && table.hasLength(at - from)) {
        for (let i = first; i < end; i++) {
          const node = table.find(hosts[i]!, hash, bytes, from, at);
          if (node === null || !node.group.has(head, ANY_METHOD)) continue;
          best = node;
          break;
        }
      }
      if (at < limit) hash = hashStep(hash, bytes[at]!);
    }
    return best;
  }

  /** The route of a place that has the method: of those with the same path or expression, that of the most specific host. */
  private routeAt(place: Place, asked: Asked, method: number): Route | null {
    if (place instanceof RouteNode) return this.besides(this.tables.prefixes, place, asked.head, method);
    if (method === asked.head.method && place.route.allowedMethods[method] === 1) return place.route;
    for (const host of this.tables.hosts.of(asked.head)) {
      const found = this.regexOf(host, asked, method, place.regex);
      if (found !== null) return found.route;
    }
    return null;
  }

  private besides(table: RouteTable, node: RouteNode, head: RequestHead, method: number): Route | null {
    if (method === head.method) {
      const own = node.group.routeFor(head, method);
      if (own !== null) return own;
    }
    for (const host of this.tables.hosts.of(head)) {
      const route = (host === node.host ? node : table.beside(node, host))?.group.routeFor(head, method) ?? null;
      if (route !== null) return route;
    }
    return null;
  }

  private asked(path: string, head: RequestHead): Asked {
    const text = slashedPath(path);
    if (text.length > this.scratch.length) this.scratch = Buffer.allocUnsafe(text.length * 2);
    this.scratch.latin1Write(text, 0, text.length);
    return this.now.set(head, this.scratch, 0, text.length, text);
  }
}

/** A path that is looked up for a request. */
class Asked {
  head!: RequestHead;
  bytes: Uint8Array = ROOT;
  from = 0;
  to = 0;
  /** The path as text, unless it is the raw one of the head. */
  private text: string | null = null;

  set(head: RequestHead, bytes: Uint8Array, from: number, to: number, text: string | null): this {
    this.head = head;
    this.bytes = bytes;
    this.from = from;
    this.to = to;
    this.text = text;
    return this;
  }

  /** OPTIONS * names no resource of ours: no prefix holds it. */
  get isPath(): boolean {
    return this.from >= this.to || this.bytes[this.from] === Byte.Slash;
  }

  path(): string {
    return this.text ?? this.head.path();
  }
}

function methodsOf(isAllowed: (method: Method) => boolean): string {
  const allowed = new Uint8Array(METHOD_COUNT);
  for (let method = Method.Other; method < METHOD_COUNT; method++) allowed[method] = isAllowed(method) ? 1 : 0;
  return allowValue(allowed);
}

/** All routes with one path and one host. */
export class RouteNode {
  /** Number of the host in RouteHosts; EVERY_HOST for routes without one. */
  readonly host: number;
  /** The path in canonical form, one byte a character; that of the prefix "/" is empty. */
  readonly path: Uint8Array;
  /** Of the path, see `hashStep`. */
  readonly hash: number;
  /** Number of segments of the path. */
  readonly depth: number;
  group: RouteGroup;

  /** @param id that of the node's group */
  constructor(id: number, host: number, path: Uint8Array, depth: number) {
    this.host = host;
    this.path = path;
    this.hash = hashOf(path, 0, path.length);
    this.depth = depth;
    this.group = new RouteGroup(id);
  }

  /** Tells places apart, whatever the method. */
  get id(): number {
    return this.group.id;
  }

  add(route: Route): void {
    this.group = grown(this.group, route);
  }
}

/** Of routes that name no host. */
export const EVERY_HOST = 0;

/**
 * Paths of routes, each with its host, by their hash: open addressing, at most half full, made once and never changed. One table for all
 * hosts: another host is another number that goes into the hash. A hit is verified byte for byte. Paths and hosts are the operator's,
 * so clients cannot choose which of them collide.
 */
export class RouteTable {
  /** Length in bytes of the longest path. */
  readonly maxLength: number;
  private readonly nodes: readonly RouteNode[];
  /** Index in `nodes` of each slot; -1 if it is free. */
  private readonly slots: Int32Array;
  private readonly hashes: Int32Array;
  private readonly mask: number;
  /** 1 at each length that some path has. */
  private readonly lengths: Uint8Array;
  /** 1 at the number of each host that has some path. */
  private readonly hosts: Uint8Array;

  /** @param nodes that differ from each other in path or host */
  constructor(nodes: readonly RouteNode[]) {
    let size = 8;
    while (size < nodes.length * 2) size *= 2;
    this.nodes = nodes;
    this.slots = new Int32Array(size).fill(FREE);
    this.hashes = new Int32Array(size);
    this.mask = size - 1;
    this.maxLength = nodes.reduce((longest, node) => Math.max(longest, node.path.length), 0);
    this.lengths = new Uint8Array(this.maxLength + 1);
    this.hosts = new Uint8Array(nodes.reduce((last, node) => Math.max(last, node.host), 0) + 1);
    nodes.forEach((node, index) => {
      this.insert(node, index);
    });
  }

  /** Whether some path has this length in bytes. */
  hasLength(length: number): boolean {
    return length <= this.maxLength && this.lengths[length] === 1;
  }

  /** Whether the host has some path. */
  hasHost(host: number): boolean {
    return host < this.hosts.length && this.hosts[host] === 1;
  }

  /**
   * The node of the host whose path is `bytes[from, to)`, or null.
   * @param hash of these bytes, see `hashStep`
   */
  find(host: number, hash: number, bytes: Uint8Array, from: number, to: number): RouteNode | null {
    const key = keyOf(hash, host);
    for (let slot = slotOf(key, this.mask); ; slot = (slot + 1) & this.mask) {
      const index = this.slots[slot]!;
      if (index === FREE) return null;
      if (this.hashes[slot] !== key) continue;
      const node = this.nodes[index]!;
      if (node.host === host && equalsBytes(bytes, from, to, node.path)) return node;
    }
  }

  /** The node of another host with the same path, or null. */
  beside(node: RouteNode, host: number): RouteNode | null {
    return this.find(host, node.hash, node.path, 0, node.path.length);
  }

  private insert(node: RouteNode, index: number): void {
    const key = keyOf(node.hash, node.host);
    let slot = slotOf(key, this.mask);
    while (this.slots[slot] !== FREE) slot = (slot + 1) & this.mask;
    this.slots[slot] = index;
    this.hashes[slot] = key;
    this.lengths[node.path.length] = 1;
    this.hosts[node.host] = 1;
  }
}

/** The hash of no bytes. */
const HASH_SEED = 0x811c9dc5 | 0;

/** The hash of some bytes and one more after them (FNV-1a, 32 bits). */
function hashStep(hash: number, byte: number): number {
  return Math.imul(hash ^ byte, 0x01000193);
}

/** The hash of `bytes[from, to)`. */
function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = HASH_SEED;
  for (let at = from; at < to; at++) hash = hashStep(hash, bytes[at]!);
  return hash;
}

function keyOf(hash: number, host: number): number {
  return host === EVERY_HOST ? hash : Math.imul(hash ^ host, 0x9e3779b1);
}

function slotOf(hash: number, mask: number): number {
  return (hash ^ (hash >>> 15)) & mask;
}

const FREE = -1;

/**
 * The hosts that routes name, by number, and for each request its own: the name itself, then `*.` patterns from the longest
 * to the shortest, then EVERY_HOST. The list of a name is made with the table, so that a request pays for one look-up.
 */
export class RouteHosts {
  private readonly numbers: Map<string, number> = new Map();
  private readonly lists: HostTable<readonly number[]> = new HostTable();
  /** The value of Host of the last request, and its list: each request has several questions. */
  private readonly lastHost: Buffer = Buffer.alloc(MAX_REMEMBERED_BYTES);
  private lastBytes: Uint8Array = this.lastHost.subarray(0, 0);
  private lastList: readonly number[] = ONLY_EVERY_HOST;

  /** @param names of all routes: lower case, `*.` patterns among them */
  constructor(names: Iterable<string>) {
    for (const name of names) if (!this.numbers.has(name)) this.numbers.set(name, this.numbers.size + 1);
    for (const [name, number] of this.numbers) {
      const above = patternsAbove(name).flatMap((pattern) => this.numbers.get(pattern) ?? []);
      this.lists.add(name, [number, ...above, EVERY_HOST]);
    }
  }

  /** The number of a name that some route has. */
  numberOf(name: string): number {
    return this.numbers.get(name)!;
  }

  /** The numbers of the hosts that take a request, the most specific first. */
  of(head: RequestHead): readonly number[] {
    if (this.numbers.size === 0) return ONLY_EVERY_HOST;
    const { headers } = head;
    const index = head.authorityTo > head.authorityFrom ? -1 : headers.find(HeaderId.Host);
    if (index < 0) return this.listOf(head);
    const from = headers.valueFrom(index);
    const to = headers.valueTo(index);
    if (equalsBytes(headers.bytes, from, to, this.lastBytes)) return this.lastList;
    const list = this.listOf(head);
    if (to - from <= MAX_REMEMBERED_BYTES) {
      this.lastHost.set(headers.bytes.subarray(from, to));
      this.lastBytes = this.lastHost.subarray(0, to - from);
      this.lastList = list;
    }
    return list;
  }

  private listOf(head: RequestHead): readonly number[] {
    return this.lists.get(requestHost(head)) ?? ONLY_EVERY_HOST;
  }
}

/** `*.b.test` and `*.test` of `a.b.test`; of a pattern, those above it. */
function patternsAbove(host: string): string[] {
  const name = host.startsWith("*.") ? host.slice(2) : host;
  const patterns: string[] = [];
  for (let dot = name.indexOf("."); dot >= 0; dot = name.indexOf(".", dot + 1)) {
    if (dot > 0) patterns.push(`*${name.slice(dot)}`);
  }
  return patterns;
}

const ONLY_EVERY_HOST: readonly number[] = [EVERY_HOST];
const MAX_REMEMBERED_BYTES = 64;

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

  /** Whether one of the routes is there on every host, whatever the routes of a named one say. */
  holdsOnEveryHost(): boolean {
    return this.byMethod.some((route) => route?.kind.holdsOnEveryHost === true);
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
 * so that all others ask nothing. Endpoints of the gateway come first. docs/routing.md#match
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
      if (route.allowedMethods[method] === 1 && route.init.match!.fits(head, method)) return route;
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
export function grown(group: RouteGroup, route: Route): RouteGroup {
  const isFirst = route.init.match !== undefined && !(group instanceof MatchGroup);
  const own = isFirst ? new MatchGroup(group.id, group) : group;
  own.add(route);
  return own;
}
