import type { NomadConfig } from "../../settings.ts";
import { textOf } from "../docker/engine.ts";
import type { TraefikReader } from "../labels/label-routes.ts";
import { catalogKind } from "./catalog-kind.ts";
import type { CatalogReading } from "./catalog-watch.ts";
import { addressesOf, objectsOf, orderText, registeredPorts, tagLabels, textsOf } from "./tags.ts";

/** Services of Nomad as a source of routes. docs/providers.md#nomad */
export function nomadKind(folder: string, readTraefik: TraefikReader) {
  return catalogKind<NomadConfig>(
    {
      source: "nomad",
      provider: "nomad",
      configOf: ({ providers: { nomad } }) => nomad,
      partsOf: ({ region, namespace }) => [region, namespace],
      catalogOf: nomadCatalog,
    },
    folder,
    readTraefik,
  );
}

function nomadCatalog({ token, namespace, region }: NomadConfig): CatalogReading {
  return {
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
  };
}
