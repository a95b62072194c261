/** Requests a second that one run of the load generator makes at most. */
export const MAX_LOAD_RATE = 1_000_000;

/** Milliseconds from the time at which a request of the load generator was due until it has failed. */
export const LOAD_REQUEST_LIMIT_MS = 5000;
