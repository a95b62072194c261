import { CHANGE_ROUTE, REPLACE_ROUTES, REVISION_FIELD, ROUTES_KEY, SET_FIELD } from "../routes-script.ts";
import type { SharedStore } from "../shared-store.ts";

/** The routes of the API in the store of a fleet. docs/fleet.md#routes-of-the-api */
export class FleetRoutes {
  private readonly store: SharedStore;

  constructor(store: SharedStore) {
    this.store = store;
  }

  async version(): Promise<{ readonly id: string; readonly revision: number }> {
    const found = (await this.store.call(ROUTES_KEY, "HMGET", SET_FIELD, REVISION_FIELD)) as readonly (string | null)[];
    return { id: found[0] ?? "", revision: Number(found[1] ?? 0) };
  }

  async all(): Promise<{
    readonly id: string;
    readonly revision: number;
    readonly texts: ReadonlyMap<string, string>;
  }> {
    const texts = pairsOf(await this.store.call(ROUTES_KEY, "HGETALL"));
    const [id = "", revision = "0"] = [SET_FIELD, REVISION_FIELD].map((field) => texts.get(field));
    for (const field of [SET_FIELD, REVISION_FIELD]) texts.delete(field);
    return { id, revision: Number(revision), texts };
  }

  async change(revision: number, name: string, text: string | null): Promise<number> {
    return Number(await this.store.evaluate(CHANGE_ROUTE, ROUTES_KEY, [String(revision), name, text ?? ""]));
  }

  async replace(id: string, revision: number, texts: ReadonlyMap<string, string>): Promise<void> {
    await this.store.evaluate(REPLACE_ROUTES, ROUTES_KEY, [String(revision), id, ...[...texts].flat()]);
  }
}

/** A hash, as the second or the third protocol gives it. */
function pairsOf(value: unknown): Map<string, string> {
  if (!Array.isArray(value)) return new Map(Object.entries((value ?? {}) as Record<string, string>));
  return new Map(value.flatMap((one, i) => (i % 2 === 0 ? [[String(one), String(value[i + 1])] as const] : [])));
}
