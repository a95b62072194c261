import type { ConsulConfig } from "../../settings.ts";
import { textOf } from "../docker/engine.ts";
import type { TraefikReader } from "../labels/label-routes.ts";
import { catalogKind } from "./catalog-kind.ts";
import type { CatalogReading } from "./catalog-watch.ts";
import { addressesOf, membersOf, objectsOf, orderText, registeredPorts, tagLabels, textsOf } from "./tags.ts";

/** Services of Consul as a source of routes. docs/providers.md#consul */
export function consulKind(folder: string, readTraefik: TraefikReader) {
  return catalogKind<ConsulConfig>(
    {
      source: "consul",
      provider: "consulcatalog",
      configOf: ({ providers: { consul } }) => consul,
      partsOf: ({ datacenter, namespace }) => [datacenter, namespace],
      catalogOf: consulCatalog,
    },
    folder,
    readTraefik,
  );
}

function consulCatalog({ token, datacenter, namespace }: ConsulConfig): CatalogReading {
  return {
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
  };
}
