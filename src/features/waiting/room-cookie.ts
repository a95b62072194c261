import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { networkAddress } from "../../core/ip-address.ts";
import { countedAddress } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { requestScheme } from "../../message/request-scheme.ts";
import { CookieValues } from "../../proto/semantics/cookie-values.ts";

/** A visitor by its cookie. */
export interface Visitor {
  /** Who it is: any number but 0. */
  readonly tag: number;
  readonly isIn: boolean;
  /** The number of its place, or its ticket. */
  readonly number: number;
  /** Seconds since the epoch. */
  readonly issued: number;
}

/** Cookies of one name that edge reads: another site of the domain may have set further ones. */
const MAX_TRIED = 4;
const MAX_CHARS = 80;
/** 132 bits. */
const MAC_CHARS = 22;
const TEXT = /^([iw])\.(-?[0-9a-z]{1,7})\.(-?[0-9a-z]{1,7})\.([0-9a-z]{1,8})\.[A-Za-z0-9_-]{22}$/;
const NAME_START = "edge_room_";
const CLOCK_SKEW_SECONDS = 30;

/**
 * The cookies of one room: signed texts that name a visitor and its place. They are worth something in this room, and to the client's network, alone:
 * a copy in another network is none, and a copy in the same is the same visitor. docs/waiting-room.md#cookies
 */
export class RoomCookies {
  readonly name: string;
  private readonly key: string;
  private readonly values: CookieValues;

  /**
   * @param secret what all that serve the room have in common
   * @param room tells it from all others
   */
  constructor(secret: string, room: string) {
    this.key = createHmac("sha256", secret).update(`edge waiting room\n${room}`).digest("base64url");
    this.name = NAME_START + createHash("sha256").update(room).digest("hex").slice(0, 8);
    this.values = new CookieValues(this.name);
  }

  /** The visitor of a request; null without a cookie that is valid, however old. @param now seconds since the epoch */
  visitorOf(ex: Exchange, now: number): Visitor | null {
    const { headers } = ex.request;
    if (headers.find(HeaderId.Cookie) < 0) return null;
    const { values } = this;
    values.begin(headers);
    for (let tried = 0; tried < MAX_TRIED && values.next(); tried++) {
      if (values.to - values.from > MAX_CHARS) continue;
      const text = Buffer.from(headers.bytes.subarray(values.from, values.to)).latin1Slice();
      const visitor = this.read(text, ex);
      if (visitor !== null && visitor.issued <= now + CLOCK_SKEW_SECONDS) return visitor;
    }
    return null;
  }

  /** The value of Set-Cookie. @param lifeSeconds until a browser forgets it */
  setCookie(visitor: Visitor, ex: Exchange, lifeSeconds: number): string {
    const secure = requestScheme(ex) === "https" ? "; Secure" : "";
    return `${this.name}=${this.textOf(visitor, ex)}; Path=/; Max-Age=${lifeSeconds}; HttpOnly; SameSite=Lax${secure}`;
  }

  private read(text: string, ex: Exchange): Visitor | null {
    const parts = TEXT.exec(text);
    if (parts === null) return null;
    const [, kind = "", tag = "", number = "", issued = ""] = parts;
    const visitor = {
      tag: Number.parseInt(tag, 36),
      isIn: kind === "i",
      number: Number.parseInt(number, 36),
      issued: Number.parseInt(issued, 36),
    };
    const expected = Buffer.from(this.textOf(visitor, ex));
    const found = Buffer.from(text);
    return found.length === expected.length && timingSafeEqual(found, expected) ? visitor : null;
  }

  private textOf({ tag, isIn, number, issued }: Visitor, ex: Exchange): string {
    const text = `${isIn ? "i" : "w"}.${tag.toString(36)}.${number.toString(36)}.${issued.toString(36)}`;
    const mac = createHmac("sha256", this.key)
      .update(`${text}\n${networkAddress(countedAddress(ex))}`)
      .digest("base64url");
    return `${text}.${mac.slice(0, MAC_CHARS)}`;
  }
}

/** No origin sees the cookies of rooms, which would let a client in elsewhere. */
export function dropRoomCookies({ headers }: RequestHead): void {
  headers.rewriteAll(HeaderId.Cookie, (text) => {
    if (!text.includes(NAME_START)) return text;
    const kept = text.split(";").filter((pair) => !pair.trimStart().startsWith(NAME_START));
    return kept.length === 0 ? null : kept.join(";").trim();
  });
}
