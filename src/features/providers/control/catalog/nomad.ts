import type { NomadConfig } from "../../settings.ts";
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
  objectsOf,
  orderText,
  registeredPorts,
  tagLabels,
  textsOf,
} from "./tags.ts";

/** Services of Nomad as a source of routes. docs/providers.md#nomad */
export function nomadKind(folder: string, readTraefik: TraefikReader): SourceKind<Labelled, Instance> {
  return {
    source: "nomad",
    part: "nomad-instances",
    lists: new LabelLists<Labelled>({
      source: "nomad",
      folder,
      readTraefik,
      provider: "nomad",
      refusedAddress,
      hostsOf: (scope, { hosts }) => hostBound(scope, hosts),
    }),
    configOf: ({ providers: { nomad } }) => (nomad === null ? null : { ...nomad, network: "" }),
    placeOf: ({ endpoint, region, namespace }) => [endpoint, region, namespace].filter((part) => part !== "").join(" "),
    watch: (config, ports, before) => new CatalogWatch(nomadCatalog(config), ports, before),
    isItem: isInstance,
  };
}

type Labelled = NomadConfig & { readonly network: string };

function nomadCatalog(config: Labelled): Catalog {
  const { endpoint, tls, token, namespace, region } = config;
  return {
    client: () => new StoreClient(endpoint, tls),
    headers: token === "" ? {} : { "X-Nomad-Token": token },
    query: { namespace, region },
    indexField: "X-Nomad-Index",
    listPath: "/v1/services",
    listed: (document) =>
      objectsOf(document, "/v1/services").flatMap(({ Namespace, Services }) =>
        objectsOf(Services ?? [], "/v1/services").map(({ ServiceName, Tags }) => {
          const name = textOf(ServiceName);
          // With one namespace alone, its name says nothing.
          const scope = namespace === "*" ? `${textOf(Namespace)}/${name}` : name;
          return { scope, name, namespace: textOf(Namespace) || namespace, tags: textsOf(Tags) };
        }),
      ),
    instancesPath: ({ name, namespace: of }) => ({
      path: `/v1/service/${encodeURIComponent(name)}`,
      query: { namespace: of },
    }),
    instances: (document, { name, scope }) =>
      objectsOf(document, `/v1/service/${name}`).map(({ ID, Tags, Address, Port, CreateIndex }) => ({
        id: textOf(ID),
        name,
        scope,
        since: orderText(CreateIndex),
        labels: tagLabels(Tags),
        addresses: addressesOf(textOf(Address)),
        ports: registeredPorts(Port),
      })),
    mayHaveRoutes: ({ tags }) => mayBeExposed(tags, config),
    hasRoutes: (one) => hasRoutes(one, config),
  };
}
