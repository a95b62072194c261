import { deepFreeze } from "../config/deep-freeze.ts";
import { routeClaims } from "../routes/route-claims.ts";
import type { RouteConfig } from "../routes/route-config.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";
import type { BesideRoutes } from "./beside-routes.ts";
import type { JoinedRoutes, RoutePart } from "./joined-routes.ts";
import type { RouteFile } from "./route-folder.ts";
import type { SourceListener } from "./source-listeners.ts";

/** The sources of a reading beside its lists. A text is that of a file; null for none. */
export interface ReadingGround {
  readonly texts: readonly (string | null)[];
  readonly listeners: readonly SourceListener[];
}

/** The last reading of all lists, which the next one may continue. */
interface WholeReading {
  readonly ground: ReadingGround;
  readonly config: RuntimeConfig;
  readonly beside: readonly BesideRoutes[];
  readonly joined: JoinedRoutes;
  /** Reads a list as that reading has read it. */
  read(file: RouteFile, text: string): RoutePart;
  /** Notes faults of some routes beside all others. */
  judge(config: RuntimeConfig, joined: Pick<JoinedRoutes, "routes" | "places">): void;
}

/** A list in a reading. */
interface Place {
  file: RouteFile;
  part: RoutePart | null;
  /** The place of its first route among those of all lists. */
  start: number;
}

/** Reads lists of a cluster that have changed, and nothing else: the cost is that of their routes, however many others there are. */
export class RenewedReading {
  private readonly whole: WholeReading;
  private readonly shadowed: ReadonlySet<string>;
  private config: RuntimeConfig;
  /** In the order of the files; null until it is needed. */
  private places: readonly Place[] | null = null;

  constructor(whole: WholeReading) {
    this.whole = whole;
    this.config = whole.config;
    this.shadowed = new Set(whole.joined.shadowed.map(({ name }) => name));
  }

  /**
   * The configuration with the lists as they are now.
   * @param note takes each list that was read
   * @returns null if something else has changed, or if a change may concern other lists: all are to be read
   */
  next(
    ground: ReadingGround,
    files: readonly RouteFile[],
    note: (path: string, text: string, part: RoutePart) => void,
  ): RuntimeConfig | null {
    const places = this.placesNow();
    if (!isSameGround(ground, this.whole.ground) || files.length !== places.length) return null;
    const read: { readonly place: Place; readonly file: RouteFile; readonly text: string; readonly part: RoutePart }[] =
      [];
    for (const [i, file] of files.entries()) {
      const place = places[i]!;
      if (file === place.file || isSameFile(file, place.file)) continue;
      const { bytes, path } = file.file;
      if (file.source !== "kubernetes" || bytes === undefined || path !== place.file.file.path) return null;
      const text = Buffer.from(bytes).toString();
      const part = this.whole.read(file, text);
      if (!this.isAlike(place, part)) return null;
      read.push({ place, file, text, part });
    }
    if (read.length === 0) return this.config;
    const routes = [...this.config.routes];
    for (const { place, part } of read)
      for (const [i, route] of part.entries.routes.entries()) routes[place.start + i] = route!;
    const config = { ...this.config, routes };
    this.whole.judge(config, {
      routes: read.flatMap(({ part }) => part.entries.routes as readonly RouteConfig[]),
      places: read.flatMap(({ part }) => part.entries.routes.map((_, index) => ({ part, index }))),
    });
    if (read.some(({ part }) => part.log.faults.length > 0)) return null;
    for (const { place, file, text, part } of read) {
      note(file.file.path, text, part);
      Object.assign(place, { file, part });
    }
    // The list itself stays as it is: to freeze thousands of entries, and to read them then, costs more than all else here.
    for (const { part } of read) for (const route of part.entries.routes) deepFreeze(route);
    this.config = Object.freeze(config);
    return this.config;
  }

  /** Whether a list can take the place of another one, and no other list is concerned. */
  private isAlike({ part: before, file }: Place, after: RoutePart): boolean {
    if (before === null || after.log.faults.length > 0 || this.shadowed.has(file.file.name)) return false;
    const [olds, news] = [before.entries.routes, after.entries.routes];
    if ([...before.entries.streams, ...after.entries.streams].some((stream) => stream !== null)) return false;
    if (olds.length !== news.length) return false;
    return olds.every((old, i) => old !== null && news[i] !== null && isSamePlace(old, news[i]!));
  }

  private placesNow(): readonly Place[] {
    if (this.places !== null) return this.places;
    const { beside, joined } = this.whole;
    const starts = new Map<RoutePart, number>();
    for (const [at, { part }] of joined.places.entries()) if (!starts.has(part)) starts.set(part, at);
    this.places = beside.map(({ file, part, left }) => ({
      file,
      part: left === null && part !== null && starts.has(part) ? part : null,
      start: part === null ? -1 : (starts.get(part) ?? -1),
    }));
    return this.places;
  }
}

/** Whether two routes take the same requests from others. A redirect concerns the routes that it leads to. */
function isSamePlace(one: RouteConfig, other: RouteConfig): boolean {
  if ("to" in one || "to" in other || one.type !== other.type) return false;
  const [a, b] = [one, other].map((route) => routeClaims(route).map(({ key }) => key));
  return a!.length === b!.length && a!.every((key, i) => key === b![i]);
}

function isSameFile(one: RouteFile, other: RouteFile): boolean {
  const [a, b] = [one.file, other.file];
  return a.path === b.path && a.bytes !== undefined && b.bytes !== undefined && Buffer.compare(a.bytes, b.bytes) === 0;
}

function isSameGround(one: ReadingGround, other: ReadingGround): boolean {
  return (
    one.texts.every((text, i) => text === other.texts[i]) &&
    one.listeners.length === other.listeners.length &&
    one.listeners.every((listener, i) => listener === other.listeners[i])
  );
}
