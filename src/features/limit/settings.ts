import { describe, Wrong } from "../../config/piece.ts";
import { block, type ConfigOf, isFaultyAt, OFF, orWritten } from "../../config/row.ts";
import { duration, flag, integer, RATE, textLike, word } from "../../config/scalars.ts";

/** `rate_limit`, of the server or of a route: a token bucket. docs/guards.md#rate-limits */
const rateLimitBlock = block(
  {
    enabled: { type: flag(), default: true, doc: "false: requests are not counted" },
    requests: { type: integer(1), absent: 0, example: 100, doc: "this many in each window" },
    window: { type: duration(1), default: "1s", doc: "time in which so many requests are allowed" },
    burst: { type: integer(1), absent: 0, example: 200, doc: 'this many at once; the value of "requests" by default' },
    key: {
      type: textLike(
        /^(client_ip|address|user|route|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+)$/,
        "client_ip, user, route or header:NAME",
      ),
      default: "client_ip",
      doc: "or user (whom auth let in), route, or header:NAME",
    },
    ipv6_prefix: {
      type: integer(16, 128),
      default: 64,
      doc: "IPv6 prefix length that shares one bucket",
    },
    status: { type: integer(400, 599), default: 429, doc: "status of requests beyond the rate" },
    headers: { type: flag(), default: false, doc: "true: responses carry RateLimit and RateLimit-Policy" },
    scope: {
      type: word("node", "cluster"),
      default: "node",
      field: "reach",
      doc: "cluster: one limit for all gateways of a fleet",
    },
  },
  {
    absent: OFF,
    check(values, spot) {
      if (!values.enabled || values.requests > 0 || isFaultyAt(spot, "requests")) return;
      const message = "a rate limit needs requests, the number allowed in each window, such as requests: 100";
      spot.log.fault(spot.path, message, true);
    },
    finish({ requests, burst }, values) {
      const [key = "", header = ""] = values.key.split(":");
      return {
        // The size of the bucket, at least 1.
        burst: burst > 0 ? burst : Math.max(1, requests),
        key: (key === "address" ? "client_ip" : key) as "client_ip" | "header" | "route" | "user",
        // In lower case where `key` is `header`, else "".
        keyHeader: header.toLowerCase(),
      };
    },
    list(config, lines) {
      if (!config.enabled) return { enabled: false };
      const { enabled: _, ...others } = lines;
      return { ...others, key: config.key === "header" ? `header:${config.keyHeader}` : config.key };
    },
  },
);

/** The same, also as `10r/s`. */
export const rateLimit: typeof rateLimitBlock = orWritten(
  rateLimitBlock,
  { is: "text", pattern: RATE },
  (value) => {
    if (typeof value !== "string") return value;
    const [, requests, unit] = RATE.exec(value.trim()) ?? [];
    if (unit !== undefined) return { requests: Number(requests), window: `1${unit}` };
    return new Wrong(
      `expected a rate such as 10r/s or 300r/m, or a section with requests and window, found ${describe(value)}`,
    );
  },
  OFF,
);

/** A token bucket, and whose it is: shared by all routes without a limit of their own, or of one route. */
export type RateLimitConfig = ConfigOf<typeof rateLimit> & { readonly scope: "server" | "route" };
