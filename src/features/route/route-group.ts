import { METHOD_COUNT } from "../../message/method.ts";
import type { Route } from "../../message/route.ts";

/** In the place of a method: whichever. */
export const ANY_METHOD = -1;

/** The routes with the same path and the same host, by method. */
export class RouteGroup {
  /** Number of the group, for telling groups apart. */
  readonly id: number;
  /** The route of each method (by Method), or null. */
  readonly byMethod: (Route | null)[] = new Array<Route | null>(METHOD_COUNT).fill(null);
  /** 1 where a route has the method. */
  readonly allowed: Uint8Array = new Uint8Array(METHOD_COUNT);
  /** Whether the gateway itself answers on this path. */
  builtIn = false;
  /** Whether all routes are transcoded: patterns may take the methods that they lack. */
  onlyTranscoded = true;

  constructor(id: number) {
    this.id = id;
  }

  /** Adds a route. Where two routes name the same method, the earlier keeps it. */
  add(route: Route): void {
    for (let method = 0; method < METHOD_COUNT; method++) {
      if (route.allowedMethods[method] === 0) continue;
      this.byMethod[method] ??= route;
      this.allowed[method] = 1;
    }
    this.builtIn ||= route.kind.isBuiltIn;
    this.onlyTranscoded &&= route.kind.sharesMethods;
  }

  /** One of the routes, which have path and label in common. */
  anyRoute(): Route | null {
    return this.byMethod.find((route) => route !== null) ?? null;
  }

  /** Whether the group has the method, or any where `method` is ANY_METHOD. */
  has(method: number): boolean {
    return method === ANY_METHOD || this.allowed[method] === 1;
  }
}
