import { Fault } from "../../core/fault.ts";
import { subscriberOf } from "../../core/ip-address.ts";
import { countedAddress } from "../../message/client-peer.ts";
import { type Exchange, type Phase, Verdict } from "../../message/exchange.ts";
import { cookieFields } from "../../message/extra-fields.ts";
import { HeaderId } from "../../message/header-block.ts";
import { pageOf } from "../../message/page-part.ts";
import { Method } from "../../message/request-head.ts";
import { prefersHtml } from "../../proto/semantics/accept.ts";
import { routedPath } from "../../proto/target/routed-path.ts";
import { dropRoomCookies, type RoomCookies, type Visitor } from "./room-cookie.ts";
import { waitingResponse } from "./room-page.ts";
import type { RoomStanding } from "./room-table.ts";
import type { Room } from "./rooms.ts";

/** The room of a route. */
export interface RouteRoom {
  readonly room: Room;
  readonly cookies: RoomCookies;
  /** Whether a canonical path needs no place. */
  isOpen(path: string): boolean;
}

/** Seconds between two requests of a page that waits. */
const MIN_REFRESH = 5;
const MAX_REFRESH = 30;
/** A page asks so often, at least, before its visitor counts as gone. */
const ASKS = 3;

/** `waiting_room`: lets in as many visitors as the room holds; the others wait in the order in which they came. docs/waiting-room.md */
export class WaitingPhase implements Phase {
  readonly name = "waitingRoom";
  private readonly rooms: readonly (RouteRoom | null)[];
  private readonly clock: { readonly nowMs: number };

  /**
   * @param rooms by the numbers of their routes
   * @param clock milliseconds since the epoch
   */
  constructor(rooms: readonly (RouteRoom | null)[], clock: WaitingPhase["clock"]) {
    this.rooms = rooms;
    this.clock = clock;
  }

  run(ex: Exchange): Verdict {
    const found = this.rooms[ex.route!.index]!;
    const verdict = found === null || isExempt(ex, found) ? Verdict.Next : this.judge(ex, found);
    if (verdict === Verdict.Next) dropRoomCookies(ex.request);
    return verdict;
  }

  private judge(ex: Exchange, { room, cookies }: RouteRoom): Verdict {
    const now = Math.floor(this.clock.nowMs / 1000);
    const visitor = cookies.visitorOf(ex, now);
    const page = pageOf(ex);
    if (page !== null) return this.judgePart(ex, page, visitor);
    const known = visitor === null ? null : room.find(visitor);
    const tag = known === null ? newTag() : visitor!.tag;
    const { session, patience } = room.bounds;
    const returns = visitor?.isIn === true && now - visitor.issued <= session;
    const standing = known ?? room.enter(tag, subscriberOf(countedAddress(ex)), returns);
    const cookie = (own: Pick<Visitor, "isIn" | "number">, life: number): string =>
      known !== null && visitor!.isIn === own.isIn && now - visitor!.issued < life / 2
        ? ""
        : cookies.setCookie({ ...own, tag, issued: now }, ex, 2 * life);
    if (standing.is === "in") {
      const value = cookie({ isIn: true, number: standing.place }, session);
      if (value !== "") ex.response.addExtra(cookieFields(value));
      return Verdict.Next;
    }
    const value = standing.is === "waiting" ? cookie({ isIn: false, number: standing.ticket }, patience) : "";
    refuse(ex, room, standing, value);
    return Verdict.Done;
  }

  /** A part of a page takes no place of its own: the client gets no cookie with it. */
  private judgePart(ex: Exchange, page: Exchange, visitor: Visitor | null): Verdict {
    const own = this.rooms[ex.route!.index]!;
    const hasPlace = visitor?.isIn === true && own.room.find(visitor) !== null;
    if (hasPlace || this.isIn(page, own)) return Verdict.Next;
    ex.sink.abort(ex, Fault.WaitingRoom);
    return Verdict.Done;
  }

  /** Whether a page, or the page that it is a part of, has come through a room. */
  private isIn(page: Exchange, room: RouteRoom): boolean {
    for (let at: Exchange | null = page; at !== null; at = pageOf(at))
      if (this.rooms[at.route!.index] === room && !isExempt(at, room)) return true;
    return false;
  }
}

/** A request that no visitor sends for itself, or for a path that needs no place. */
function isExempt(ex: Exchange, { isOpen }: RouteRoom): boolean {
  const { request } = ex;
  // Browsers send no cookies with it. Fetch §4.8
  if (request.method === Method.Options && request.headers.find(HeaderId.AccessControlRequestMethod) >= 0) return true;
  const path = routedPath(request, ex.canonicalPath);
  // An origin that decodes more than once might find another path.
  return !path.includes("%") && isOpen(path);
}

function refuse(ex: Exchange, room: Room, standing: Exclude<RoomStanding, { is: "in" }>, cookie: string): void {
  const { request } = ex;
  const turn = standing.is === "waiting" ? standing.turn : 0;
  const waitSeconds = turn > 0 ? room.waitOf(turn) : 0;
  const longest = Math.min(MAX_REFRESH, Math.floor(room.bounds.patience / ASKS));
  ex.fault = Fault.WaitingRoom;
  ex.detail = turn > 0 ? String(turn) : "";
  const facts = {
    cause: standing.is === "waiting" ? standing.is : standing.cause,
    turn,
    waitSeconds,
    refreshSeconds: Math.max(1, Math.min(Math.max(MIN_REFRESH, Math.round(waitSeconds / 10)), longest)),
    requestId: ex.pipeline.nameOf(ex),
    cookie,
    sends: request.method !== Method.Get && request.method !== Method.Head,
  };
  ex.sink.fixed(ex, waitingResponse(facts, !request.upgrade && prefersHtml(request.headers)));
}

/** Any number but 0. */
function newTag(): number {
  return crypto.getRandomValues(tags)[0]! || 1;
}

const tags = new Int32Array(1);
