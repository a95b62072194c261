/** Milliseconds until a connection to the gateway must be there. */
export const CONNECT_MS = 5000;
/** Milliseconds that origins get to see the end of connections which the gateway gave up. */
export const SETTLE_MS = 1000;
/** Bytes of one connection that are kept as evidence and read; a gateway that sends more has failed anyway. */
export const MAX_RECEIVED_BYTES = 256 * 1024;
/** Characters of sent or received bytes in the report. */
export const MAX_EVIDENCE_CHARS = 8192;
/** Requests that a simulated origin remembers in one scenario. */
export const MAX_SEEN_REQUESTS = 1000;
/** Bytes of a head, and of a body, that a simulated origin takes. */
export const MAX_ORIGIN_BYTES = 64 * 1024;
/** Benign requests that go out at once after each attack, so that each pooled connection is used. */
export const SWEEP_REQUESTS = 4;
