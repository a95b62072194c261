import { readRedirectList } from "../features/answer/redirect-list.ts";
import type { ListReader } from "../features/lists/list-notes.ts";
import type { ListPurpose, ListUse } from "../features/lists/list-tables.ts";
import { redirectListOf } from "./route-config.ts";
import type { RuntimeConfig } from "./runtime-config.ts";

/** What reads the lists of each kind. */
export const LIST_READERS: Readonly<Record<ListPurpose, ListReader>> = {
  redirects: readRedirectList,
};

/** The lists that a configuration uses. */
export function listUses({ routes }: RuntimeConfig): readonly ListUse[] {
  return routes.map(redirectListOf).flatMap((file) => (file === "" ? [] : [{ kind: "redirects", file }]));
}
