import { readRedirectList } from "../features/answer/redirect-list.ts";
import { readKeyFile } from "../features/auth/api-key/key-file.ts";
import type { ListPurpose, ListUse } from "../features/lists/list-tables.ts";
import { readMapList } from "../features/maps/map-list.ts";
import { redirectListOf, upstreamRoutes } from "./route-config.ts";
import type { RuntimeConfig } from "./runtime-config.ts";

/** What reads the lists of each kind. */
export const LIST_READERS: Readonly<Record<ListPurpose, typeof readMapList>> = {
  redirects: readRedirectList,
  map: readMapList,
  keys: readKeyFile,
};

/** The lists that a configuration uses. */
export function listUses({ routes, maps, server, internalApi }: RuntimeConfig): readonly ListUse[] {
  const redirects = routes.map(redirectListOf).map((file): ListUse => ({ kind: "redirects", file }));
  const auths = new Set([server.auth, internalApi.auth, ...routes.map(({ auth }) => auth)]);
  const keys = [...auths].flatMap(({ methods }) =>
    methods.flatMap((one): ListUse[] => (one.key === "api_key" ? [{ kind: "keys", file: one.config.keysFile }] : [])),
  );
  return [...redirects, ...keys, ...maps.map(({ file }): ListUse => ({ kind: "map", file }))].filter(
    ({ file }) => file !== "",
  );
}

/** Whether a route takes its targets from a list: then new values of it are for a reload to declare. */
export function hasTargetsOf({ kind, file }: ListUse, { maps, routes }: RuntimeConfig): boolean {
  if (kind !== "map") return false;
  const names = maps.filter((map) => map.file === file).map(({ name }) => name);
  return upstreamRoutes(routes).some(({ targetMap }) => targetMap !== null && names.includes(targetMap.name));
}

/** The lines of a list that are left out, the first of them first. */
interface ReadFaults {
  readonly faults: readonly { readonly line: number; readonly message: string }[];
}

/** Why a list whose file has changed may not be used, or "": a program may rely on a key that is left out. */
export function listRefusal({ kind }: ListUse, { faults: [first] }: ReadFaults): string {
  return kind === "keys" && first !== undefined ? `line ${first.line}: ${first.message}` : "";
}
