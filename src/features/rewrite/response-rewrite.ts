import { latin1 } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { SetCookie } from "../../proto/semantics/set-cookie.ts";
import type { LocationRewrite } from "./location-rewrite.ts";

/** `rewrite_cookies`: docs/upstreams.md#redirects-and-cookies-of-a-server */
interface CookieRewrite {
  /** Beginnings of paths, each with its replacement; the first that fits counts. */
  readonly path: readonly (readonly [string, string])[];
  /** Domains, or `*` for every one, each with the new one; `off` takes the attribute away. */
  readonly domain: readonly (readonly [string, string])[];
  /** Whether the attribute is there; null leaves it as it is. */
  readonly secure: boolean | null;
  readonly httpOnly: boolean | null;
  /** "" leaves it as it is. */
  readonly sameSite: "strict" | "lax" | "none" | "off" | "";
}

/** What a route changes in the redirects and cookies of its servers. */
export class ResponseRewrite {
  private readonly location: LocationRewrite | null;
  private readonly cookies: CookieRewrite | null;

  constructor(location: LocationRewrite | null, cookies: CookieRewrite | null) {
    this.location = location;
    this.cookies = cookies;
  }

  /** Changes the fields of a response. */
  apply(headers: HeaderBlock): void {
    const { location, cookies } = this;
    if (location !== null) {
      headers.rewriteAll(HeaderId.Location, (url) => location.urlOf(url));
      headers.rewriteNamed(REFRESH, (value) => location.refreshOf(value));
    }
    if (cookies !== null) headers.rewriteAll(HeaderId.SetCookie, (field) => rewrittenCookie(field, cookies));
  }
}

/** A Set-Cookie field as a route changes it. */
function rewrittenCookie(field: string, to: CookieRewrite): string {
  const cookie = new SetCookie(field);
  const before = cookie.toString();
  // Browsers refuse a cookie whose name promises what its attributes do not hold.
  const isHostOnly = /^__host-/i.test(cookie.name);
  if (!isHostOnly) {
    cookie.change("path", (path) => pathOf(path, to.path));
    cookie.change("domain", (domain) => domainOf(domain, to.domain));
  }
  if (to.secure === true) cookie.put("Secure", "Secure");
  if (to.secure === false && !isHostOnly && !/^__secure-/i.test(cookie.name)) cookie.put("Secure", null);
  if (to.httpOnly !== null) cookie.put("HttpOnly", to.httpOnly ? "HttpOnly" : null);
  if (to.sameSite !== "") cookie.put("SameSite", SAME_SITE[to.sameSite]);
  const after = cookie.toString();
  return after === before ? field : after;
}

function pathOf(path: string, rules: CookieRewrite["path"]): string {
  for (const [from, to] of rules) {
    if (!path.startsWith(from)) continue;
    const rest = path.slice(from.length);
    // `/app` is no beginning of `/application`.
    if (rest !== "" && !from.endsWith("/") && !rest.startsWith("/")) continue;
    if (to.endsWith("/")) return to + rest.replace(/^\/+/, "");
    return rest === "" || rest.startsWith("/") ? to + rest : `${to}/${rest}`;
  }
  return path;
}

function domainOf(domain: string, rules: CookieRewrite["domain"]): string | null {
  const found = withoutDot(domain);
  for (const [from, to] of rules) if (from === "*" || withoutDot(from) === found) return to === "off" ? null : to;
  return domain;
}

function withoutDot(domain: string): string {
  return domain.replace(/^\./, "").toLowerCase();
}

const REFRESH = latin1("refresh");
const SAME_SITE = { strict: "SameSite=Strict", lax: "SameSite=Lax", none: "SameSite=None", off: null } as const;
