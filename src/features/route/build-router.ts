import { latin1 } from "../../core/bytes.ts";
import { isFixedPattern } from "../../core/path-pattern.ts";
import type { RouteInit } from "../../message/exchange.ts";
import { RouteOf } from "../../message/route.ts";
import { methodSet } from "./method-set.ts";
import { PatternTable } from "./pattern-table.ts";
import { exactRoutePath, prefixRoutePath } from "./route-paths.ts";
import { RouteNode, Router, RouteTable } from "./router.ts";

/**
 * Makes the routes and the tables to find them by.
 * @param inits in the order of the configuration; of two with the same path, host and method the earlier is found
 * @throws Error for a method that the gateway does not know
 */
export function buildRouter(inits: readonly RouteInit[]): Router {
  const routes = inits.map((init, index) => {
    const methods = methodSet(init.methods);
    return new RouteOf(init, index, methods.allowed, methods.allow);
  });
  const exact = new Map<string, RouteNode>();
  const prefixes = new Map<string, RouteNode>();
  const patterns = new PatternTable();
  let hasPatterns = false;
  let listed: RouteNode | null = null;
  let nextGroupId = 0;
  for (const route of routes) {
    const { pattern } = route.init;
    if (pattern !== undefined && !isFixedPattern(pattern)) {
      hasPatterns = true;
      nextGroupId = patterns.nodeOf(pattern).add(route, nextGroupId);
      continue;
    }
    if (route.init.isListed === true) {
      listed ??= new RouteNode(latin1(""), 0);
      nextGroupId = listed.add(route, nextGroupId);
      continue;
    }
    const path = route.init.exact ? exactRoutePath(route.path) : prefixRoutePath(route.path);
    const nodes = route.init.exact ? exact : prefixes;
    const node = nodes.get(path) ?? new RouteNode(latin1(path), path.split("/").length - 1);
    nodes.set(path, node);
    nextGroupId = node.add(route, nextGroupId);
  }
  const tables = { exact: new RouteTable([...exact.values()]), prefixes: new RouteTable([...prefixes.values()]) };
  return new Router(routes, { ...tables, patterns: hasPatterns ? patterns : null, listed });
}
