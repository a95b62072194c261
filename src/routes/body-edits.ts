import type { Handler } from "../message/exchange.ts";
import type { RouteBase } from "./route-base.ts";

/** Settings of a route that change the bodies of its responses. */
type BodyEdits = Pick<RouteBase, "rewriteBody">;

/** Whether a route changes the bodies of its responses, so that it needs them plain. */
export function editsBodies({ rewriteBody }: BodyEdits): boolean {
  return rewriteBody !== null;
}

/** Puts the editing of bodies between a route's handler and compression and cache. It is loaded if a route asks for it. */
export function editingBodies(handler: Handler, route: BodyEdits): Handler {
  if (route.rewriteBody === null) return handler;
  const { BodyRewriteHandler } =
    require("../features/rewrite/body-rewrite.ts") as typeof import("../features/rewrite/body-rewrite.ts");
  return new BodyRewriteHandler(handler, route.rewriteBody);
}
