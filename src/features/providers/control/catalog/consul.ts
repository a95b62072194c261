import type { ConsulConfig } from "../../settings.ts";
import { textOf } from "../docker/engine.ts";
import { type Instance, isInstance } from "../labels/instance.ts";
import { LabelLists, type TraefikReader } from "../labels/label-routes.ts";
import { hostBound } from "../live/host-bound.ts";
import type { SourceKind } from "../live/source-kind.ts";
import { StoreClient } from "../live/store-client.ts";
import { type Catalog, CatalogWatch } from "./catalog-watch.ts";
import { refusedAddress } from "./registered-address.ts";
import {
  addressesOf,
  hasRoutes,
  mayBeExposed,
  membersOf,
  objectsOf,
  orderText,
  registeredPorts,
  tagLabels,
  textsOf,
} from "./tags.ts";

/** Services of Consul as a source of routes. docs/providers.md#consul */
export function consulKind(folder: string, readTraefik: TraefikReader): SourceKind<Labelled, Instance> {
  return {
    source: "consul",
    part: "consul-instances",
    lists: new LabelLists<Labelled>({
      source: "consul",
      folder,
      readTraefik,
      provider: "consulcatalog",
      refusedAddress,
      hostsOf: (scope, { hosts }) => hostBound(scope, hosts),
    }),
    configOf: ({ providers: { consul } }) => (consul === null ? null : { ...consul, network: "" }),
    placeOf: ({ endpoint, datacenter, namespace }) =>
      [endpoint, datacenter, namespace].filter((part) => part !== "").join(" "),
    watch: (config, ports, before) => new CatalogWatch(consulCatalog(config), ports, before),
    isItem: isInstance,
  };
}

type Labelled = ConsulConfig & { readonly network: string };

function consulCatalog(config: Labelled): Catalog {
  const { endpoint, tls, token, datacenter, namespace } = config;
  return {
    client: () => new StoreClient(endpoint, tls),
    headers: token === "" ? {} : { "X-Consul-Token": token },
    query: { dc: datacenter, ns: namespace },
    indexField: "X-Consul-Index",
    listPath: "/v1/catalog/services",
    listed: (document) => {
      if (typeof document !== "object" || document === null || Array.isArray(document))
        throw new Error("/v1/catalog/services: the response is no map");
      return Object.entries(document).map(([name, tags]) => ({
        scope: name,
        name,
        namespace: "",
        tags: textsOf(tags),
      }));
    },
    // The health of all, without what changes at each check.
    beside: {
      path: "/v1/health/state/any",
      query: { filter: 'Status != "passing"' },
      stateOf: (document) =>
        objectsOf(document, "/v1/health/state/any")
          .map(({ Node, CheckID, ServiceID, Status }) => JSON.stringify([Node, CheckID, ServiceID, Status]))
          .sort()
          .join("\n"),
    },
    instancesPath: ({ name }) => ({ path: `/v1/health/service/${encodeURIComponent(name)}`, query: { passing: "1" } }),
    instances: (document, { name }) =>
      objectsOf(document, `/v1/health/service/${name}`).flatMap((entry) => {
        const [node, service] = [membersOf(entry.Node), membersOf(entry.Service)];
        // Proxies of a mesh have the tags of their service, and speak to one another alone.
        if (textOf(service.Kind) !== "") return [];
        return [
          {
            id: `${textOf(node.Node)} ${textOf(service.ID)}`,
            name,
            scope: name,
            since: orderText(service.CreateIndex),
            labels: tagLabels(service.Tags),
            addresses: addressesOf(textOf(service.Address) || textOf(node.Address)),
            ports: registeredPorts(service.Port),
          },
        ];
      }),
    mayHaveRoutes: ({ tags }) => mayBeExposed(tags, config),
    hasRoutes: (one) => hasRoutes(one, config),
  };
}
