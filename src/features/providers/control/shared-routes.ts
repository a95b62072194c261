import { isRouteName, MAX_ROUTE_BYTES } from "../../../core/route-name.ts";
import type { ApiRoute, ApiSet } from "./api-routes.ts";
import { MAX_API_ROUTES } from "./api-routes.ts";

/** The routes of a fleet, in its store. */
export interface RouteStore {
  /** The id of the set and its revision; "" and 0 for a store without a set. */
  version(): Promise<{ readonly id: string; readonly revision: number }>;
  /** Texts by names, with the version that they are of. */
  all(): Promise<{ readonly id: string; readonly revision: number; readonly texts: ReadonlyMap<string, string> }>;
  /** Changes one route of the set with this revision. @param text null removes it @returns the new revision; 0 if the set is another one by now */
  change(revision: number, name: string, text: string | null): Promise<number>;
  /** Replaces a set of an earlier revision. */
  replace(id: string, revision: number, texts: ReadonlyMap<string, string>): Promise<void>;
}

/**
 * The routes for this gateway by now. A set of its own that is newer, as after the store was emptied, goes to the store; routes that this gateway
 * has had before it joined the fleet join them. Routes that name files stay with their gateway.
 * @returns null if nothing is to be changed
 */
export async function followed(store: RouteStore, own: ApiSet): Promise<ApiSet | null> {
  const { id, revision } = await store.version();
  if (revision === 0 || (id === own.id && revision < own.revision)) {
    const texts = new Map(own.routes.filter(isShared).map(({ name, text }) => [name, text]));
    if (texts.size === 0 && own.revision === 0) return null;
    const next = { ...own, id: own.id || crypto.randomUUID(), revision: Math.max(1, own.revision) };
    await store.replace(next.id, next.revision, texts);
    return next.id === own.id && next.revision === own.revision ? null : next;
  }
  if (id === own.id && revision === own.revision) return null;
  const found = await store.all();
  const texts = new Map(found.texts);
  let { revision: last } = found;
  if (found.id !== own.id)
    for (const { name, text } of own.routes.filter(isShared)) {
      if (texts.has(name)) continue;
      const next = await store.change(last, name, text);
      // Another gateway is changing the set: the next look takes it up.
      if (next === 0) return null;
      last = next;
      texts.set(name, text);
    }
  return { id: found.id, revision: last, routes: joined(own.routes, texts) };
}

/** Routes of the fleet, and those of this gateway alone whose names the fleet does not have. */
function joined(own: readonly ApiRoute[], texts: ReadonlyMap<string, string>): readonly ApiRoute[] {
  const shared = [...texts].filter(isUsable).map(([name, text]) => ({ name, text, isTrusted: false }));
  const alone = own.filter((route) => !isShared(route) && !texts.has(route.name));
  return [...shared.slice(0, MAX_API_ROUTES), ...alone].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function isShared({ isTrusted }: ApiRoute): boolean {
  return !isTrusted;
}

/** What programs beside edge have written to the store is no route. */
function isUsable([name, text]: readonly [string, string]): boolean {
  return isRouteName(name) && text.length <= MAX_ROUTE_BYTES;
}
