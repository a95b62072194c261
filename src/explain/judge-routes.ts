import type { OriginConfig } from "../config/origin.ts";
import { ownListenerAt } from "../loading/listener-check.ts";
import type { RouteNotes } from "../loading/load-config.ts";
import { hasTargets } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { UpstreamRouteConfig } from "../routes/upstream/upstream-config.ts";

/**
 * Notes what only the gateway that serves a configuration can tell of its routes: redirects that lead round, targets and mirrors that are
 * the gateway itself. For `loadConfig`; what following redirects needs is loaded if there are some.
 */
export function judgeRoutes(config: RuntimeConfig, notes: RouteNotes): void {
  config.routes.forEach((route, i) => {
    if (hasTargets(route)) judgeTargets(route, i, config, notes);
  });
  if (!config.routes.some((route) => "to" in route)) return;
  const { noteRedirectLoops } = require("./redirect-loops.ts") as typeof import("./redirect-loops.ts");
  noteRedirectLoops(config, notes);
}

/** docs/upstreams.md#fields-that-are-sent */
function judgeTargets(route: UpstreamRouteConfig, index: number, config: RuntimeConfig, notes: RouteNotes): void {
  const { targets } = route;
  const own = targets.map((target) => comesBack(route, target) && ownListenerAt(target, config)).find(Boolean);
  if (typeof own === "string") {
    const key = targets.length === 1 ? "target" : "targets";
    notes.warn(
      index,
      key,
      `is the gateway's own ${own}: requests come back to this route ten times, then get 508; ${CURE}`,
    );
  }
  for (const { target } of route.mirrors) judgeMirror(route, target, index, config, notes);
}

function judgeMirror(
  route: UpstreamRouteConfig,
  target: OriginConfig & { readonly url: string },
  index: number,
  config: RuntimeConfig,
  notes: RouteNotes,
): void {
  const key = route.mirrors.length === 1 ? "mirror" : "mirrors";
  const listener = ownListenerAt(target, config);
  if (listener !== "" && comesBack(route, target)) {
    notes.warn(index, key, `is the gateway's own ${listener}: each copy comes back to this route ten times; ${CURE}`);
  } else if (listener !== "") {
    notes.warn(index, key, `is the gateway's own ${listener}: copies would re-enter as client requests; ${CURE}`);
  } else if (route.targets.some(({ url }) => url === target.url)) {
    notes.warn(index, key, `is a target of the same route, which acts on each request twice; ${CURE}`);
  } else if (route.mirrors.find((one) => one.target.url === target.url)?.target !== target) {
    notes.warn(index, key, `names ${target.url} twice, which acts on each request twice; ${CURE}`);
  }
}

/** Whether the path of a route's request, as an origin is asked for it, is one of the same route. */
function comesBack({ path, prefix, stripPrefix }: UpstreamRouteConfig, { basePath }: OriginConfig): boolean {
  const isStripped = path === "" && stripPrefix && prefix !== "/";
  return basePath === (isStripped ? prefix : "");
}

const CURE = "name another server";
