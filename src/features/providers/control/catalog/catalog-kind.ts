import type { RouteSource } from "../../../../routes/route-source.ts";
import type { RuntimeConfig } from "../../../../routes/runtime-config.ts";
import type { ConsulConfig } from "../../settings.ts";
import type { LabelConfig } from "../labels/container-labels.ts";
import { type Instance, isInstance } from "../labels/instance.ts";
import { LabelLists, type TraefikReader } from "../labels/label-routes.ts";
import { hostBound } from "../live/host-bound.ts";
import type { SourceKind } from "../live/source-kind.ts";
import { StoreClient } from "../live/store-client.ts";
import { type CatalogReading, CatalogWatch } from "./catalog-watch.ts";
import { refusedAddress } from "./registered-address.ts";
import { hasRoutes, mayBeExposed } from "./tags.ts";

/** Settings that all catalogs have. */
type CatalogConfig = Omit<LabelConfig, "network"> & Pick<ConsulConfig, "endpoint" | "tls" | "hosts">;

/** A catalog of services with tags, and its settings. */
interface CatalogSource<Config> {
  readonly source: RouteSource & ("consul" | "nomad");
  /** How Traefik calls it: `@consulcatalog`. */
  readonly provider: string;
  /** Null if it is off. */
  configOf(config: RuntimeConfig): Config | null;
  /** Names the part of the catalog that the settings choose; empty texts count for nothing. */
  partsOf(config: Config): readonly string[];
  catalogOf(config: Config): CatalogReading;
}

/** Services of a catalog as a source of routes, by their tags. */
export function catalogKind<Config extends CatalogConfig>(
  { source, provider, configOf, partsOf, catalogOf }: CatalogSource<Config>,
  folder: string,
  readTraefik: TraefikReader,
): SourceKind<Config & { readonly network: string }, Instance> {
  return {
    source,
    part: `${source}-instances`,
    lists: new LabelLists<Config & { readonly network: string }>({
      source,
      folder,
      readTraefik,
      provider,
      refusedAddress,
      hostsOf: (scope, { hosts }) => hostBound(scope, hosts),
    }),
    configOf: (all) => {
      const config = configOf(all);
      return config === null ? null : { ...config, network: "" };
    },
    placeOf: (config) => [config.endpoint, ...partsOf(config)].filter((part) => part !== "").join(" "),
    watch: (config, ports, before) =>
      new CatalogWatch(
        {
          ...catalogOf(config),
          client: () => new StoreClient(config.endpoint, config.tls),
          mayHaveRoutes: ({ tags }) => mayBeExposed(tags, config),
          hasRoutes: (one) => hasRoutes(one, config),
        },
        ports,
        before,
      ),
    isItem: isInstance,
  };
}
