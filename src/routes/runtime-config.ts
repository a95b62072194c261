import type { MapConfig } from "../features/maps/settings.ts";
import type { Sections } from "../settings/sections.ts";
import type { RouteConfig } from "./route-config.ts";
import type { StreamConfig } from "./streams/stream-config.ts";

/**
 * The whole configuration of one gateway process after reading, checking and filling in: what `loadConfig` gives.
 *
 * Every field is always there. "Not set" is `""`, `0` or an empty list, as the field's comment says; there is no
 * `undefined`. Units end the names (`Ms`, `Bytes`). Paths are absolute. The tree is plain data, so it survives
 * `postMessage` to a worker (call `deepFreeze` again there), and it is deeply frozen.
 */
export interface RuntimeConfig extends Sections {
  /** In the order of `routes.yaml`. The router decides precedence (exact, then the longest prefix), not this order. */
  readonly routes: readonly RouteConfig[];
  /** What `maps` of routes.yaml says. */
  readonly maps: readonly MapConfig[];
  /** The entries of `routes.yaml` that forward connections and know nothing of HTTP, in their order. */
  readonly streams: readonly StreamConfig[];
}
