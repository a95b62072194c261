import { FOREIGN_ROUTE_KEYS } from "./foreign-names.ts";
import { exactPath, headerName, headerValue, pathPrefix, routeMethod } from "./http-syntax.ts";
import {
  type Entries,
  list,
  must,
  or,
  orElse,
  type Piece,
  pairs,
  piece,
  type Section,
  section,
  switchOr,
  Wrong,
} from "./piece.ts";
import { ipRules, rateLimit } from "./policy-settings.ts";
import { chunkedMode, duration, flag, integer, size, text, textLike, word } from "./scalars.ts";
import { upstreamTls } from "./upstream-tls.ts";

/** What one entry of routes.yaml gives, by its type. */
export type StaticEntry = Section<typeof staticEntries>;
export type UpstreamEntry = Section<typeof upstreamEntries>;

const headerEdits = section({
  set: pairs(headerValues(), "Name: value"),
  add: pairs(headerValues(), "Name: value"),
  remove: list(headerName(), "header names", true),
});

const shared = {
  type: orElse(word("static", "upstream"), ""),
  prefix: orElse(pathPrefix(), ""),
  path: orElse(exactPath(), ""),
  host: list(text("a host name"), "host names", true),
  inbound_chunked_mode: or(chunkedMode(), ""),
  max_body_bytes: or(size(0), 0),
  // Absent or `true` follows the server, `false` keeps this route's answers out of the cache.
  cache: switchOr(
    section({ enabled: or(flag(), true), default_ttl: orElse(duration(0, Number.MAX_SAFE_INTEGER), null) }),
  ),
  // Absent takes the server's; the resolution asks the raw entry.
  rate_limit: rateLimit,
  ip_rules: ipRules,
  headers: section({ request: headerEdits, response: headerEdits }),
} satisfies Entries;

const staticEntries = {
  ...shared,
  dir: orElse(text("a folder name"), ""),
  spa: or(flag(), false),
  fallback: or(textLike(/^[^\0\\]*$/, "a file name"), ""),
  cache_control: or(headerValue(), ""),
} satisfies Entries;

const target = {
  url: must(text("a server address"), "the address of a server, such as http://127.0.0.1:9001"),
  weight: or(integer(0, 1_000_000_000), 1),
  backup: or(flag(), false),
} satisfies Entries;

const upstreamEntries = {
  ...shared,
  methods: list(routeMethod(), "methods", true),
  target: orElse(text("a server address"), ""),
  targets: list(section(target, {}, new Map(), { shorthand: "url" }), "targets"),
  load_balancing: section({
    policy: or(
      word("round_robin", "random", "least_conn", "p2c", "ip_hash", "uri_hash", "header", "cookie"),
      "round_robin",
    ),
    header: orElse(headerName(), ""),
    cookie: orElse(headerName(), ""),
  }),
  health_check: section(
    {
      enabled: or(flag(), true),
      path: orElse(textLike(/^\/[\x21-\x7e]*$/, "a path such as /health"), ""),
      interval: or(duration(1), "10s"),
      timeout: or(duration(1), "2s"),
      healthy_threshold: or(integer(1, 1000), 2),
      unhealthy_threshold: or(integer(1, 1000), 3),
      expect_status: or(statusRange(), "200-399"),
    },
    { enabled: false },
    new Map(),
    { shorthand: "path" },
  ),
  circuit_breaker: section({
    enabled: or(flag(), true),
    failure_threshold: or(integer(1, 1_000_000), 5),
    open_duration: or(duration(1), "30s"),
    failure_statuses: list(integer(400, 599), "statuses, such as 503", true),
    slow_start: or(duration(0), 0),
  }),
  retries: section({ attempts: or(integer(0, 10), 1) }),
  timeouts: section({
    connect: orElse(duration(1), null),
    response_header: orElse(duration(1), null),
    idle: or(duration(0), "5m"),
    total: or(duration(0), 0),
  }),
  preserve_host: or(flag(), true),
  strip_prefix: or(flag(), true),
  tls: upstreamTls,
} satisfies Entries;

const ROUTE_MANUAL = { manual: "edge help routes" };
const staticOnly = Object.keys(staticEntries).filter((key) => !(key in upstreamEntries));
const upstreamOnly = Object.keys(upstreamEntries).filter((key) => !(key in staticEntries));

/** `type: static`. Spec, "Static route entry". */
export const staticRouteSchema = section(
  staticEntries,
  {},
  new Map([
    ...FOREIGN_ROUTE_KEYS,
    ...upstreamOnly.map((key) => [key, 'is for type: upstream; a static route serves files from "dir"'] as const),
  ]),
  ROUTE_MANUAL,
);

/** `type: upstream`. Decisions §3. */
export const upstreamRouteSchema = section(
  upstreamEntries,
  {},
  new Map([
    ...FOREIGN_ROUTE_KEYS,
    ...staticOnly.map((key) => [key, 'is for type: static; an upstream route sends requests to "target"'] as const),
  ]),
  ROUTE_MANUAL,
);

/** All keys that a route of any type may have, for telling a slip from a misplaced key. */
export const routeKeys = [...new Set([...Object.keys(staticEntries), ...Object.keys(upstreamEntries)])];

/** One value, or a list of them for a header that is sent several times. */
function headerValues(): Piece<string[]> {
  return list(headerValue(), "values", true);
}

/** `200`, or `200-399`. */
function statusRange(): Piece<readonly [number, number]> {
  return piece((value) => {
    const parts = /^(\d{3})(?:-(\d{3}))?$/.exec(
      typeof value === "number" ? String(value) : typeof value === "string" ? value : "",
    );
    const from = Number(parts?.[1] ?? 0);
    const to = Number(parts?.[2] ?? from);
    if (from >= 100 && to >= from && to <= 599) return [from, to] as const;
    return new Wrong(`expected a status such as 200, or a range such as 200-399, found ${JSON.stringify(value)}`);
  });
}
