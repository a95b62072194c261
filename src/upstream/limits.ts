/** Milliseconds for an origin that is asked whether it wants a body; then the client sends it all the same. RFC 9110 §10.1.1. */
export const CONSENT_MS = 1000;
/** Streams on one connection to an origin at most, fewer where it allows fewer; further requests make another one. */
export const H2_ORIGIN_STREAMS = 100;
/** Milliseconds that a connection to an origin is kept beyond `max_idle_conns`. */
export const SPARE_CONNECTION_MS = 1000;
/** Milliseconds that a connection to an origin is used; then a new one is made, and the origin's name resolved again. */
export const MAX_UPSTREAM_CONNECTION_MS = 300_000;
/** Bytes of the heads of all interim (1xx) responses before the final one; more is a malformed response: each costs a worker its reading. */
export const MAX_INTERIM_BYTES = 262_144;
