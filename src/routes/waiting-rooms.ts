import { pathTest } from "../core/path-pattern.ts";
import { RoomCookies } from "../features/waiting/room-cookie.ts";
import { type RouteRoom, WaitingPhase } from "../features/waiting/room-phase.ts";
import { type RoomInit, Rooms } from "../features/waiting/rooms.ts";
import { shareOfAddress } from "../features/waiting/settings.ts";
import type { Phase } from "../message/exchange.ts";
import { labelOf } from "./route-base.ts";
import type { RouteConfig } from "./route-config.ts";
import { routeKey } from "./route-key.ts";

/** The rooms of routes. */
export function roomsIn(routes: readonly RouteConfig[]): readonly RoomInit[] {
  return routes.map(roomOf).filter((one) => one !== null);
}

/** Null without one. */
function roomOf(route: RouteConfig): RoomInit | null {
  const own = route.waitingRoom;
  if (own === null) return null;
  const bounds = {
    active: own.active,
    queue: own.queue,
    session: Math.ceil(own.sessionMs / 1000),
    patience: Math.ceil(own.patienceMs / 1000),
    perAddress: shareOfAddress(own),
  };
  return { key: routeKey(route), route: labelOf(route), bounds };
}

/** The rooms of a worker. @param clock which all threads share */
export function makeRooms(clock: { readonly nowMs: number }): Rooms {
  return new Rooms(clock, ({ routes }: { readonly routes: readonly RouteConfig[] }) => roomsIn(routes));
}

/**
 * The phase of waiting rooms; null if no route has any.
 * @param routes by their numbers; null for those of the gateway's own
 * @param clock milliseconds since the epoch
 * @param cookieKey signs cookies if the configuration has no secret
 */
export function waitingPhase(
  routes: readonly (RouteConfig | null)[],
  rooms: Rooms,
  clock: { readonly nowMs: number },
  cookieKey: string,
): Phase | null {
  const found = routes.map((route): RouteRoom | null => {
    const init = route === null ? null : roomOf(route);
    if (route === null || init === null) return null;
    const { exempt, secret } = route.waitingRoom!;
    return {
      room: rooms.of(init),
      cookies: new RoomCookies(secret || cookieKey, init.key),
      isOpen: pathTest(exempt),
    };
  });
  return found.some((one) => one !== null) ? new WaitingPhase(found, clock) : null;
}
