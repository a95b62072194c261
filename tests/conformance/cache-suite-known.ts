// What the public suite of HTTP cache tests expects and this gateway does not do, each with the sentence that forbids it;
// and what the suite's authors have changed since the copy that npm has. Data, no code.

/** Tests that fail, by id, and the sentence of the specification (or of the project's decisions) that says so. */
export const FORBIDDEN: Readonly<Record<string, string>> = {
  "freshness-max-age-age": "Miss or any bypass: any upstream `Age` is deleted",
  "freshness-expires-age-slow-date": "Miss or any bypass: any upstream `Age` is deleted",
  "freshness-expires-age-fast-date": "Miss or any bypass: any upstream `Age` is deleted",
  "other-age-update-expires": "Cache hit, `Age`: seconds since storage",
  "other-age-update-max-age": "Cache hit, `Age`: seconds since storage",
  "conditional-etag-vary-headers": "`Vary: *` or any Vary other than `Accept-Encoding`: bypass",
  "headers-store-Set-Cookie": "Stored copies never contain `Set-Cookie` or `Set-Cookie2`",
  "headers-store-Set-Cookie2": "Stored copies never contain `Set-Cookie` or `Set-Cookie2`",
  "304-etag-update-response-Set-Cookie": "Stored copies never contain `Set-Cookie` or `Set-Cookie2`",
  "304-etag-update-response-Set-Cookie2": "Stored copies never contain `Set-Cookie` or `Set-Cookie2`",
  "headers-store-Transfer-Encoding":
    "The upstream's answer is parsed as strictly as a request: an ambiguous one is 502 (decisions, routing and upstreams)",
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
