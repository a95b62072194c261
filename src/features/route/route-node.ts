import type { RequestHead } from "../../message/request-head.ts";
import { requestHost } from "../../message/request-host.ts";
import type { Route } from "../../message/route.ts";
import { ANY_METHOD, RouteGroup } from "./route-group.ts";

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

  constructor(path: Uint8Array, depth: number) {
    this.path = path;
    this.depth = depth;
  }

  /** Adds a route under each of its hosts. Groups that this makes are numbered from `firstId`. @returns the next id */
  add(route: Route, firstId: number): number {
    let id = firstId;
    if (route.init.hosts.length === 0) {
      this.anyHost ??= new RouteGroup(id++);
      this.anyHost.add(route);
    }
    for (const host of route.init.hosts) {
      this.hasHosts = true;
      const isPattern = host.startsWith("*.");
      const map = isPattern ? this.bySuffix : this.byName;
      const key = isPattern ? host.slice(1) : host;
      const group = map.get(key) ?? new RouteGroup(id++);
      map.set(key, group);
      group.add(route);
    }
    return id;
  }

  /** Whether some group takes the request's host, whatever the method. */
  takesHostOf(head: RequestHead): boolean {
    return this.anyHost !== null || this.groupFor(head, ANY_METHOD) !== null;
  }

  /**
   * The most specific group that takes the request's host and has the method: groups of one path complement each other.
   * @param method a Method, or ANY_METHOD
   */
  groupFor(head: RequestHead, method: number): RouteGroup | null {
    if (this.hasHosts) {
      const group = this.groupOfHost(requestHost(head), method);
      if (group !== null) return group;
    }
    return this.anyHost?.has(method) === true ? this.anyHost : null;
  }

  private groupOfHost(host: string, method: number): RouteGroup | null {
    const named = this.byName.get(host);
    if (named?.has(method) === true) return named;
    for (let dot = host.indexOf(".", 1); dot > 0; dot = host.indexOf(".", dot + 1)) {
      const group = this.bySuffix.get(host.slice(dot));
      if (group?.has(method) === true) return group;
    }
    return null;
  }
}
