/** The cache's result for an exchange. */
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
  /** The stored data was too old, and the origin gave another response. */
  Expired,
  /** The stored data was too old, and the origin said that it still holds. */
  Revalidated,
  /** Nothing was stored, and the response came with that of a simultaneous request to the origin. */
  Collapsed,
  /** Answered from the cache with a stale response: while a fetch runs, or since the origin fails. */
  Stale,
  /** Answered from the cache. */
  Hit,
}

/** The results as metrics and logs name them; "" if the cache was not passed. */
export const CACHE_RESULT_NAMES: readonly string[] = [
  "",
  "bypass",
  "method",
  "refresh",
  "miss",
  "expired",
  "revalidated",
  "collapsed",
  "stale",
  "hit",
];

/** A further fact about an exchange that passed the cache: whether its response was stored, or why not. */
export const enum CacheNote {
  None = 0,
  Stored,
  /** The request was not looked up. */
  RequestBody,
  Upgrade,
  Precondition,
  /** The client's `no-store`. */
  RequestNoStore,
  /** The response is not one to be stored. */
  Status,
  NoLength,
  Empty,
  TooLarge,
  EventStream,
  Vary,
  NoStore,
  NoCache,
  Private,
  /** The response does not say that it is for others than its client. */
  Identity,
  SetCookie,
  SameRedirect,
  NotFresh,
  /** There is no room, or it was removed while it was fetched. */
  NoRoom,
  /** Hooks have sent something other than the request asked for. */
  RequestChanged,
}

/** The notes as `detail` of Cache-Status names them; "" if there is nothing to say. docs/cache.md#why-not */
export const CACHE_NOTE_NAMES: readonly string[] = [
  "",
  "",
  "request-body",
  "upgrade",
  "precondition",
  "request-no-store",
  "status",
  "no-length",
  "empty",
  "too-large",
  "event-stream",
  "vary",
  "no-store",
  "no-cache",
  "private",
  "identity",
  "set-cookie",
  "same-redirect",
  "not-fresh",
  "no-room",
  "request-changed",
];
