/** Every fixed limit of the gateway that is not a setting. The pages of docs/ say what follows from each. */

/** Header fields in one head where no setting says otherwise, and trailers of one body. */
export const MAX_FIELDS = 100;
/** Header fields in a response's head where no setting says otherwise; more is a malformed response. */
export const MAX_RESPONSE_FIELDS = 256;
/** Options in the Connection fields of one head; more gives 400, since each is looked for among all fields. */
export const MAX_CONNECTION_OPTIONS = 100;
/** Bytes of a request line without its CRLF; more gives 414. */
export const MAX_REQUEST_LINE_BYTES = 8192;
/** Bytes of one header line without its CRLF; more gives 431. docs/wire.md#header-fields */
export const MAX_HEADER_LINE_BYTES = 8192;
/** Bytes of a text that an expression is tried on; a longer one fits none. No line of a head is longer. */
export const MAX_EXPRESSION_INPUT_BYTES = 8192;
/** Instructions of an expression: steps for each byte of a text at most, some 20 ns each. */
export const MAX_EXPRESSION_PROGRAM = 256;
/** Memory in bytes for what an expression remembers of texts, in each worker; beyond it, it begins anew. */
export const MAX_EXPRESSION_STATES_BYTES = 65_536;
/** A Host: a name of 253 characters (RFC 1035 §2.3.4), a dot, a colon and a port. */
export const MAX_AUTHORITY_BYTES = 260;
/** Largest Content-Length that a JavaScript number holds exactly. */
export const MAX_CONTENT_LENGTH = Number.MAX_SAFE_INTEGER;

/** Significant hexadecimal digits of a chunk size; more is above the unsigned 64-bit range. */
export const MAX_CHUNK_SIZE_DIGITS = 16;
/** Bytes of a chunk-size line up to its extension, leading zeros counted. */
export const MAX_CHUNK_SIZE_CHARS = 64;
/** Bytes of the extensions on one chunk line. docs/bodies.md#chunk-syntax */
export const MAX_CHUNK_EXTENSION_BYTES = 256;
/** Bytes of the trailer section of a chunked body. docs/bodies.md#chunk-syntax */
export const MAX_TRAILER_BYTES = 4096;

/** Bytes of a chunked request body that are handed on at a time in `passthrough`. docs/bodies.md#passthrough */
export const PASSTHROUGH_BYTES = 32768;
/** Bytes after the request that is being answered for which a connection is read on; with more, the kernel holds them. */
export const PIPELINED_BYTES = 16_384;
/** Bytes of an unread request body that are drained so that the connection can be kept. docs/bodies.md#unread-bodies */
export const DRAIN_BYTES = 65536;
/** Milliseconds that draining an unread request body may take. docs/bodies.md#unread-bodies */
export const DRAIN_MS = 100;
/** Milliseconds that a response which needs no body waits for a short one, the draining included. docs/bodies.md#unread-bodies */
export const EARLY_REPLY_MS = 100;
/**
 * The same for a request that came while the one before it was being answered: its client may not have read that response yet,
 * which the end of the connection, with unread bytes after it, can destroy.
 */
export const EARLY_PIPELINED_MS = 200;

/** Placeholders of one template, and characters of a value that one is replaced with: the rest of it is left out. */
export const MAX_PLACEHOLDERS = 64;
export const MAX_PLACEHOLDER_CHARS = 8192;

/** Bytes of a response that a route of type respond takes from the configuration or from a file; it is copied for each client. */
export const MAX_RESPOND_BYTES = 262_144;
/** Passwords that a worker checks at the same time: each takes the memory that its hash asks for, 64 MiB with argon2id's default. */
export const MAX_PASSWORD_CHECKS = 2;
/** Passwords that wait for that in a worker, in turns by network and client; beyond, the client with most waiting gets 503. */
export const MAX_WAITING_PASSWORDS = 64;
/** How long a password that was found good is not checked again. */
export const CREDENTIAL_MEMORY_MS = 300_000;
/** Good passwords that a worker remembers; beyond, the oldest is forgotten. */
export const MAX_REMEMBERED_CREDENTIALS = 4096;
/** Bytes of the body of an authentication service's response: a longer one is none. */
export const MAX_AUTH_REPLY_BYTES = 65_536;
/** Requests of a worker and method for which an authentication service is asked at a time; those beyond get 503. */
export const MAX_AUTH_CALLS = 1024;
/** Calls in a row that an authentication service may leave without a response, and how long it is not asked after that. */
export const AUTH_SERVICE_FAILURES = 5;
export const AUTH_SERVICE_REST_MS = 2000;
/** Verdicts of an authentication service that a worker remembers; beyond, the oldest is forgotten. */
export const MAX_REMEMBERED_VERDICTS = 4096;
/** Requests that wait for one check of a password, since they show the same; those beyond get 503. */
export const MAX_JOINED_REQUESTS = 1024;
/** Wrong passwords that an address may send for one user, and how long it waits for each further one. */
export const GUESSES_OF_USER = 10;
export const MS_PER_GUESS_OF_USER = 10_000;
/** The same for all users together. */
export const GUESSES_OF_ADDRESS = 100;
export const MS_PER_GUESS = 2000;
/** Largest file of users that is read. */
export const MAX_USERS_FILE_BYTES = 4_194_304;
/** Characters of a secret that sessions of auth.oidc are sealed with, at least. */
export const MIN_COOKIE_SECRET_CHARS = 32;
/** Characters of a session of auth.oidc in one cookie: browsers keep one of at most 4096 bytes, its name included. */
export const MAX_SESSION_PART_CHARS = 3880;
/**
 * Bytes of a session before it is sealed, compressed where it is long: two cookies. Browsers send all cookies of a host in one line of the
 * head, which has at most 8 KiB with those of the application.
 */
export const MAX_SESSION_BYTES = 4480;
/** Characters of a claim that is kept, and of all entries of one that is a list; a longer one is left out. */
export const MAX_CLAIM_CHARS = 1024;
export const MAX_CLAIM_LIST_CHARS = 32_768;
/** Sign-ins that a browser may have under way at a time, in as many tabs; the oldest gives way. */
export const MAX_LOGIN_ATTEMPTS = 3;
/** How long a sign-in may take, from the redirect to the provider to the way back. */
export const LOGIN_ATTEMPT_MS = 600_000;
/** Characters of the path to which a sign-in comes back; a longer one gives way to `/`. */
export const MAX_RETURN_CHARS = 512;
/** Requests that wait for an identity provider in a worker; beyond, they get 503. */
export const MAX_PROVIDER_WAITS = 64;
/** How long an identity provider may take for one answer, and how many bytes that may have. */
export const PROVIDER_TIMEOUT_MS = 5000;
export const MAX_PROVIDER_BYTES = 524_288;
/** For how long a provider that has failed is not asked for its settings, and not for a renewal. */
export const PROVIDER_PAUSE_MS = 2000;
export const RENEWAL_PAUSE_MS = 30_000;
/** How long other workers leave the renewal of a session to the one that has begun it. */
export const RENEWAL_TURN_MS = 10_000;
/** How old a provider's settings may be before they are asked for again, beside the sign-ins that go on with the old ones. */
export const PROVIDER_SETTINGS_MS = 3_600_000;
/** Opened sessions that a worker remembers, and sign-ins that it knows to be over; beyond, the oldest is forgotten. */
export const MAX_REMEMBERED_SESSIONS = 2048;
/** For how long a session that was renewed or refused is known under its old cookie. */
export const RENEWED_MEMORY_MS = 60_000;

/** Longest token that is looked at; a longer one is refused unread. docs/authentication.md#tokens */
export const MAX_TOKEN_BYTES = 16_384;
/** Verified tokens that a worker remembers for each method, and the bytes that they take; beyond, the oldest are forgotten. */
export const MAX_REMEMBERED_TOKENS = 8192;
export const MAX_REMEMBERED_TOKEN_BYTES = 8 * 1024 * 1024;
/** Requests that wait in a worker for the keys of one source; those beyond get 503. */
export const MAX_WAITING_TOKENS = 256;
/** Keys of a set that a token without the name of its key is tried with. */
export const MAX_KEYS_TRIED = 4;
/** Signatures of slow algorithms that a worker verifies at a time off its event loop, and those that wait; beyond: 503. */
export const MAX_SLOW_SIGNATURES = 2;
export const MAX_WAITING_SIGNATURES = 64;
/** Bytes of a claim that goes on in a field; a longer one does not, since a part of it would say something else. */
export const MAX_CLAIM_BYTES = 4096;
/** Claims of a user that placeholders can name. */
export const MAX_CLAIMS = 256;
/** Largest JWK set that is read, and the keys of it that count. */
export const MAX_JWKS_BYTES = 262_144;
export const MAX_JWKS_KEYS = 64;
/** Longest name of a key. */
export const MAX_JWK_ID_CHARS = 256;
/** RSA keys that verify tokens. RFC 7518 §3.3; longer ones cost too much. */
export const MIN_RSA_BITS = 2048;
export const MAX_RSA_BITS = 8192;
/** Milliseconds for the response to a request for keys. */
export const JWKS_TIMEOUT_MS = 5000;
/** Largest configuration that is read from afar, each of its two files, and milliseconds for the response. */
export const MAX_REMOTE_CONFIG_BYTES = 16_777_216;
export const REMOTE_CONFIG_TIMEOUT_MS = 10_000;
/** How long fetched keys count as fresh: what their Cache-Control says within these bounds, or the usual time. */
export const JWKS_MIN_AGE_MS = 60_000;
export const JWKS_MAX_AGE_MS = 3_600_000;
export const JWKS_USUAL_AGE_MS = 600_000;
/** Milliseconds between two requests for keys that tokens with unknown keys cause, all workers together. */
export const UNKNOWN_KEY_PAUSE_MS = 10_000;

/** Content codings of one body that the firewall undoes; more are an attack. */
export const MAX_CONTENT_CODINGS = 3;
/** Bytes that one byte of a compressed body may stand for; the rest counts as beyond `max_inspect_body_size`. */
export const MAX_INFLATION = 100;
/** Bytes of content that are inspected of any compressed body, however small, within `max_inspect_body_size`. */
export const MIN_INFLATED_BYTES = 65_536;
/** Window of a zstd body, as a power of two: 8 MiB, the most that RFC 9659 §3 allows for HTTP. */
export const MAX_CODING_WINDOW_BITS = 23;

/** Connections that a worker holds back unread because another worker took the last place at the same time. */
export const MAX_HELD_CONNECTIONS = 64;
/** Idle connections that a worker closes in one tick for those who wait. */
export const MAX_IDLE_CLOSED = 16;
/** Connections that are compared when the one that has been idle longest is looked for. */
export const MAX_IDLE_LOOKS = 256;
/** Milliseconds that a connection has been idle at least when it is closed to make room: others ask all the time. */
export const MIN_IDLE_CLOSED_MS = 250;
/** Milliseconds for which a connection without a request is not taken for an idle one: its first is on the way. */
export const IDLE_NEWCOMER_MS = 1000;
/** The least number of client connections that `max_connections: auto` comes to. */
export const MIN_AUTO_CONNECTIONS = 16;
/** Descriptors that `max_connections: auto` leaves for origins, files and logs: a quarter of them, and so many at most. */
export const MAX_RESERVED_DESCRIPTORS = 4096;

/** Milliseconds for which a request body may come at any rate before `min_body_rate` counts. */
export const BODY_RATE_GRACE_MS = 10_000;
/** Milliseconds over which the rate of a held body is judged when the slowest one is looked for. */
export const BODY_RATE_WINDOW_MS = 10_000;
/** Milliseconds for which a body that has just begun is not ended for the room that it needs itself. */
export const BODY_NEWCOMER_MS = 1000;
/** Held bodies that are compared when the slowest one is looked for: those that have been stalled longest. */
export const MAX_SLOWEST_LOOKS = 64;
/** Request bodies in spool files together where no setting says otherwise; less where the disk has less than twice that free. */
export const DEFAULT_SPOOLED_BYTES = 16 * 1024 * 1024 * 1024;

/**
 * Steps of the WAF's inspection for each byte of a request, a step being a byte that is looked at. Source code, dumps of SQL,
 * minified scripts and the like take up to 30 each time they are read, since several analysers look at them; the worst that is
 * known of hostile bodies takes some 120. 64 KiB may so cost some 20 ms at most. Beyond it the request scores PROTOCOL-007.
 */
export const WAF_STEPS_PER_BYTE = 256;
/** A shorter request has the steps of one of so many bytes. */
export const WAF_LEAST_BYTES = 65_536;

/** Rules and markers of one `waf.rules`, rules in a chain, files, how deep they include each other, lines of files of phrases. */
export const MAX_RULES = 4096;
export const MAX_RULE_CHAIN = 16;
export const MAX_RULE_FILES = 256;
export const MAX_RULE_INCLUDES = 8;
export const MAX_RULE_LINES = 100_000;
/** Bytes of a file of rules, or of phrases. */
export const MAX_WAF_FILE_BYTES = 4_194_304;
/** Faults of rules that are told at a time. */
export const MAX_RULE_FAULTS = 1000;
/** Instructions of an expression of a rule. */
export const MAX_RULE_PROGRAM = 8192;
/** Memory for what the expressions of a set remember of texts, all together in each worker, and the least for one. */
export const RULE_STATES_BYTES = 33_554_432;
export const MIN_RULE_STATES_BYTES = 65_536;
/**
 * Steps that rules of `waf.rules` may take in one request. A byte that an operator or a transformation looks at is a step of some 2 to
 * 5 ns; where the automaton of an expression has no room, each of its instructions is one for each byte. Beyond it the request
 * scores PROTOCOL-007.
 */
export const RULE_STEPS = 16_777_216;
/** Parameters of a request that rules of `waf.rules` see; beyond it the request scores PROTOCOL-007. */
export const MAX_RULE_ARGUMENTS = 1000;
/** How deep a body in JSON is that rules see; what is deeper counts as a body that cannot be read. */
export const MAX_RULE_JSON_DEPTH = 64;
/** Variables that rules of one request set, and characters of one; further ones are not set, longer ones cut. */
export const MAX_RULE_VARIABLES = 512;
export const MAX_RULE_VARIABLE_CHARS = 8192;
/** Matches of one request that are logged. */
export const MAX_RULE_MATCHES = 16;
/** Characters of a message or of data that a match is logged with. */
export const MAX_RULE_TEXT_CHARS = 512;

/** Buffered request bodies beyond this go to a temporary file. */
export const SPOOL_BYTES = 1024 * 1024;

/** Head bytes of an upstream's response; more is a malformed response. */
export const MAX_RESPONSE_HEAD_BYTES = 65536;
/** Milliseconds for an origin that is asked whether it wants a body; then the client sends it all the same. RFC 9110 §10.1.1. */
export const CONSENT_MS = 1000;
/**
 * Interim (1xx) responses before the final one that are passed on and give the origin time; those after them do neither, so that the
 * response must come in its time.
 */
export const MAX_INTERIM_RESPONSES = 100;
/** Bytes of a reason phrase that is passed on; a longer one gives way to that of its status. */
export const MAX_REASON_BYTES = 128;
/** Of what a FastCGI script writes of errors for one request, so much is logged. */
export const MAX_SCRIPT_ERROR_BYTES = 2048;
/** Paths of a FastCGI route whose files are remembered for FILE_RECHECK_MS, per worker. */
export const MAX_REMEMBERED_SCRIPTS = 1024;

/** Memory for responses that are being compressed, a worker; beyond it they go out plain. docs/compression.md#cost */
export const MAX_COMPRESSION_BYTES = 128 * 1024 * 1024;
/** Longest body that is compressed at once: a millisecond or so. Longer ones go by slices to other threads. */
export const SYNC_COMPRESSION_BYTES = 262_144;
/** The same where the level is above CHEAP_LEVEL. */
export const SYNC_COSTLY_BYTES = 32_768;
/** Levels up to this one cost less than 5 ns a byte. */
export const CHEAP_LEVEL = 5;
/** Longest body that is held until all of it is compressed, so that the cache can store it. */
export const MAX_HELD_COMPRESSION_BYTES = 4 * 1024 * 1024;
/** Longest file whose compressed form is kept, and the bytes of all of them that a worker keeps. docs/compression.md#files */
export const MAX_KEPT_FILE_BYTES = 4 * 1024 * 1024;
export const MAX_KEPT_PACKED_BYTES = 32 * 1024 * 1024;
/** Bytes of a stream that are compressed at a time, and those that may wait for it before its source is stopped. */
export const COMPRESSION_SLICE_BYTES = 65_536;
export const MAX_COMPRESSION_BACKLOG_BYTES = 131_072;
/** Milliseconds for which a response is held until its body is complete; then what there is goes out, and the rest as it comes. */
export const COMPRESSION_HOLD_MS = 250;
/** The same where the cache would store it, which it can only with a length. */
export const COMPRESSION_HOLD_STORED_MS = 2000;

/** Bytes of a response's content that are looked at for leaks. docs/waf.md#responses */
export const MAX_LEAK_BYTES = 16_384;
/** Milliseconds for which a response is held to be looked at; then it is looked at as it goes out. */
export const LEAK_HOLD_MS = 1000;
/** Bytes of responses that a worker holds for it at the same time. */
export const MAX_HELD_LEAK_BYTES = 16_777_216;

/** Milliseconds that what is known of a file is believed before the disk is asked again, where no response is stored. */
export const FILE_RECHECK_MS = 100;

/** Most memory of a cache: what one array can hold. */
export const MAX_CACHE_BYTES = 4_294_901_760;
/** Size of the blocks of which stored responses consist; see CacheMemory. */
export const CACHE_BLOCK_MIN_BYTES = 256;
export const CACHE_BLOCK_MAX_BYTES = 16_384;
/** Fetches for the cache under way at a time, all workers together; beyond it no exchange waits for another's fetch. */
export const MAX_CACHE_FILLS = 1024;
/** Responses of one resource that differ by Accept-Encoding or method; one more takes the place of the oldest. */
export const MAX_CACHE_VARIANTS = 32;
/** Tenths of a millisecond that a thread waits for the lock of the cache before it does without. */
export const CACHE_LOCK_WAITS = 20;
/** Milliseconds from the beginning of a request for which its look-up tries again where the lock could not be had. */
export const CACHE_LOOKUP_MS = 200;
/** Milliseconds that a request waits for another's fetch of the same response before it is forwarded itself. */
export const CACHE_WAIT_MS = 10_000;
/** Milliseconds between two polls of other workers' fetches that exchanges wait for. */
export const CACHE_POLL_MS = 4;
/** Reads from the disk of the cache that a worker has under way at a time; what comes then waits its turn. */
export const MAX_DISK_READS = 16;
/** Bytes of a segment of the disk's cache, least and most: a sixty-fourth of all within these. */
export const DISK_SEGMENT_MIN_BYTES = 1_048_576;
export const DISK_SEGMENT_MAX_BYTES = 1_073_741_824;
/** Milliseconds until a disk that failed is tried again. */
export const DISK_RETRY_MS = 10_000;
/** Milliseconds that a start waits at most for what the disk's cache has. */
export const DISK_START_MS = 2000;
/** How often two processes look whether what one has handed to the other still holds. */
export const CACHE_HANDOVER_MS = 20;
/** Responses that a worker fetches anew in the background at a time. */
export const MAX_BACKGROUND_FETCHES = 64;
/** Requests of a worker that are copied, or under way to a mirror, at a time. */
export const MAX_MIRRORED_REQUESTS = 256;
/** Largest request body that is mirrored. */
export const MAX_MIRRORED_BODY_BYTES = 65_536;
/** Bytes of a body that are compared with the mirror's; the mirror's own is not read any further. */
export const MAX_COMPARED_BYTES = 1_048_576;
/** Milliseconds that a mirror has: for a connection, for the head of its response and between two pieces, and in all. */
export const MIRROR_CONNECT_MS = 5000;
export const MIRROR_IDLE_MS = 10_000;
export const MIRROR_TOTAL_MS = 30_000;
/** Failures in a row after which a worker leaves a mirror out, and for how long. */
export const MIRROR_FAILURES = 5;
export const MIRROR_REST_MS = 10_000;
/** Body bytes of a failing origin's response that are read and thrown away when a stale response is sent instead. */
export const MAX_STALE_DRAIN_BYTES = 65_536;
/** Bytes of the body of a purge call. */
export const MAX_PURGE_CALL_BYTES = 16_384;
/** Bytes of the body of any other call by which an operator changes something. */
export const MAX_ACTION_CALL_BYTES = 4096;

// HTTP/2. What a peer may do how often before its connection ends with ENHANCE_YOUR_CALM; beside each what nghttp2
// and Envoy do by default. Those of window updates and control frames grow with the frames that we send.

/** Bytes that a client may send ahead on one stream. nghttp2 65535; Envoy 16 MiB, older ones 256. */
export const H2_STREAM_WINDOW_BYTES = 262_144;
/** Bytes that may be on their way on one connection; what is kept of them is bounded by the streams' windows. nginx 2 GiB; Envoy 24 MiB. */
export const H2_CONNECTION_WINDOW_BYTES = 16_777_216;
/** Streams given up by the client, or for its fault (MadeYouReset). nghttp2 1000, then 33/s; Envoy 500 in all. */
export const H2_RESET_BURST = 500;
export const H2_RESETS_PER_SECOND = 50;
/** PING, SETTINGS, PRIORITY, GOAWAY, unknown frames. nghttp2: 1000 unsent responses; Envoy likewise, 100 PRIORITY a stream. */
export const H2_CONTROL_BURST = 1000;
export const H2_CONTROL_PER_SECOND = 100;
/** WINDOW_UPDATE. nghttp2: none; Envoy: 5, 10 a DATA frame sent, and more a stream. */
export const H2_WINDOW_UPDATE_BURST = 4000;
export const H2_WINDOW_UPDATES_PER_SECOND = 1000;
/** DATA without a byte that does not end its stream. nghttp2: none; Envoy: 1 in a row. */
export const H2_EMPTY_DATA_BURST = 100;
export const H2_EMPTY_DATA_PER_SECOND = 10;
/** CONTINUATION frames of one header block. nghttp2 8; Envoy (by way of nghttp2) 8. */
export const H2_MAX_CONTINUATIONS = 8;
/** Bytes of our dynamic tables, the peer's announced to it. nghttp2 and Envoy 4096. */
export const H2_HEADER_TABLE_BYTES = 4096;
/** Streams that we have reset and whose late frames are passed over. */
export const H2_REMEMBERED_RESETS = 64;
/** A response of which the client takes less than this within `write_timeout` is given up: a slow read. */
export const MIN_PROGRESS_BYTES = 1024;
/** Bytes of DATA frames that are put together for one write. */
export const H2_BLOCK_BYTES = 65_536;
/** Streams on one connection to an origin at most, fewer where it allows fewer; further requests make another one. */
export const H2_ORIGIN_STREAMS = 100;
/** Connections of one worker to one origin of HTTP/2 that take streams; what they have no room for waits. */
export const MAX_H2_ORIGIN_CONNECTIONS = 128;
/** Of these, those that are made so that request bodies do not share a window; beyond, they share those that have most of it. */
export const H2_ORIGIN_SPREAD = 16;
/** Milliseconds for which bodies share connections after a further one could not be made. */
export const H2_ORIGIN_SHARE_MS = 10_000;
/** Bytes of a connection's window that a body must find, beside what others may take of it; a body of so much that goes on is a long one. */
export const H2_SEND_RESERVE_BYTES = 16_384;
/** Exchanges of one worker that wait for a stream to one origin; further ones get 503. */
export const MAX_H2_ORIGIN_WAITING = 4096;
/** Bytes of a body's beginning that are kept until its origin of HTTP/2 takes the request up, and all those of one worker and origin. */
export const MAX_H2_START_BYTES = 65_536;
export const MAX_H2_STARTS_BYTES = 8_388_608;
/** Milliseconds that a connection to an origin waits for its SETTINGS before it does without their limit of streams. */
export const H2_SETTINGS_WAIT_MS = 1000;
/** Milliseconds for which a connection counts as new, so that further exchanges that need a new one go over it too. */
export const H2_FRESH_MS = 1000;
/** Milliseconds for which the number of streams beyond which an origin has refused one bounds its new connections. */
export const H2_LEARNT_MS = 1000;
/**
 * Streams that we reset on one connection to an origin, at once and a second, fewer where it takes fewer streams: well below
 * what origins take for an attack (Netty: 200 in 30 s; Undertow: 200 in 10 s; Envoy: 500; nghttp2: 1000, then 33 a second;
 * Go: four times its limit of streams whose handlers still run). What is given up beyond runs out by itself.
 */
export const H2_ORIGIN_CANCEL_BURST = 50;
export const H2_ORIGIN_CANCELS_PER_SECOND = 4;
/** Of these, streams of which the origin has said nothing, and which may lie unread there. h2 (Rust): 20 that wait. */
export const H2_ORIGIN_EARLY_CANCEL_BURST = 16;
export const H2_ORIGIN_EARLY_CANCELS_PER_SECOND = 1;
/** Milliseconds after which a stream that was given up without a reset is reset as soon as there may be one more. */
export const H2_RUN_OUT_MS = 10_000;
/** Streams that an origin resets on one connection, at once and a second, before new exchanges go over another. */
export const H2_ORIGIN_RESET_BURST = 20;
export const H2_ORIGIN_RESETS_PER_SECOND = 2;
/**
 * New connections to an origin that turns away or wears out the old ones, at once and a second; then a rest comes before each.
 * As many again where it is us who have reset too much on the old ones.
 */
export const H2_ORIGIN_CHURN_BURST = 8;
export const H2_ORIGIN_CHURN_PER_SECOND = 2;
export const H2_ORIGIN_REST_MS = 500;
/** Memory that waits for a client that does not read, beyond which no more is read of what it sends. */
export const H2_UNREAD_BYTES = 262_144;

/** Milliseconds that an idle connection stays open after the gateway began to shut down. */
export const DRAIN_IDLE_MS = 1000;

/** Milliseconds that a refused connection is read and discarded so that the client can read the response. */
export const LINGER_MS = 1000;
/** Bytes discarded from a refused connection before it is cut. */
export const LINGER_BYTES = 8 * 1024 * 1024;

/** Characters of a client's X-Request-Id that are kept; a longer one is replaced. */
export const MAX_REQUEST_ID_BYTES = 128;
/** Own entries in Via after which a request is taken for a loop (508). */
export const MAX_VIA_HOPS = 10;

/** Bytes of one output slab: response heads and small bodies leave in one write from it. */
export const SLAB_BYTES = 16384;
/** Bytes that may wait in one worker for peers that do not read, where no configuration says otherwise. */
export const DEFAULT_UNSENT_BYTES = 64 * 1024 * 1024;
/** What is left of a larger chunk up to this is copied where it must wait, so that the chunk can go. */
export const KEPT_COPY_BYTES = 32768;
/** Routes from which on a configuration is large: their handlers are made late, and its leftovers are collected at once. */
export const MANY_ROUTES = 1000;
/** Free output slabs a worker keeps. */
export const MAX_FREE_SLABS = 256;
/** Exchanges a worker keeps for reuse. */
export const MAX_FREE_EXCHANGES = 256;

/** Granularity of the timer wheel in milliseconds. */
export const TICK_MS = 50;
/** A worker whose tick comes so much later than the one before has been stalled: a stopped process, a machine asleep. */
export const STANDSTILL_MS = 250;
/** Slots of the timer wheel; a longer timer goes round again. */
export const WHEEL_SLOTS = 512;

/** Streams of a configuration: each has counters of its own in every worker. */
export const MAX_STREAMS = 1000;
/** Datagrams that wait for the socket of their session. */
export const MAX_WAITING_DATAGRAMS = 16;
/** Milliseconds that a tunnel (WebSocket) may stay without a byte in either direction. */
export const TUNNEL_IDLE_MS = 3_600_000;
/** Milliseconds that a connection to an origin is kept beyond `max_idle_conns`. */
export const SPARE_CONNECTION_MS = 1000;
/** Milliseconds that a connection to an origin is used; then a new one is made, and the origin's name resolved again. */
export const MAX_UPSTREAM_CONNECTION_MS = 300_000;
/** Response bodies up to this size are copied after their head, so that both leave in one write. */
export const COPY_BODY_BYTES = 8192;
/** Received chunks of so many bytes are given back as soon as they are unused, and not by the garbage collector. */
export const RETURNED_CHUNK_BYTES = 8192;
/** Received chunks of so many bytes are not kept for the head at their beginning: it is copied. */
export const LEFT_CHUNK_BYTES = 65_536;

/** Requests a second that one run of the load generator makes at most. */
export const MAX_LOAD_RATE = 1_000_000;
/** Requests of a file that the load generator sends in turn, and its bytes. */
export const MAX_LOAD_REQUESTS = 100_000;
export const MAX_LOAD_FILE_BYTES = 64 * 1024 * 1024;
/** Streams of HTTP/2 or HTTP/3 that one thread of the load generator has open at a time. */
export const MAX_LOAD_STREAMS = 1000;
/** Connections that the benign stream of the load generator keeps at most. */
export const MAX_LOAD_CONNECTIONS = 10_000;
/** Milliseconds of one run of the load generator at most. */
export const MAX_LOAD_MS = 24 * 3_600_000;
/** Milliseconds from the time at which a request of the load generator was due until it has failed. */
export const LOAD_REQUEST_LIMIT_MS = 5000;
/** Connections of the adversarial stream that one thread holds open at once; more attacks wait for their turn. */
export const MAX_OPEN_ATTACKS = 1000;
/** Bytes of the header line of ADV-07, and the length that ADV-08 declares. */
export const LOAD_ATTACK_LINE_BYTES = 9000;
export const LOAD_ATTACK_BODY_BYTES = 100 * 1024 * 1024;

/** Bytes of the body of a proxy-test call. docs/endpoints.md#proxy-test */
export const MAX_PROBE_CALL_BYTES = 65536;
/** Bytes of a probe's response that are read and discarded beyond what is kept. docs/endpoints.md#proxy-test */
export const PROBE_DRAIN_BYTES = 65536;

/** Characters of an HTTP-01 token. docs/acme.md#http-01 */
export const MAX_CHALLENGE_TOKEN_CHARS = 128;
/** Bytes of all HTTP-01 responses that are expected at once: some 370 names. */
export const MAX_CHALLENGE_BYTES = 65536;

/** Bytes of a ClientHello; real ones have 200 to 2,000. OpenSSL takes 131 KiB, BoringSSL 16 KiB. */
export const MAX_CLIENT_HELLO_BYTES = 16384;
/** Bytes of the records that hold it. Some clients cut it into many, and each has a header of five bytes. */
export const MAX_CLIENT_HELLO_WIRE_BYTES = 32768;
/** Names of application protocols of one client that are looked at. */
export const MAX_ALPN_NAMES = 32;
/** Signature schemes of a ClientHello that are looked at; there are some thirty. */
export const MAX_SIGNATURE_SCHEMES = 64;
/** TLS handshakes that one listener of one worker has under way; a new one beyond that ends the oldest. */
export const MAX_HANDSHAKES = 1024;
/** Characters of one value in a line of the access log. */
export const MAX_LOG_LINE_CHARS = 4096;
/** Files of a log that were put aside and are kept. */
export const MAX_LOG_FILES = 10_000;
/** Bytes of one response of a certificate authority. */
export const MAX_ACME_REPLY_BYTES = 1_048_576;
/** Certificates that are obtained, beside those of hosts. */
export const MAX_ACME_CERTIFICATES = 1000;
/** Certificates that are obtained when a client first asks for their name. */
export const MAX_ON_DEMAND_NAMES = 10_000;
/** Names that are asked about or ordered for at the same time. */
export const MAX_ON_DEMAND_QUESTIONS = 32;
/** Milliseconds for which a name that was refused is not asked about again. */
export const ON_DEMAND_REFUSAL_MS = 300_000;
/** Milliseconds until a service that did not answer is asked again about a certificate that is shown. */
export const ON_DEMAND_RECHECK_MS = 60_000;
/** Milliseconds that the service has to approve of a name. */
export const ON_DEMAND_ASK_MS = 5_000;
/** Milliseconds that a handshake waits for its certificate. */
export const ON_DEMAND_WAIT_MS = 30_000;
/** Handshakes that wait for certificates, a worker. */
export const MAX_WAITING_HANDSHAKES = 256;
/** Names on one certificate: what public authorities take. */
export const MAX_ACME_NAMES = 100;

/** Origins that requests to the outbound listener of a sidecar have named and that are remembered, a worker. */
export const MAX_EGRESS_ORIGINS = 1024;
/** Characters of what a client's certificate says that go on in X-Forwarded-Client-Cert. */
export const MAX_CLIENT_CERT_CHARS = 4096;

/** Bytes of a service configuration with rules for methods. */
export const MAX_RULE_FILE_BYTES = 4_194_304;
/** Bytes of a FileDescriptorSet, and of the descriptors that one upstream tells of itself. */
export const MAX_DESCRIPTOR_BYTES = 16 * 1024 * 1024;
/** Files that are asked for, one after the other, to complete what reflection told. */
export const MAX_REFLECTED_FILES = 1000;
/** Milliseconds that reflection may take; then the call goes on without a schema. */
export const REFLECTION_TIMEOUT_MS = 2000;
/** Milliseconds that one attempt to learn all of an upstream's services may take. */
export const LEARN_TIMEOUT_MS = 10_000;
/** Milliseconds that a start waits for the first of them. */
export const LEARN_START_MS = 2000;
/** Milliseconds until the next attempt after one that failed; each time twice as long, up to the second. */
export const LEARN_BACKOFF_MS = 500;
export const LEARN_BACKOFF_MAX_MS = 30_000;
/** What one line of the log says of methods that cannot be served. */
export const MAX_LEARNED_NOTES = 20;
/** Milliseconds that "this upstream has no reflection" is believed. */
export const NO_SCHEMA_MS = 60_000;
/** Milliseconds before reflection is tried again after it failed in any other way. */
export const SCHEMA_RETRY_MS = 1000;
/** Requests that wait for the schema of one service; more get 503. */
export const MAX_SCHEMA_WAITERS = 1000;
/** Bytes of one gRPC message of a response; a longer one is a malformed response. gRPC's own default is a quarter of it. */
export const MAX_GRPC_MESSAGE_BYTES = 16 * 1024 * 1024;
/** Messages of a stream of requests, and their bytes, that are transcoded before other connections get their turn. */
export const MAX_STREAM_TURN_MESSAGES = 256;
export const MAX_STREAM_TURN_BYTES = 64 * 1024;
/** Milliseconds that a client has to close a WebSocket after the gateway has. */
export const SOCKET_CLOSE_MS = 5000;
/** Connections of one worker to one gRPC upstream; calls that they have no room for wait. */
export const MAX_GRPC_CONNECTIONS = 16;
/** Bytes of a JSON body, or of a message, from which on another thread transcodes it: reading and writing it here takes up to 30 ms. */
export const LARGE_MESSAGE_BYTES = 48 * 1024;
/** Large messages of a worker that wait for such a thread, and those of one client; more are refused with 503. */
export const MAX_CODEC_JOBS = 1000;
export const MAX_CODEC_JOBS_OF_CLIENT = 250;
/** Threads of a worker for them, and how many of these one client has at once; one connection has one. */
export const MAX_CODEC_THREADS = 6;
export const MAX_CODEC_THREADS_OF_CLIENT = 4;
/** Milliseconds that a large message waits until another thread is started for it. */
export const CODEC_THREAD_WAIT_MS = 100;
/** Milliseconds that one may take while others wait that have no thread, and in any case; then it is refused with 503, and its thread replaced. */
export const CODEC_SHARE_MS = 2000;
export const CODEC_LIMIT_MS = 10_000;
/** Milliseconds that one may take on whose client has left. */
export const CODEC_LEFT_MS = 100;
/** Milliseconds without work after which all of these threads but one are ended. */
export const CODEC_IDLE_MS = 10_000;
/** Levels of objects and lists in a JSON body. It is protobuf's own limit for messages. */
export const MAX_JSON_DEPTH = 100;

/** Fields of a response over HTTP/3: the runtime sends 128 with those that the gateway adds. More are a malformed response there. */
export const H3_MAX_REPLY_FIELDS = 112;
/** How long the end of an HTTP/3 request without a declared length is waited for, before a body is expected of it. */
export const H3_HEAD_ALONE_MS = 50;
/** Bytes that go to an HTTP/3 stream in one call: what it holds beyond what it has been asked to. */
export const H3_WRITE_BYTES = 65_536;
/** Requests that one HTTP/3 client may have open; Caddy and nginx allow 100 and 128. */
export const H3_MAX_STREAMS = 100;
/** HTTP/3 connections, all together and from one address. */
export const H3_MAX_SESSIONS = 16_384;
export const H3_MAX_SESSIONS_PER_HOST = 4096;
/** The windows that an HTTP/3 client begins with, a request and a connection; the runtime opens them as bytes come. */
export const H3_STREAM_WINDOW_BYTES = 262_144;
export const H3_SESSION_WINDOW_BYTES = 1_048_576;
/** How often a new process asks for the UDP port that its predecessor still has. */
export const H3_PORT_POLL_MS = 20;
/** For how long a process that is being replaced serves HTTP/3 as before, where requests are under way. */
export const H3_SERVE_MS = 700;
export const H3_HANDOVER_POLL_MS = 10;
/** For how long requests are finished, then, the time before GOAWAY included. */
export const H3_LEAVE_MS = 300;
/** How long the requests that come over an HTTP/3 connection wait for its GOAWAY, so that the client has none on its way then. */
export const H3_HOLD_MS = 100;
/** Those with a longer body, or one of unknown length, do not wait. */
export const H3_MAX_HELD_BYTES = 65_536;
/**
 * For how long a moment is waited for, then, in which no connection begins; for how long new connections are refused where none came; and
 * for how long requests are finished when every connection has got GOAWAY.
 */
export const H3_CALM_MS = 150;
/** What the last responses have until they have left the runtime, which says no more than that it has taken them. */
export const H3_FLUSH_MS = 60;
/** How long an HTTP/3 connection counts as beginning, whose first request may be on its way. */
export const H3_BEGINNING_MS = 150;
/** For how long its first requests may still be coming where one has, and how long such connections are waited for at most. */
export const H3_FRESH_MS = 50;
/** How long an idle HTTP/3 connection is given to open the stream without which the runtime sends no GOAWAY. */
export const H3_STREAM_WAIT_MS = 20;
/** How long a new binary may take until it serves, and the workers of the old one until they can hand over. */
export const UPGRADE_DEADLINE_MS = 30_000;

/** For how long failures to connect to one origin, for one reason, stay at one line of a worker's log. */
export const CONNECT_FAILURE_LOG_MS = 10_000;
/** Origins and reasons of which a worker remembers that. */
export const MAX_LOGGED_ORIGINS = 256;

/** Bytes of a message of a SPIFFE agent: identities of one process with the bundle of their trust domain. */
export const MAX_WORKLOAD_MESSAGE_BYTES = 4_194_304;
/** Longest wait of a start for the first identity of an agent that does not respond. */
export const WORKLOAD_START_MS = 2000;
/** Pause before an agent that is away is asked again, the first time and at most. */
export const WORKLOAD_RETRY_MIN_MS = 1000;
export const WORKLOAD_RETRY_MAX_MS = 30_000;

/** Bytes of a database of addresses; those of cities have 70 MB to 500 MB. */
export const MAX_GEO_DATABASE_BYTES = 1_073_741_824;

/** Bytes of a page of a site: every worker holds it, and a refusal must stay cheap. */
export const MAX_PAGE_BYTES = 262_144;
/** Bytes of an origin's body that are read in vain to keep its connection, where a page takes the body's place. */
export const MAX_DROPPED_BODY_BYTES = 65_536;

/** Names in a file of user agents, characters of each, and bytes of the file. docs/bots.md#what-is-suspicious */
export const MAX_AGENT_NAMES = 2000;
export const MAX_AGENT_NAME_CHARS = 200;
export const MAX_AGENTS_FILE_BYTES = 262_144;
/** How long the task of a challenge may be solved, in milliseconds. */
export const CHALLENGE_LIFE_MS = 300_000;
/** Cookies of one name that are looked at for a pass: another site of the domain may have set further ones. */
export const MAX_PASSES_TRIED = 4;
/** Bytes of a user agent that are looked at, and that a pass is bound to: the cost is the same whatever a client sends. */
export const MAX_BOUND_AGENT_BYTES = 512;
/** User agents whose names a worker remembers to have looked for. */
export const MAX_REMEMBERED_AGENTS = 1024;
/** Addresses that a worker verifies as a crawler's at a time, and of those so many of one network. */
export const MAX_CRAWLER_LOOKUPS = 64;
export const MAX_CRAWLER_LOOKUPS_OF_NETWORK = 8;
/** Requests that wait for that, each worker; further ones are challenged. */
export const MAX_CRAWLER_WAITERS = 1024;
/** Verified and refused addresses that a worker remembers, and for how long. */
export const MAX_REMEMBERED_CRAWLERS = 4096;
export const CRAWLER_MEMORY_MS = 3_600_000;
export const CRAWLER_REFUSAL_MEMORY_MS = 300_000;
export const CRAWLER_FAILURE_MEMORY_MS = 5000;
/** Names of one address that are looked at. */
export const MAX_REVERSE_NAMES = 4;

/**
 * Longest turns of a data worker and of a function's thread, in microseconds, where another thread waits for the processor: a worker's are
 * the shortest that the kernel gives, so that it runs as soon as it wakes, whatever functions and the collector do with their memory.
 */
export const WORKER_SLICE_US = 100;
export const FUNCTION_SLICE_US = 500;
/** Files that a thread of a module may have open: a sixteenth of the process's descriptors, within these. */
export const MIN_FUNCTION_FILES = 8;
export const MAX_FUNCTION_FILES = 256;
/** Milliseconds that a module may take to load. */
export const FUNCTION_LOAD_MS = 30_000;
/** Milliseconds that requests of an earlier version of a module may take after a reload. */
export const FUNCTION_RETIRE_MS: number = shorterInTests("FUNCTION_RETIRE_MS", 300_000);
/** Longest pause within the response of a function, in milliseconds: as that of an origin by default. */
export const FUNCTION_IDLE_MS: number = shorterInTests("FUNCTION_IDLE_MS", 300_000);

/** A constant of the build, by `scripts/build`; not there where the code runs from its sources. */
declare const EDGE_TEST_BUILD: boolean;

/** A time that a test would wait too long for: in what `scripts/build --tests` makes, a variable `EDGE_TEST_…` may shorten it. */
function shorterInTests(name: string, ms: number): number {
  if (typeof EDGE_TEST_BUILD === "undefined" || !EDGE_TEST_BUILD) return ms;
  return Number(process.env[`EDGE_TEST_${name}`] ?? ms);
}
