/**
 * Fixed bounds, not settings, that several folders or features share. One of a single feature or file stands there. The pages of docs/ say
 * what follows from each.
 */

/** Header fields in one head if no setting says otherwise, and trailers of one body. */
export const MAX_FIELDS = 100;
/** Header fields in a response's head if no setting says otherwise; more is a malformed response. */
export const MAX_RESPONSE_FIELDS = 256;
/** Bytes of a request line without its CRLF; more gives 414. */
export const MAX_REQUEST_LINE_BYTES = 8192;
/** Bytes of one header line without its CRLF; more gives 431. docs/wire.md#header-fields */
export const MAX_HEADER_LINE_BYTES = 8192;
/** A Host: a name of 253 characters (RFC 1035 §2.3.4), a dot, a colon and a port. */
export const MAX_AUTHORITY_BYTES = 260;

/** Head bytes of an upstream's response; more is a malformed response. */
export const MAX_RESPONSE_HEAD_BYTES = 65536;
/**
 * Interim (1xx) responses before the final one that are passed on and give the origin time; those after them do neither, so that the
 * response must come in its time.
 */
export const MAX_INTERIM_RESPONSES = 100;

// HTTP/2. What a peer may do how often before its connection ends with ENHANCE_YOUR_CALM; beside each what nghttp2
// and Envoy do by default. Those of window updates and control frames grow with the frames that we send.

/** Bytes that a client may send ahead on one stream. nghttp2 65535; Envoy 16 MiB, older ones 256. */
export const H2_STREAM_WINDOW_BYTES = 262_144;
/** Bytes that may be on their way on one connection; the streams' windows bound the buffered part. nginx 2 GiB; Envoy 24 MiB. */
export const H2_CONNECTION_WINDOW_BYTES = 16_777_216;
/** Bytes of our dynamic tables, the peer's announced to it. nghttp2 and Envoy 4096. */
export const H2_HEADER_TABLE_BYTES = 4096;
/** A response of which the client takes less than this within `write_timeout` is given up: a slow read. */
export const MIN_PROGRESS_BYTES = 1024;

/** Exchanges a worker keeps for reuse. */
export const MAX_FREE_EXCHANGES = 256;

/** Streams of a configuration: each has counters of its own in every worker. */
export const MAX_STREAMS = 1000;
/** Response bodies up to this size are copied after their head, so that both leave in one write. */
export const COPY_BODY_BYTES = 8192;
/** Received chunks of so many bytes are given back as soon as they are unused, and not by the garbage collector. */
export const RETURNED_CHUNK_BYTES = 8192;

/** Most characters of a client certificate's facts in X-Forwarded-Client-Cert. */
export const MAX_CLIENT_CERT_CHARS = 4096;

/** Bytes of one gRPC message of a response; a longer one is a malformed response. gRPC's own default is a quarter of it. */
export const MAX_GRPC_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Levels of objects and lists in a JSON body. It is protobuf's own limit for messages. */
export const MAX_JSON_DEPTH = 100;

/** Entries of `server.listeners`: each is a socket in every worker. */
export const MAX_LISTENERS = 256;
