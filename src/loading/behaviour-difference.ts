import { MASK } from "../core/secret-name.ts";
import { isObject } from "../core/value-kind.ts";
import { listRoute, listStream } from "../routes/route-listing.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import { configFile } from "../settings/config-settings.ts";

/** A key whose value differs. */
export interface KeyChange {
  /** Its path within the route, or in config.yaml. */
  readonly key: string;
  /** Absent for a new key; of a list, the removed members. */
  readonly before?: unknown;
  /** Absent for a removed key; of a list, the added members. */
  readonly after?: unknown;
}

/** A route or a stream that differs. */
interface EntryChange {
  readonly change: "added" | "removed" | "changed" | "moved";
  readonly kind: "route" | "stream";
  /** The type, the host, and the path. */
  readonly name: string;
  readonly type: string;
  readonly hosts: readonly string[];
  readonly path: string;
  /** The changed keys; of an added or removed entry, the targets. */
  readonly keys: readonly KeyChange[];
}

/** How two configurations differ in behaviour. */
export interface BehaviourDifference {
  readonly routes: readonly EntryChange[];
  readonly settings: readonly KeyChange[];
  /** So many more changes are not listed. */
  readonly omitted: number;
}

/**
 * How the gateway would behave differently with another configuration. Both have every default filled in, so the way they are written makes no
 * difference. Secrets are masked; a changed secret is named. docs/operations.md#a-reload-tried-first
 */
export function behaviourDifference(before: RuntimeConfig, after: RuntimeConfig): BehaviourDifference {
  const routes = [...entryChanges(entriesOf(before), entriesOf(after))];
  const settings = settingChanges(before, after);
  const omitted = Math.max(0, routes.length - MAX_CHANGES) + Math.max(0, settings.length - MAX_CHANGES);
  return { routes: routes.slice(0, MAX_CHANGES), settings: settings.slice(0, MAX_CHANGES), omitted };
}

type Listed = Readonly<Record<string, unknown>>;

/** A route or stream with what tells it apart. */
interface Entry {
  readonly id: string;
  readonly at: Pick<EntryChange, "kind" | "name" | "type" | "hosts" | "path">;
  /** Whether the order among others counts: of those with the same place, and of those with an expression. */
  readonly contest: string;
  readonly source: object;
  list(): Listed;
}

function entriesOf({ routes, streams }: RuntimeConfig): Map<string, Entry> {
  const found = new Map<string, Entry>();
  const add = (entry: Entry): void => {
    let { id } = entry;
    for (let i = 2; found.has(id); i++) id = `${entry.id} #${i}`;
    found.set(id, { ...entry, id });
  };
  for (const route of routes) {
    const { type, hosts, prefix, path, match } = route;
    const regex = "regex" in route ? String(route.regex) : "";
    const where = path || prefix || regex;
    const shown = [...hosts.slice(0, MAX_HOSTS), ...(hosts.length > MAX_HOSTS ? ["…"] : [])].join(", ");
    const place = JSON.stringify([hosts, path, prefix, regex]);
    const at = {
      kind: "route",
      name: `${type} ${shown === "" ? "" : `${shown} `}${where}`,
      type,
      hosts,
      path: where,
    } as const;
    const contest = regex === "" ? place : "regex";
    add({
      id: `${place} ${JSON.stringify(match)}`,
      at,
      contest,
      source: route,
      list: () => listRoute(route) as Listed,
    });
  }
  for (const stream of streams) {
    const listed = listStream(stream) as Listed;
    const { type } = stream;
    const where = String(listed.listen ?? "");
    const names = [listed.host ?? []].flat().map(String);
    const at = { kind: "stream", name: [type, ...names, where].join(" "), type, hosts: names, path: where } as const;
    add({ id: at.name, at, contest: "", source: stream, list: () => listed });
  }
  return found;
}

function* entryChanges(before: ReadonlyMap<string, Entry>, after: ReadonlyMap<string, Entry>): Generator<EntryChange> {
  for (const [id, { at, list }] of after)
    if (!before.has(id)) yield { change: "added", ...at, keys: targetsOf(list()) };
  for (const [id, { at, list }] of before)
    if (!after.has(id))
      yield {
        change: "removed",
        ...at,
        keys: targetsOf(list()).map(({ key, after: gone }) => ({ key, before: gone })),
      };
  for (const [id, now] of after) {
    const was = before.get(id);
    if (was === undefined || Bun.deepEquals(was.source, now.source)) continue;
    const keys = keyChanges(was.list(), now.list(), "");
    yield { change: "changed", ...now.at, keys: keys.length > 0 ? keys : hiddenChanges(was.source, now.source, "") };
  }
  const moved = movedOf(before, after);
  for (const { at } of moved) yield { change: "moved", ...at, keys: [] };
}

/** Routes that stand in another order among routes of the same place, of which the first to take a request wins. */
function movedOf(before: ReadonlyMap<string, Entry>, after: ReadonlyMap<string, Entry>): Entry[] {
  const orders = (from: ReadonlyMap<string, Entry>, other: ReadonlyMap<string, Entry>): Map<string, Entry[]> =>
    Map.groupBy(
      [...from.values()].filter(({ id, contest }) => contest !== "" && other.has(id)),
      ({ contest }) => contest,
    );
  const was = orders(before, after);
  return [...orders(after, before)].flatMap(([contest, now]) =>
    now.filter(({ id }, i) => now.length > 1 && was.get(contest)?.[i]?.id !== id),
  );
}

function targetsOf(listed: Listed): KeyChange[] {
  return TARGET_KEYS.flatMap((key) => {
    const value = listed[key];
    return value === undefined || value === "" || (Array.isArray(value) && value.length === 0)
      ? []
      : [{ key, after: value }];
  });
}

function settingChanges(before: RuntimeConfig, after: RuntimeConfig): KeyChange[] {
  const found = keyChanges(configFile.write(before) as Listed, configFile.write(after) as Listed, "");
  const sections = Object.keys(after).filter(
    (name) => name !== "routes" && name !== "streams",
  ) as (keyof RuntimeConfig)[];
  const hidden = sections.flatMap((name) => {
    const section = snake(name);
    if (found.some(({ key }) => key === section || key.startsWith(`${section}.`))) return [];
    return hiddenChanges(before[name] as object, after[name] as object, `${section}.`);
  });
  return [...found, ...hidden];
}

/** Differences that no listing shows: secrets, and the content of files. */
function hiddenChanges(before: object, after: object, prefix: string): KeyChange[] {
  if (typeof before !== "object" || before === null || Bun.deepEquals(before, after)) return [];
  const [was, now] = [before as Listed, after as Listed];
  return Object.keys(now)
    .filter((key) => !Bun.deepEquals(was[key], now[key]))
    .map((key) => ({ key: `${prefix}${snake(key)}`, before: MASK, after: MASK }));
}

function keyChanges(before: unknown, after: unknown, path: string): KeyChange[] {
  if (Bun.deepEquals(before, after)) return [];
  if (isObject(before) && isObject(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => keyChanges(before[name], after[name], path === "" ? name : `${path}.${name}`));
  }
  if (Array.isArray(before) && Array.isArray(after)) {
    const [was, now] = [before.map((one) => JSON.stringify(one)), after.map((one) => JSON.stringify(one))];
    const [gone, come] = [
      before.filter((_, i) => !now.includes(was[i]!)),
      after.filter((_, i) => !was.includes(now[i]!)),
    ];
    if (gone.length + come.length > 0)
      return [{ key: path, ...(gone.length > 0 ? { before: gone } : {}), ...(come.length > 0 ? { after: come } : {}) }];
  }
  return [{ key: path, ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
}

/** A field's name as the key of a file. */
function snake(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const TARGET_KEYS = ["target", "targets", "root", "to", "status"];
const MAX_HOSTS = 3;
/** Of routes, and of settings. */
const MAX_CHANGES = 1000;
