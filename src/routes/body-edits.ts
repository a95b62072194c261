import type { SsiPorts } from "../features/ssi/ssi.ts";
import type { Handler, Phase } from "../message/exchange.ts";
import { PreparedHandler } from "../message/prepared-handler.ts";
import type { RouteBase } from "./route-base.ts";

/** Settings of a route that change the bodies of its responses. */
type BodyEdits = Pick<RouteBase, "rewriteBody" | "ssi">;

/** Whether a route changes the bodies of its responses, so that it needs them plain. */
export function editsBodies({ rewriteBody, ssi }: BodyEdits): boolean {
  return rewriteBody !== null || ssi?.enabled === true;
}

/** Puts the editing of bodies between a route's handler and compression and cache. It is loaded if a route asks for it. */
export function editingBodies(handler: Handler, route: BodyEdits, ports: SsiPorts): Handler {
  return includingParts(rewritingBodies(handler, route), route, ports);
}

function rewritingBodies(handler: Handler, { rewriteBody }: BodyEdits): Handler {
  if (rewriteBody === null) return handler;
  const { bodyRewrite } =
    require("../features/rewrite/body-rewrite.ts") as typeof import("../features/rewrite/body-rewrite.ts");
  return new PreparedHandler(handler, bodyRewrite(rewriteBody));
}

function includingParts(handler: Handler, { ssi }: BodyEdits, ports: SsiPorts): Handler {
  if (ssi?.enabled !== true) return handler;
  const { pageParts } = require("../features/ssi/ssi.ts") as typeof import("../features/ssi/ssi.ts");
  return new PreparedHandler(handler, pageParts(ssi, ports));
}

/** Keeps the fields of requests for pages of parts; null if no route has such pages. @param routes by their numbers */
export function pageFieldsPhase(routes: readonly (BodyEdits | null)[]): Phase | null {
  const pages = routes.map((route) => route?.ssi?.enabled === true);
  if (!pages.includes(true)) return null;
  const { PageFieldsPhase } =
    require("../features/ssi/page-fields.ts") as typeof import("../features/ssi/page-fields.ts");
  return new PageFieldsPhase(pages);
}
