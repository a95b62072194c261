import { Byte, isOws } from "../../../core/bytes.ts";
import type { HeaderBlock } from "../../../message/header-block.ts";
import { HeaderId } from "../../../message/header-block.ts";
import type { RequestHead } from "../../../message/request-head.ts";

/** Characters of a session of auth.oidc in one cookie: browsers keep one of at most 4096 bytes, its name included. */
const MAX_SESSION_PART_CHARS = 3880;

/** A cookie of a request. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
}

/** What all cookies of `auth.oidc` are named by, whatever the scope, after `__Host-` if they have it. */
const FAMILY = "edge-oidc-";
/** Ensures that no other host has set the cookie, nor a page in clear text. docs/security.md#sessions */
const HOST_PREFIX = "__Host-";

/**
 * The cookies of one scope: one or two with the session, and one for each sign-in that is under way. Over TLS their names begin with
 * `__Host-`, and others are not looked at. The value of a session that has more than one cookie begins with their number and a dot.
 * docs/authentication.md#sessions
 */
export class SessionCookies {
  private readonly clear: string;
  private readonly secure: string;

  /** @param tag of the scope: letters and digits */
  constructor(tag: string) {
    this.clear = `${FAMILY}${tag}`;
    this.secure = `${HOST_PREFIX}${FAMILY}${tag}`;
  }

  /** The name of the session's first cookie; an attempt's has its id after it. */
  nameOf(isSecure: boolean, attempt = ""): string {
    const name = isSecure ? this.secure : this.clear;
    return attempt === "" ? name : `${name}-${attempt}`;
  }

  /** Whether a cookie of the scope is one with a session, or a part of one. */
  isSession({ name }: Cookie): boolean {
    return name === this.clear || name === this.secure || /\.\d$/.test(name);
  }

  /** What the cookies of a request have for sessions, each whole: more than one if another page has set one beside ours. */
  sessionsIn(cookies: readonly Cookie[], isSecure: boolean): readonly string[] {
    const first = this.nameOf(isSecure);
    const byName = new Map(cookies.toReversed().map(({ name, value }) => [name, value]));
    return cookies
      .filter(({ name }) => name === first)
      .map(({ value }) => {
        const parts = /^([2-9])\.(.*)$/.exec(value);
        if (parts === null) return value;
        const more = Array.from({ length: Number(parts[1]) - 1 }, (_, i) => `${first}.${i + 1}`);
        return [parts[2]!, ...more.map((name) => byName.get(name) ?? "")].join("");
      });
  }

  /** Values of Set-Cookie for a session. */
  setSession(value: string, isSecure: boolean, maxAgeS: number): readonly string[] {
    const name = this.nameOf(isSecure);
    const count = Math.ceil(value.length / MAX_SESSION_PART_CHARS);
    if (count === 1) return [setCookie(name, value, maxAgeS)];
    return Array.from({ length: count }, (_, i) => {
      const part = value.slice(i * MAX_SESSION_PART_CHARS, (i + 1) * MAX_SESSION_PART_CHARS);
      return i === 0 ? setCookie(name, `${count}.${part}`, maxAgeS) : setCookie(`${name}.${i}`, part, maxAgeS);
    });
  }

  /** The scope's cookies among those of a request. RFC 6265 §4.2.1; HTTP/2 may bring a Cookie field for each. */
  find(headers: HeaderBlock, isSecure: boolean): Cookie[] {
    const base = this.nameOf(isSecure);
    const found: Cookie[] = [];
    for (let i = headers.find(HeaderId.Cookie); i >= 0; i = headers.find(HeaderId.Cookie, i + 1)) {
      const text = headers.valueText(i);
      for (let at = text.indexOf(base); at >= 0; at = text.indexOf(base, at + base.length)) {
        // First, since one pair may have the name thousands of times.
        if (!beginsPair(text, at)) continue;
        const end = text.indexOf(";", at);
        const pair = text.slice(at, end < 0 ? text.length : end).trimEnd();
        const equals = pair.indexOf("=");
        const isWhole = equals === base.length || AFTER_BASE.includes(pair.charAt(base.length));
        if (equals > 0 && isWhole) found.push({ name: pair.slice(0, equals), value: pair.slice(equals + 1) });
      }
    }
    return found;
  }
}

/** Whether a pair begins at `at`: it is first, or after a semicolon and space. */
function beginsPair(text: string, at: number): boolean {
  let before = at - 1;
  while (before >= 0 && isOws(text.charCodeAt(before))) before--;
  return before < 0 || text.charCodeAt(before) === Byte.Semicolon;
}

/** A value of Set-Cookie. @param maxAgeS 0 takes the cookie away */
export function setCookie(name: string, value: string, maxAgeS: number): string {
  const secure = name.startsWith(HOST_PREFIX) ? "; Secure" : "";
  return `${name}=${value}; Path=/; Max-Age=${maxAgeS}; HttpOnly; SameSite=Lax${secure}`;
}

/**
 * Takes the cookies of `auth.oidc` off a request, those of all scopes: no origin learns how to come in as a user. The others stay as they
 * came. docs/security.md#sessions
 */
export function takeCookiesOff(head: RequestHead): void {
  const { headers } = head;
  if (headers.find(HeaderId.Cookie) < 0) return;
  headers.removeWhere((_, i) => headers.ids[i] === HeaderId.Cookie && isEmptied(headers, i));
}

/** Takes the cookies off one field. @returns whether nothing is left of it */
function isEmptied(headers: HeaderBlock, index: number): boolean {
  const from = headers.valueFrom(index);
  const to = headers.valueTo(index);
  const bytes = Buffer.from(headers.bytes.buffer, headers.bytes.byteOffset, to);
  let [out, kept] = [from, from];
  for (
    let at = bytes.indexOf(FAMILY_BYTES, from);
    at >= 0;
    at = bytes.indexOf(FAMILY_BYTES, at + FAMILY_BYTES.length)
  ) {
    const start = pairStart(bytes, from, at);
    if (start < kept) continue;
    bytes.copyWithin(out, kept, start);
    out += start - kept;
    const end = bytes.indexOf(Byte.Semicolon, at);
    kept = end < 0 ? to : end + 1;
    while (kept < to && isSeparator(bytes[kept]!)) kept++;
  }
  if (kept === from) return from === to;
  bytes.copyWithin(out, kept, to);
  out += to - kept;
  // After what was last there is a separator now.
  if (kept === to) while (out > from && isSeparator(bytes[out - 1]!)) out--;
  headers.endValue(index, out);
  return out === from;
}

/** Where the pair begins whose name holds what is at `at`; -1 if that is in another cookie's name or value. */
function pairStart(bytes: Buffer, from: number, at: number): number {
  const hasPrefix =
    at - from >= PREFIX_BYTES.length && bytes.subarray(at - PREFIX_BYTES.length, at).equals(PREFIX_BYTES);
  const start = hasPrefix ? at - PREFIX_BYTES.length : at;
  let before = start - 1;
  while (before >= from && isOws(bytes[before]!)) before--;
  return before < from || bytes[before] === Byte.Semicolon ? start : -1;
}

function isSeparator(byte: number): boolean {
  return byte === Byte.Semicolon || isOws(byte);
}

/** Before the id of an attempt, and before the number of a part. */
const AFTER_BASE = "-.";
const FAMILY_BYTES: Buffer = Buffer.from(FAMILY);
const PREFIX_BYTES: Buffer = Buffer.from(HOST_PREFIX);
