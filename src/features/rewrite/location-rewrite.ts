import { parseAuthority } from "../../config/origin.ts";

/** Changes the URLs to which servers send clients. docs/upstreams.md#redirects-and-cookies-of-a-server */
export interface LocationRewrite {
  /** The URL that a client gets in the place of one. */
  urlOf(url: string): string;
  /** The same for a value of Refresh. */
  refreshOf(value: string): string;
}

/** A beginning of URLs, and its replacement. */
interface LocationRule {
  readonly from: string;
  readonly to: string;
}

/** A server as redirects name it. */
interface NamedOrigin {
  readonly scheme: "http" | "https";
  readonly hostname: string;
  readonly port: number;
  /** The path that is put in front of those of requests; "" for none. */
  readonly basePath: string;
}

abstract class RefreshReader implements LocationRewrite {
  abstract urlOf(url: string): string;

  refreshOf(value: string): string {
    const found = REFRESH_URL.exec(value);
    if (found === null) return value;
    const before = found[0];
    const rest = value.slice(before.length);
    const quote = rest[0] === '"' || rest[0] === "'" ? rest[0] : "";
    const end = quote === "" ? -1 : rest.indexOf(quote, 1);
    const url = end < 0 ? rest.slice(quote.length) : rest.slice(1, end);
    const changed = this.urlOf(url);
    return changed === url ? value : before + quote + changed + rest.slice(quote.length + url.length);
  }
}

/** `rewrite_location: [{from, to}]`: the first rule that fits counts. */
export class RuledLocations extends RefreshReader {
  private readonly rules: readonly LocationRule[];

  constructor(rules: readonly LocationRule[]) {
    super();
    this.rules = rules;
  }

  override urlOf(url: string): string {
    for (const { from, to } of this.rules) {
      if (!url.startsWith(from)) continue;
      const rest = url.slice(from.length);
      // `http://app` is no beginning of `http://app.example.net`, nor of `http://app@example.net`.
      if (AUTHORITY_ALONE.test(from) && rest !== "" && !/^[/?#]/.test(rest)) continue;
      return joined(to, rest);
    }
    return url;
  }
}

/**
 * `rewrite_location: true`: URLs of the route's own servers become paths below the prefix that edge removes on the way up. What
 * leads elsewhere stays.
 */
export class OwnLocations extends RefreshReader {
  /** The paths in front of those of requests, by `scheme://host:port`. */
  private readonly basePaths: ReadonlyMap<string, readonly string[]>;
  private readonly allBasePaths: readonly string[];
  private readonly prefix: string;

  /** @param prefix that requests lose; "" if they keep their paths */
  constructor(origins: readonly NamedOrigin[], prefix: string) {
    super();
    const byOrigin = Map.groupBy(origins, originKey);
    this.basePaths = new Map(
      [...byOrigin].map(([key, all]) => [key, longestFirst(all.map(({ basePath }) => basePath))]),
    );
    this.allBasePaths = longestFirst(origins.map(({ basePath }) => basePath));
    this.prefix = prefix === "/" ? "" : prefix;
  }

  override urlOf(url: string): string {
    const start = SCHEME.exec(url);
    if (start !== null) {
      const rest = url.slice(start[0].length);
      const end = rest.search(/[/?#\\]/);
      const [authority, path] = end < 0 ? [rest, ""] : [rest.slice(0, end), rest.slice(end)];
      const basePaths = this.basePaths.get(keyOf(start[1]!.toLowerCase(), authority));
      return (basePaths === undefined ? null : this.below(basePaths, path)) ?? url;
    }
    if (!/^\/(?![/\\\t])/.test(url)) return url;
    // An application that knows its prefix says it.
    if (this.prefix !== "" && after(url, this.prefix) !== null) return url;
    return this.below(this.allBasePaths, url) ?? url;
  }

  /** The path at the gateway for a path at the server; null if the route does not reach it. */
  private below(basePaths: readonly string[], path: string): string | null {
    for (const basePath of basePaths) {
      const rest = after(path, basePath);
      if (rest !== null) return joined(this.prefix, rest.startsWith("/") ? rest : `/${rest}`);
    }
    return null;
  }
}

/** The rest behind a beginning that ends with a segment; null if it is none. */
function after(path: string, start: string): string | null {
  if (!path.startsWith(start)) return null;
  const rest = path.slice(start.length);
  return rest === "" || /^[/?#]/.test(rest) ? rest : null;
}

/** A new beginning before the rest. No path becomes a host by that: `//` begins with one, to browsers `/\` too. */
function joined(start: string, rest: string): string {
  if (AUTHORITY_ALONE.test(start) && rest !== "" && !/^[/?#]/.test(rest)) return `${start}/${rest}`;
  const whole = start + rest;
  return SECOND_SLASH.test(whole) ? `/${whole.replace(LEADING_SLASHES, "")}` : whole;
}

function originKey({ scheme, hostname, port }: Omit<NamedOrigin, "basePath">): string {
  return `${scheme}://${hostname}:${port}`;
}

/** The key of an authority in a URL; "" for none that a server has. */
function keyOf(scheme: string, authority: string): string {
  const parsed = parseAuthority(authority);
  if (typeof parsed === "string") return "";
  const port = parsed.port < 0 ? (scheme === "https" ? 443 : 80) : parsed.port;
  return originKey({ scheme: scheme === "https" ? "https" : "http", hostname: parsed.hostname, port });
}

function longestFirst(paths: readonly string[]): string[] {
  return [...new Set(paths)].sort((a, b) => b.length - a.length);
}

const SCHEME = /^(https?):\/\//i;
const AUTHORITY_ALONE = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*$/i;
/** Browsers pass over tabs. */
const SECOND_SLASH = /^[/\\]\t*[/\\]/;
const LEADING_SLASHES = /^[/\\\t]+/;
const REFRESH_URL = /^[^;,]*[;,]\s*url\s*=\s*/i;
