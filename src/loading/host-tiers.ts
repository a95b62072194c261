import { compileExpression, isExpressionFault } from "../proto/expression/expression.ts";
import { pathOf } from "../routes/route-base.ts";
import type { RouteConfig } from "../routes/route-config.ts";

/** Routes that get requests before others, by their host or their expression. */
export interface PassingRoutes {
  /** The first of them. */
  readonly route: RouteConfig;
  /** The host whose requests go there; "" for all. */
  readonly host: string;
  /** How many others there are. */
  readonly more: number;
}

/** The routes by their hosts, in the order of hosts. docs/routing.md#which-route-wins */
export class HostTiers {
  /** By host, "" for every one, then by prefix; of several the first. */
  private readonly prefixes: Map<string, Map<string, RouteConfig>> = new Map();
  /** Of each prefix, the routes with their hosts. */
  private readonly byPrefix: Map<string, Tiered[]> = new Map();
  private readonly regexes: Map<string, RouteConfig[]> = new Map();
  /** Hosts with the exact paths that some route of theirs has. */
  private readonly exact: Set<string> = new Set();
  private readonly isHostFirst: boolean;
  /** Comparisons that are left: of more, a file is rather a table. */
  private left = MAX_COMPARED;

  /** @param routes null if one is faulty */
  constructor(routes: readonly (RouteConfig | null)[], isHostFirst: boolean) {
    this.isHostFirst = isHostFirst;
    for (const route of routes) if (route !== null) this.add(route);
  }

  /** The route that takes paths for which another of its hosts' routes was meant: of the most specific host that has something. */
  nearest(route: RouteConfig, path: string): RouteConfig | null {
    for (const host of orAny(route.hosts)) {
      for (const tier of [host, ...patternsAbove(host), EVERY_HOST]) {
        const found = this.longest(tier, path, route);
        if (found !== null) return found;
      }
    }
    return null;
  }

  /**
   * The routes that take requests to the path of a route although that is longer than theirs: of other hosts first, then of its own.
   * @param counts which of them matter
   */
  passing(route: RouteConfig, counts: (other: RouteConfig) => boolean): PassingRoutes[] {
    const all = [...this.passingHosts(route), ...this.passingRegexes(route)].filter((one) => counts(one.route));
    return [all.filter(({ host }) => host !== ""), all.filter(({ host }) => host === "")].flatMap((some) =>
      some.length === 0 ? [] : [{ ...some[0]!, more: new Set(some.map((one) => one.route)).size - 1 }],
    );
  }

  private add(route: RouteConfig): void {
    for (const host of orAny(route.hosts)) {
      if (route.path !== "") this.exact.add(`${host} ${route.path}`);
      else if (route.isByRegex) put(this.regexes, host, route);
      else {
        const own = this.prefixes.get(host) ?? new Map<string, RouteConfig>();
        if (!own.has(route.prefix)) own.set(route.prefix, route);
        this.prefixes.set(host, own);
        if (host !== EVERY_HOST) put(this.byPrefix, route.prefix, { route, host });
      }
    }
  }

  /** The route of a host with the longest prefix of `path`. @param but which is not meant */
  private longest(host: string, path: string, but: RouteConfig | null): RouteConfig | null {
    const own = this.prefixes.get(host);
    if (own === undefined) return null;
    for (let prefix = path; prefix !== ""; prefix = parentOf(prefix)) {
      const found = own.get(prefix);
      if (found !== undefined && found !== but) return found;
    }
    return null;
  }

  private *passingHosts(route: RouteConfig): Generator<Tiered> {
    if (route.isByRegex || !this.isHostFirst) return;
    const path = pathOf(route);
    for (let prefix = route.path === "" ? parentOf(path) : path; prefix !== ""; prefix = parentOf(prefix)) {
      for (const other of this.byPrefix.get(prefix) ?? []) {
        if (--this.left < 0) return;
        if (!isMoreSpecific(other.host, route.hosts) || this.exact.has(`${other.host} ${route.path}`)) continue;
        // A longer prefix of that host may be guarded as this one is.
        if (this.longest(other.host, path, null) === other.route) yield other;
      }
    }
  }

  private *passingRegexes(route: RouteConfig): Generator<Tiered> {
    if (route.isByRegex) return;
    for (const [host, routes] of this.regexes) {
      const isOfOne = orAny(route.hosts).includes(host);
      // Of one host, an exact path goes before expressions; the most specific host before others.
      if (isOfOne ? route.path !== "" : !this.isBefore(host, route)) continue;
      for (const other of routes) {
        if (--this.left < 0) return;
        if (mayFit(other, route)) yield { route: other, host: isOfOne ? "" : host };
      }
    }
  }

  /** Whether expressions of a host that a route does not name are asked before it. */
  private isBefore(host: string, { hosts, path }: RouteConfig): boolean {
    if (this.isHostFirst) return host !== EVERY_HOST && isMoreSpecific(host, hosts);
    return path === "" && (host === EVERY_HOST || isMoreSpecific(host, hosts));
  }
}

/** A route under one of its hosts. */
interface Tiered {
  readonly route: RouteConfig;
  readonly host: string;
}

/** Whether requests for a host that some routes name go past routes of other hosts. @param hosts of those; empty means every host */
function isMoreSpecific(host: string, hosts: readonly string[]): boolean {
  if (hosts.length === 0) return true;
  return !hosts.includes(host) && patternsAbove(host).some((pattern) => hosts.includes(pattern));
}

/** Whether the expression of one route may fit a path of another: known of an exact path, else by the text with which it begins. */
function mayFit({ regex }: RouteConfig, route: RouteConfig): boolean {
  if (route.path !== "") {
    const expression = compileExpression(regex);
    return !isExpressionFault(expression) && expression.test(route.path);
  }
  const own = route.prefix === "/" ? "" : route.prefix;
  const beginning = /^\^((?:[\w/~-]|\\[.\-/])*)(?![?*{+|])/.exec(regex.includes("|") ? "" : regex)?.[1] ?? "";
  const text = beginning.replaceAll("\\", "");
  return text.startsWith(own) || own.startsWith(text);
}

/** The path without its last segment: `/a` of `/a/b`, `/` of `/a`, "" of `/`. */
export function parentOf(path: string): string {
  if (path === "/") return "";
  return path.slice(0, path.lastIndexOf("/")) || "/";
}

/** `*.b.test` and `*.test` of `a.b.test` and of `*.a.b.test`. */
export function patternsAbove(host: string): string[] {
  const labels = host.replace(/^\*\./, "").split(".");
  return labels.slice(1).map((_, i) => `*.${labels.slice(i + 1).join(".")}`);
}

function put<K, T>(map: Map<K, T[]>, key: K, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}

/** EVERY_HOST stands for any. */
function orAny(hosts: readonly string[]): readonly string[] {
  return hosts.length > 0 ? hosts : [EVERY_HOST];
}

/** The key of routes without a host. */
const EVERY_HOST = "";
const MAX_COMPARED = 500_000;
