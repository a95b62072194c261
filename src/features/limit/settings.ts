import * as v from "valibot";
import { foreignAdvice } from "../../config/foreign-names.ts";
import type { Form } from "../../config/form.ts";
import { describe, type Piece, type Spot, Wrong } from "../../config/piece.ts";
import { below, block, type ConfigOf, isFaultyAt, OFF, orWritten } from "../../config/row.ts";
import { duration, flag, integer, RATE, textLike, word } from "../../config/scalars.ts";
import { FOREIGN_LIMIT_KEYS } from "./foreign-limit-keys.ts";

/** A fingerprint that tells buckets apart. docs/fingerprints.md */
export type FingerprintName = "tls.ja4" | "tls.group" | "http2.fingerprint";

/** Limits of one list: each is a look at a bucket for each request. */
const MAX_LIMITS = 16;

/** `rate_limit`, of the server or of a route: a token bucket. docs/guards.md#rate-limits */
const rateLimitBlock = block(
  {
    enabled: { type: flag(), default: true, doc: "false: edge does not count requests" },
    requests: { type: integer(1), absent: 0, example: 100, doc: "how many requests a window allows" },
    window: { type: duration(1), default: "1s", doc: "the time in which these requests are allowed" },
    burst: {
      type: integer(1),
      absent: 0,
      example: 200,
      doc: 'how many requests may come at once; the value of "requests" by default',
    },
    key: {
      type: textLike(
        /^(client_ip|address|user|route|agent\.name|tls\.ja4|tls\.group|http2\.fingerprint|header:[!#$%&'*+.^_`|~0-9A-Za-z-]+)$/,
        "client_ip, user, route, agent.name, tls.ja4, tls.group, http2.fingerprint or header:NAME",
      ),
      default: "client_ip",
      doc: "what has a bucket: client_ip, user (from auth), agent.name, route, header:NAME, tls.ja4, tls.group or http2.fingerprint",
    },
    ipv6_prefix: {
      type: integer(16, 128),
      default: 64,
      doc: "length of the IPv6 prefix whose clients share one bucket",
    },
    status: { type: integer(400, 599), default: 429, doc: "the status for requests beyond the limit" },
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
    misplaced: new Map(foreignAdvice(FOREIGN_LIMIT_KEYS)),
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
        key: (key === "address" ? "client_ip" : key) as
          | "client_ip"
          | "header"
          | "route"
          | "user"
          | "agent.name"
          | FingerprintName,
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
const oneLimit: typeof rateLimitBlock = orWritten(
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

type OneLimit = ConfigOf<typeof rateLimitBlock>;
type LimitValues = Parameters<typeof oneLimit.resolve>[0];

/** Further limits of a list, beside its first. */
interface MoreLimits<T> {
  readonly more: readonly T[];
}

const severalLimits = v.pipe(
  v.array(oneLimit as unknown as Piece<LimitValues>),
  v.maxLength(MAX_LIMITS, `expected at most ${MAX_LIMITS} limits`),
);

/** One limit, or a list of several that must all allow a request. docs/guards.md#several-limits */
export const rateLimit: Omit<typeof oneLimit, "resolve" | "write"> & {
  resolve(values: LimitValues, spot: Spot): OneLimit & MoreLimits<OneLimit>;
  write(config: OneLimit & MoreLimits<OneLimit>): object;
} = {
  ...oneLimit,
  "~run"(dataset, config) {
    if (!Array.isArray(dataset.value)) return oneLimit["~run"](dataset, config);
    const found = severalLimits["~run"](dataset as never, config);
    if (found.issues !== undefined) return found as never;
    const [first, ...more] = found.value as readonly LimitValues[];
    if (first === undefined) return oneLimit["~run"]({ value: OFF }, config);
    return { typed: true, value: { ...first, more, isList: true } as LimitValues };
  },
  form: {
    is: "either",
    forms: [
      ...(oneLimit.form as { readonly forms: readonly Form[] }).forms,
      { is: "list", item: oneLimit.form, orOne: true },
    ],
  },
  resolve(values, spot) {
    const { more = [], isList = false } = values as Partial<MoreLimits<LimitValues>> & { readonly isList?: boolean };
    return {
      ...oneLimit.resolve(values, isList ? below(spot, 0) : spot),
      more: more.map((one, i) => oneLimit.resolve(one, below(spot, i + 1))),
    };
  },
  write(config) {
    const first = oneLimit.write(config);
    return config.more.length === 0 ? first : [first, ...config.more.map((one) => oneLimit.write(one))];
  },
};

/** A token bucket, what else must allow a request, and whose it is: shared by all routes without a limit of their own, or of one route. */
export type RateLimitConfig = ConfigOf<typeof rateLimitBlock> &
  MoreLimits<ConfigOf<typeof rateLimitBlock>> & { readonly scope: "server" | "route" };

/** The limits of a server or route that are switched on. */
export function limitsIn({ more, ...first }: RateLimitConfig): readonly (OneLimit & Pick<RateLimitConfig, "scope">)[] {
  return [first, ...more.map((one) => ({ ...one, scope: first.scope }))].filter(({ enabled }) => enabled);
}
