/** Every fixed limit of the gateway that is not a setting. Spec, "Limits"; decisions on framing and tools. */

/** Header fields in one head; more gives 431. */
export const MAX_FIELDS = 100;
/** Options in the Connection fields of one head; more gives 400, since each is looked for among all fields. */
export const MAX_CONNECTION_OPTIONS = 100;
/** Bytes of a request line without its CRLF; more gives 414. */
export const MAX_REQUEST_LINE_BYTES = 8192;
/** Bytes of one header line without its CRLF; more gives 431. Spec, "Limits": header line. */
export const MAX_HEADER_LINE_BYTES = 8192;
/** Largest Content-Length that a JavaScript number holds exactly. */
export const MAX_CONTENT_LENGTH = Number.MAX_SAFE_INTEGER;

/** Significant hexadecimal digits of a chunk size; more is above the unsigned 64-bit range. */
export const MAX_CHUNK_SIZE_DIGITS = 16;
/** Bytes of a chunk-size line up to its extension, leading zeros counted. */
export const MAX_CHUNK_SIZE_CHARS = 64;
/** Bytes of the extensions on one chunk line. Spec, "Limits": chunk extension. */
export const MAX_CHUNK_EXTENSION_BYTES = 256;
/** Bytes of the trailer section of a chunked body. Spec, "Limits": chunk trailers. */
export const MAX_TRAILER_BYTES = 4096;

/** Bytes of an unread request body that are drained so that the connection can be kept. Spec, "Drainage". */
export const DRAIN_BYTES = 65536;
/** Milliseconds that draining an unread request body may take. Spec, "Drainage". */
export const DRAIN_MS = 100;

/** Milliseconds that an answer which needs no body waits for a short body to arrive. */
export const EARLY_REPLY_HOLD_MS = 250;

/** Buffered request bodies beyond this go to a temporary file. */
export const SPOOL_BYTES = 1024 * 1024;

/** Head bytes of an upstream's answer; more is a malformed answer. */
export const MAX_RESPONSE_HEAD_BYTES = 65536;
/** Interim (1xx) answers before the final one; more is a malformed answer. */
export const MAX_INTERIM_RESPONSES = 8;

/** Milliseconds that an idle connection stays open after the gateway began to shut down. */
export const DRAIN_IDLE_MS = 1000;

/** Milliseconds that a refused connection is read and discarded so that the client can read the answer. */
export const LINGER_MS = 1000;
/** Bytes discarded from a refused connection before it is cut. */
export const LINGER_BYTES = 8 * 1024 * 1024;

/** Characters of a client's X-Request-Id that are kept; a longer one is replaced. */
export const MAX_REQUEST_ID_BYTES = 128;
/** Own entries in Via after which a request is taken for a loop (508). */
export const MAX_VIA_HOPS = 10;

/** Bytes of one output slab: reply heads and small bodies leave in one write from it. */
export const SLAB_BYTES = 16384;
/** Free output slabs a worker keeps. */
export const MAX_FREE_SLABS = 256;
/** Exchanges a worker keeps for reuse. */
export const MAX_FREE_EXCHANGES = 256;

/** Granularity of the timer wheel in milliseconds. */
export const TICK_MS = 50;
/** Slots of the timer wheel; a longer timer goes round again. */
export const WHEEL_SLOTS = 512;

/** Milliseconds that a tunnel (WebSocket) may stay without a byte in either direction. */
export const TUNNEL_IDLE_MS = 3_600_000;
/** Milliseconds that a connection to an origin is used; then a new one is made, and the origin's name resolved again. */
export const MAX_UPSTREAM_CONNECTION_MS = 300_000;
/** Reply bodies up to this size are copied behind their head, so that both leave in one write. */
export const COPY_BODY_BYTES = 8192;

/** Bytes of the body of a proxy-test call. Spec, "Limits". */
export const MAX_PROBE_CALL_BYTES = 65536;
/** Bytes of a probe's answer that are read and thrown away beyond what is kept. Spec, "Limits". */
export const PROBE_DRAIN_BYTES = 65536;
