import { Byte } from "../../../core/bytes.ts";
import type { HeaderBlock } from "../../../message/header-block.ts";
import { HeaderId } from "../../../message/header-block.ts";
import type { RequestHead } from "../../../message/request-head.ts";

/** A cookie of a request. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
}

/** What all cookies of `auth.oidc` are named by, whatever the scope, after `__Host-` where they have it. */
const FAMILY = "edge-oidc-";
/** Ensures that no other host has set the cookie, nor a page in clear text. docs/security.md#sessions */
const HOST_PREFIX = "__Host-";

/**
 * The cookies of one scope: one with the session, and one for each sign-in that is under way. Over TLS their names begin with
 * `__Host-`, and others are not looked at. docs/authentication.md#sessions
 */
export class SessionCookies {
  private readonly clear: string;
  private readonly secure: string;

  /** @param tag of the scope: letters and digits */
  constructor(tag: string) {
    this.clear = `${FAMILY}${tag}`;
    this.secure = `${HOST_PREFIX}${FAMILY}${tag}`;
  }

  /** The name of the session's cookie; an attempt's has its id after it. */
  nameOf(isSecure: boolean, attempt = ""): string {
    const name = isSecure ? this.secure : this.clear;
    return attempt === "" ? name : `${name}-${attempt}`;
  }

  /** The scope's cookies among those of a request. */
  find(headers: HeaderBlock, isSecure: boolean): Cookie[] {
    const base = this.nameOf(isSecure);
    const found: Cookie[] = [];
    for (let i = headers.find(HeaderId.Cookie); i >= 0; i = headers.find(HeaderId.Cookie, i + 1)) {
      if (!mayHold(headers, i)) continue;
      for (const pair of headers.valueText(i).split(";")) {
        const text = pair.trim();
        const end = text.indexOf("=");
        if (end < 0 || !text.startsWith(base)) continue;
        const name = text.slice(0, end);
        if (name === base || name.charAt(base.length) === "-") found.push({ name, value: text.slice(end + 1) });
      }
    }
    return found;
  }
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
  for (let i = headers.find(HeaderId.Cookie); i >= 0; i = headers.find(HeaderId.Cookie, i)) {
    if (mayHold(headers, i) && isEmptied(headers, i)) head.removeField(i);
    else i++;
  }
}

/** Takes the cookies off one field. @returns whether nothing is left of it */
function isEmptied(headers: HeaderBlock, index: number): boolean {
  const { bytes, spans } = headers;
  const from = spans[index * 4 + 2]!;
  const to = spans[index * 4 + 3]!;
  let at = from;
  let out = from;
  while (at < to) {
    let next = at;
    while (next < to && bytes[next] !== Byte.Semicolon) next++;
    while (next < to && (bytes[next] === Byte.Semicolon || isSpace(bytes[next]!))) next++;
    if (!isOwn(bytes, at, next)) {
      bytes.copyWithin(out, at, next);
      out += next - at;
    }
    at = next;
  }
  while (out > from && out < to && (bytes[out - 1] === Byte.Semicolon || isSpace(bytes[out - 1]!))) out--;
  spans[index * 4 + 3] = out;
  return out === from;
}

/** Whether a pair may be one of ours: most cookies are none. */
function isOwn(bytes: Uint8Array, from: number, to: number): boolean {
  let at = from;
  while (at < to && isSpace(bytes[at]!)) at++;
  return startsWith(bytes, at, to, FAMILY) || startsWith(bytes, at, to, HOST_PREFIX + FAMILY);
}

function mayHold(headers: HeaderBlock, index: number): boolean {
  const { bytes, spans } = headers;
  const from = spans[index * 4 + 2]!;
  const at = Buffer.from(bytes.buffer, bytes.byteOffset, spans[index * 4 + 3]!).indexOf(FAMILY, from, "latin1");
  return at >= 0;
}

function startsWith(bytes: Uint8Array, from: number, to: number, text: string): boolean {
  if (to - from < text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[from + i] !== text.charCodeAt(i)) return false;
  return true;
}

function isSpace(byte: number): boolean {
  return byte === Byte.Space || byte === Byte.Tab;
}
