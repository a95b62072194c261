import type { Spot } from "../config/piece.ts";
import type { Rows } from "../config/row.ts";
import type { ClusterConfig } from "../features/fleet/settings.ts";
import type { MapConfig } from "../features/maps/settings.ts";
import type { ProxyConfig, ServerConfig } from "../settings/sections.ts";

/** A block (row.ts), whatever its rows. @typeParam F the fields that it gives */
export interface KeyBlock<F> {
  readonly rows: Rows;
  resolve(values: object, spot: Spot): F;
  write(config: object): object;
}

/** The spot at which the blocks of a route are resolved. */
export interface RouteSpot extends Spot {
  /** What a route inherits. */
  readonly server: ServerConfig;
  readonly proxy: ProxyConfig;
  readonly cluster: ClusterConfig;
  /** Maps of routes.yaml, which a target may name. */
  readonly maps: readonly MapConfig[];
  /** The entry as it is in the file: absent keys are absent. */
  readonly entry: Readonly<Record<string, unknown>>;
  /** What it says at the keys of every route. */
  readonly values: OptionValues;
}

/** The values that a type may look at beside its own. */
export interface OptionValues {
  /** 0 if the server's is taken. */
  readonly max_body_bytes: number;
  readonly cache: { readonly enabled: boolean };
}

/** The spot of a route, for its blocks' `check` and `finish`. */
export function routeSpot(spot: Spot): RouteSpot {
  return spot as RouteSpot;
}
