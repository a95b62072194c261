import { headerName, routeMethod } from "../../config/http-syntax.ts";
import {
  type Entries,
  list,
  must,
  or,
  orElse,
  type Piece,
  piece,
  type Section,
  section,
  Wrong,
} from "../../config/piece.ts";
import type { SharedValues } from "../../config/route-schema.ts";
import { duration, flag, integer, text, textLike, word } from "../../config/scalars.ts";
import { upstreamTls } from "../../config/upstream-tls.ts";

const target = {
  url: must(text("a server address"), "the address of a server, such as http://127.0.0.1:9001"),
  weight: or(integer(0, 1_000_000_000), 1),
  backup: or(flag(), false),
} satisfies Entries;

/** The keys of `type: upstream`: docs/upstreams.md#upstreams */
export const upstreamKeys = {
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
  // Absent takes the server's.
  strict_origins: orElse(flag(), null),
  preserve_host: or(flag(), true),
  strip_prefix: or(flag(), true),
  tls: upstreamTls,
} satisfies Entries;

/** What an entry with `type: upstream` gives. */
export type UpstreamEntry = SharedValues & Section<typeof upstreamKeys>;

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
