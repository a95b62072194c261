import { targetGate } from "./concurrency-gates.ts";
import { hasTargets, type RouteConfig } from "./route-config.ts";
import { routeTypeOf } from "./route-types.ts";
import type { RuntimeConfig } from "./runtime-config.ts";
import type { StreamConfig } from "./streams/stream-config.ts";
import type { UpstreamRouteConfig } from "./upstream/upstream-config.ts";

/**
 * What of a route or a stream can change while the rest of the configuration serves on: its targets, how they are tried, and the fields that it sets,
 * which handlers alone read. Streams have no fields.
 */
type LiveKeys = TargetKeys & Partial<Pick<UpstreamRouteConfig, "headers">>;
type TargetKeys = Pick<UpstreamRouteConfig, "targets" | "retryAttempts" | "timeouts">;

/** Keys that may differ: the live ones, and the place in a file, which moves if a list above it gets longer. */
const LIVE_KEYS: ReadonlySet<string> = new Set<keyof LiveKeys>(["targets", "retryAttempts", "timeouts", "headers"]);
const UNSERVED_KEYS: ReadonlySet<string> = new Set(["position"]);

/** New targets of a route or a stream. @typeParam Keys the live keys of both */
interface ChangedTargets<Keys = LiveKeys> {
  /** Its place in the configuration. */
  readonly index: number;
  readonly keys: Keys;
}

/** A configuration that differs from the one in use in targets alone. docs/providers.md#changes-of-targets */
export interface TargetChanges {
  readonly routes: readonly ChangedTargets[];
  readonly streams: readonly ChangedTargets<Pick<StreamConfig, keyof TargetKeys>>[];
}

/**
 * How a configuration differs from the one in use, if it differs in targets alone.
 * @returns null if anything else differs: the configuration is to be built anew
 */
export function targetChanges(before: RuntimeConfig, after: RuntimeConfig): TargetChanges | null {
  if (before.routes.length !== after.routes.length || before.streams.length !== after.streams.length) return null;
  const { routes: _, streams: __, ...sections } = after;
  if (!isAlike(before, sections)) return null;
  const routes = changesIn(before.routes, after.routes, isLiveRoute);
  const streams = routes === null ? null : changesIn(before.streams, after.streams, () => true);
  return routes === null || streams === null ? null : { routes, streams };
}

function changesIn<Owner extends RouteConfig | StreamConfig>(
  before: readonly Owner[],
  after: readonly Owner[],
  isLive: (before: Owner, after: Owner) => boolean,
): { readonly index: number; readonly keys: LiveKeys & Pick<StreamConfig, keyof TargetKeys> }[] | null {
  const changes: ReturnType<typeof changesIn> = [];
  for (const [index, one] of after.entries()) {
    const known = before[index]!;
    if (one === known) continue;
    const keys = changedKeys(known, one);
    if (keys.some((key) => !LIVE_KEYS.has(key) && !UNSERVED_KEYS.has(key))) return null;
    if (!keys.some((key) => LIVE_KEYS.has(key))) continue;
    if (!keys.some((key) => key === "targets" || key === "headers") || !isLive(known, one)) return null;
    const { targets, retryAttempts, timeouts, headers } = one as Owner & UpstreamRouteConfig;
    const ofTargets = { targets, retryAttempts, timeouts };
    changes.push({ index, keys: headers === undefined ? ofTargets : { ...ofTargets, headers } });
  }
  return changes;
}

/** Whether phases ask the same of both, and the slots of targets are the same. */
function isLiveRoute(before: RouteConfig, after: RouteConfig): boolean {
  if (!hasTargets(before) || !hasTargets(after)) return false;
  const shapes = [before, after].map((route) => routeTypeOf(route).shape(route));
  if (!Bun.deepEquals(shapes[0], shapes[1]) || !Bun.deepEquals(targetGate(before), targetGate(after))) return false;
  return isSame(before.headers, after.headers) || (isPlainlyEdited(before) && isPlainlyEdited(after));
}

/** Whether handlers alone read the fields that a route edits: phases read those with values of the request, and the cache goes by the fields of requests. */
function isPlainlyEdited({ headers, cache }: RouteConfig): boolean {
  const edits = [headers.request, headers.response].flatMap(({ set, add }) => [...set, ...add]);
  return !cache.enabled && edits.every(({ value }) => !/[{}]/.test(value));
}

/** Names of the keys in which two objects differ. */
function changedKeys(before: object, after: object): string[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const valueIn = (one: object, name: string): unknown => (one as Readonly<Record<string, unknown>>)[name];
  return [...names].filter((name) => !isSame(valueIn(before, name), valueIn(after, name)));
}

function isAlike(before: object, some: object): boolean {
  return Object.entries(some).every(([name, value]) =>
    isSame((before as Readonly<Record<string, unknown>>)[name], value),
  );
}

function isSame(one: unknown, other: unknown): boolean {
  return one === other || Bun.deepEquals(one, other);
}

/** A configuration with other targets. */
export function withTargets<Owner extends RouteConfig | StreamConfig>(
  owner: Owner,
  { keys }: ChangedTargets<Partial<LiveKeys> | Partial<Pick<StreamConfig, keyof TargetKeys>>>,
): Owner {
  return { ...owner, ...keys };
}
