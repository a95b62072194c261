import type { RouteNotes } from "../config/load-config.ts";
import type { RuntimeConfig } from "../config/runtime-config.ts";

/**
 * Notes what only the gateway that serves a configuration can tell of its routes: redirects that lead round. For `loadConfig`; what it
 * needs is loaded where there is something to look at.
 */
export function judgeRoutes(config: RuntimeConfig, notes: RouteNotes): void {
  if (!config.routes.some((route) => "to" in route)) return;
  const { noteRedirectLoops } = require("./explain/redirect-loops.ts") as typeof import("./explain/redirect-loops.ts");
  noteRedirectLoops(config, notes);
}
