// What the public suite of HTTP cache tests expects and this gateway does not do, each with the rule that forbids it;
// and what the suite's authors have changed since the copy that npm has. Data, no code.

/** Tests that fail, by id, and the rule of this gateway that they are against. */
export const FORBIDDEN: Readonly<Record<string, string>> = {
  "freshness-max-age-age": "docs/cache.md#hits: an origin's own `Age` is removed from misses",
  "freshness-expires-age-slow-date": "docs/cache.md#hits: an origin's own `Age` is removed from misses",
  "freshness-expires-age-fast-date": "docs/cache.md#hits: an origin's own `Age` is removed from misses",
  "other-age-update-expires": "docs/cache.md#hits: `Age` counts from when the response was stored",
  "other-age-update-max-age": "docs/cache.md#hits: `Age` counts from when the response was stored",
  "conditional-etag-vary-headers": "docs/cache.md#what-is-stored: `Vary` names nothing but `Accept-Encoding`",
  "headers-store-Set-Cookie": "docs/cache.md#what-is-stored: stored copies have no `Set-Cookie` and no `Set-Cookie2`",
  "headers-store-Set-Cookie2": "docs/cache.md#what-is-stored: stored copies have no `Set-Cookie` and no `Set-Cookie2`",
  "304-etag-update-response-Set-Cookie":
    "docs/cache.md#what-is-stored: stored copies have no `Set-Cookie` and no `Set-Cookie2`",
  "304-etag-update-response-Set-Cookie2":
    "docs/cache.md#what-is-stored: stored copies have no `Set-Cookie` and no `Set-Cookie2`",
  "headers-store-Transfer-Encoding":
    "docs/upstreams.md#responses: responses are read as strictly as requests, and an ambiguous one is 502",
};

/** Tests for browsers, which the suite does not run against a gateway. */
export const FOR_BROWSERS: readonly string[] = [
  "freshness-max-age-s-maxage-private",
  "freshness-max-age-s-maxage-private-multiple",
  "cc-resp-immutable-stale",
];

/** RFC 9111 §5.1 turned these round: the first of several ages counts, and what is no number is ignored. */
export const FRESH_SINCE_RFC_9111: readonly string[] = [
  "age-parse-nonnumeric",
  "age-parse-negative",
  "age-parse-float",
  "age-parse-prefix-twoline",
  "age-parse-dup-0",
  "age-parse-dup-0-twoline",
  "age-parse-dup-old",
];

/** These only tell what a cache does, since then; they are not required any more. */
export const NOT_REQUIRED_SINCE: readonly string[] = ["age-parse-parameter", "age-parse-numeric-parameter"];

/** Ages that were added: each makes an answer with `max-age=3600` stale. */
export const AGES_ADDED: Readonly<Record<string, string>> = {
  "age-parse-large-minus-one": "2147483647",
  "age-parse-large": "2147483648",
  "age-parse-larger": "2147483649",
};

/** An origin that closes the connection: any answer that is not the stored one is right, since then. */
export const ANY_ANSWER_BUT_STORED: readonly string[] = [
  "stale-close-must-revalidate",
  "stale-close-proxy-revalidate",
  "stale-close-no-cache",
  "stale-close-s-maxage=2",
];

/**
 * CDN-Cache-Control, which the suite has tests for since then, for caches of one's own servers (`cdn_only`): the fields of a
 * response and whether the next request gets it from the cache.
 */
export const CDN_ADDED: Readonly<
  Record<string, { readonly fields: readonly (readonly [string, string | number])[]; readonly cached: boolean }>
> = {
  "cdn-max-age": { fields: [["CDN-Cache-Control", "max-age=3600"]], cached: true },
  "cdn-max-age-max-plus": { fields: [["CDN-Cache-Control", "max-age=99999999999"]], cached: true },
  "cdn-max-age-extension": { fields: [["CDN-Cache-Control", "foobar, max-age=3600"]], cached: true },
  "cdn-max-age-expires": {
    fields: [
      ["CDN-Cache-Control", "max-age=3600"],
      ["Expires", -10_000],
    ],
    cached: true,
  },
  "cdn-max-age-short-cc-max-age": {
    fields: [
      ["Cache-Control", "max-age=1"],
      ["CDN-Cache-Control", "max-age=3600"],
    ],
    cached: true,
  },
  "cdn-fresh-cc-nostore": {
    fields: [
      ["Cache-Control", "no-store"],
      ["CDN-Cache-Control", "max-age=10000"],
    ],
    cached: true,
  },
  "cdn-max-age-age": {
    fields: [
      ["CDN-Cache-Control", "max-age=3600"],
      ["Age", "7200"],
    ],
    cached: false,
  },
  "cdn-max-age-0": { fields: [["CDN-Cache-Control", "max-age=0"]], cached: false },
  "cdn-max-age-0-expires": {
    fields: [
      ["CDN-Cache-Control", "max-age=0"],
      ["Expires", 10_000],
    ],
    cached: false,
  },
  "cdn-max-age-long-cc-max-age": {
    fields: [
      ["Cache-Control", "max-age=3600"],
      ["CDN-Cache-Control", "max-age=1"],
    ],
    cached: false,
  },
  "cdn-private": {
    fields: [
      ["CDN-Cache-Control", "private"],
      ["Cache-Control", "max-age=10000"],
    ],
    cached: false,
  },
  "cdn-no-cache": {
    fields: [
      ["CDN-Cache-Control", "no-cache"],
      ["Cache-Control", "max-age=10000"],
    ],
    cached: false,
  },
  "cdn-no-store-cc-fresh": {
    fields: [
      ["CDN-Cache-Control", "no-store"],
      ["Cache-Control", "max-age=10000"],
      ["Expires", 10_000],
    ],
    cached: false,
  },
  "cdn-cc-invalid-sh-type-unknown": {
    fields: [
      ["CDN-Cache-Control", "max-age=10000, &&&&&"],
      ["Cache-Control", "no-store"],
    ],
    cached: false,
  },
  "cdn-cc-invalid-sh-type-wrong": {
    fields: [
      ["CDN-Cache-Control", 'max-age="10000"'],
      ["Cache-Control", "no-store"],
    ],
    cached: false,
  },
};
