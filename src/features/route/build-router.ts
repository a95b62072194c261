import { latin1 } from "../../core/bytes.ts";
import { isFixedPattern } from "../../core/path-pattern.ts";
import type { Route, RouteInit } from "../../message/exchange.ts";
import { RouteOf } from "../../message/route.ts";
import { methodSet } from "./method-set.ts";
import { PatternTable } from "./pattern-table.ts";
import { RegexRoutes } from "./regex-routes.ts";
import { exactRoutePath, prefixRoutePath } from "./route-paths.ts";
import { EVERY_HOST, grown, RouteGroup, RouteHosts, RouteNode, Router, RouteTable } from "./router.ts";

/**
 * Makes the routes and the tables to find them by.
 * @param inits in the order of the configuration; of two with the same path, host and method the earlier is found
 * @param isHostFirst whether a host goes before a path: `server.route_order`
 * @throws Error for a method that the gateway does not know
 */
export function buildRouter(inits: readonly RouteInit[], isHostFirst = false): Router {
  const routes = inits.map((init, index) => {
    const methods = methodSet(init.methods);
    return new RouteOf(init, index, methods.allowed, methods.allow);
  });
  const tables = new TablesBeingMade(new RouteHosts(routes.flatMap(({ init }) => init.hosts)), isHostFirst);
  for (const route of routes) tables.add(route);
  return new Router(routes, tables.made());
}

class TablesBeingMade {
  private readonly hosts: RouteHosts;
  private readonly isHostFirst: boolean;
  private readonly exact: Map<string, RouteNode> = new Map();
  private readonly prefixes: Map<string, RouteNode> = new Map();
  private readonly regexes: RegexRoutes[] = [];
  private readonly above: Map<string, RouteNode> = new Map();
  private readonly listed: RouteGroup[] = [];
  private readonly regexIds: Map<string, number> = new Map();
  private readonly patterns: PatternTable = new PatternTable();
  private hasPatterns = false;
  private nextId = 0;

  constructor(hosts: RouteHosts, isHostFirst: boolean) {
    this.hosts = hosts;
    this.isHostFirst = isHostFirst;
  }

  /** Adds a route under each of its hosts. */
  add(route: Route): void {
    const { hosts } = route.init;
    if (hosts.length === 0) this.addAt(EVERY_HOST, route);
    for (const host of hosts) this.addAt(this.hosts.numberOf(host), route);
  }

  made() {
    const { exact, prefixes, above, listed, regexes, patterns, hosts, isHostFirst } = this;
    return {
      hosts,
      exact: new RouteTable([...exact.values()]),
      prefixes: new RouteTable([...prefixes.values()]),
      above: [...above.values()],
      listed: listed.length > 0 ? listed : null,
      regexes: regexes.length > 0 ? regexes : null,
      patterns: this.hasPatterns ? patterns : null,
      isHostFirst,
    };
  }

  private addAt(host: number, route: Route): void {
    const { pattern, exact, regex, isListed, isAbove } = route.init;
    if (pattern !== undefined && !isFixedPattern(pattern)) {
      this.hasPatterns = true;
      this.patterns.add(pattern, host, route, () => this.nextId++);
    } else if (isListed === true) {
      this.listed[host] = grown(this.listed[host] ?? new RouteGroup(this.nextId++), route);
    } else if (regex !== undefined) {
      this.addRegex(host, route, regex);
    } else {
      const path = exact ? exactRoutePath(route.path) : prefixRoutePath(route.path);
      const nodes = isAbove === true ? this.above : exact ? this.exact : this.prefixes;
      const key = `${host} ${path}`;
      let node = nodes.get(key);
      if (node === undefined) {
        node = new RouteNode(this.nextId++, host, latin1(path), path.split("/").length - 1);
        nodes.set(key, node);
      }
      node.add(route);
    }
  }

  private addRegex(host: number, route: Route, regex: string): void {
    const place = `${host} ${regex}`;
    const id = this.regexIds.get(place) ?? this.nextId++;
    this.regexIds.set(place, id);
    this.regexes[host] ??= new RegexRoutes();
    this.regexes[host].add({ id, regex, route });
  }
}
