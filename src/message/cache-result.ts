/** What the cache did for an exchange. */
export const enum CacheResult {
  /** The request did not pass the cache. */
  None = 0,
  /** Neither looked up nor stored. */
  Bypass,
  /** Neither, since the method is not GET or HEAD. */
  OtherMethod,
  /** The client asked for a fresh response. */
  Refresh,
  /** Nothing was stored. */
  Miss,
  /** What was stored was too old, and the origin gave another response. */
  Expired,
  /** What was stored was too old, and the origin said that it still holds. */
  Revalidated,
  /** Answered from the cache with what is too old: while it is fetched anew, or since the origin fails. */
  Stale,
  /** Answered from the cache. */
  Hit,
}

/** The results as metrics and logs name them; "" where the cache was not passed. */
export const CACHE_RESULT_NAMES: readonly string[] = [
  "",
  "bypass",
  "method",
  "refresh",
  "miss",
  "expired",
  "revalidated",
  "stale",
  "hit",
];
