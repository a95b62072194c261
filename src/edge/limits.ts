/** Bytes of an unread request body that are drained so that the connection can be kept. docs/bodies.md#unread-bodies */
export const DRAIN_BYTES = 65536;
/** Milliseconds that draining an unread request body may take. docs/bodies.md#unread-bodies */
export const DRAIN_MS = 100;
/** Connections that a search for the one that has been idle longest compares. */
export const MAX_IDLE_LOOKS = 256;
/** Milliseconds that a connection has been idle at least when it is closed to make room: others ask all the time. */
export const MIN_IDLE_CLOSED_MS = 250;
/** Milliseconds for which a connection without a request is not taken for an idle one: its first is on the way. */
export const IDLE_NEWCOMER_MS = 1000;
/** Milliseconds that an idle connection stays open after the gateway began to shut down. */
export const DRAIN_IDLE_MS = 1000;
/** Milliseconds that a tunnel (WebSocket) may stay without a byte in either direction. */
export const TUNNEL_IDLE_MS = 3_600_000;
