/** What lines of the access log have without `access_log.fields`, in their order. docs/operations.md#access-log */
const USUAL = {
  time: "When the request ended, in UTC.",
  event: "`access`.",
  request_id: "The X-Request-Id that the upstream got; null without an upstream.",
  client_ip: "The client's address, as `trusted_proxies` or `proxy_protocol` gives it.",
  country: "The client's country by `server.geo`, in two letters; null if unknown. Only with `geo.country_db`.",
  method: "The method.",
  host: "The Host of the request.",
  path: "The path as it was received, without the query.",
  protocol: "HTTP/1.0, HTTP/1.1, HTTP/2.0 or HTTP/3.0.",
  status: "The status of the response; 499 if the client closed first.",
  bytes_in: "Bytes of the request body, decoded.",
  bytes_out: "Bytes of the response body.",
  duration_ms: "From the first byte of the request to the end of the response.",
  upstream: "The last upstream of the request; null if none.",
  upstream_ms: "Time to the head of its response; null if none came.",
  route: "The prefix, path or pattern of the route; `unmatched` without one.",
  cache: "hit, miss, stale and so on; null without a look at the cache.",
  waf_score: "The anomaly score.",
  user_agent: "The User-Agent of the request.",
  trace_id: "The id of the trace that the request belongs to; null without one. Only with `telemetry`.",
  user: "The user whom `auth` let in, null without one; there only where `auth` is configured.",
  listener: "The name of the listener. Without `fields` only with `server.listeners`.",
  fault:
    "Why the request was refused or cut: upstream_timeout, body_too_large, waf_blocked, cancelled and so on; else null.",
  fault_detail:
    "The cause of it, such as closed_before_head or tls_verify:expired (`edge help 502` lists them); the same as fault if that has no finer cause, null if nothing is wrong.",
  target: "The last target that the request was sent to, as `edge status` names it; null if it was sent to none.",
  attempts: "How often it was sent to a target; 0 if it was not.",
  attempt_ms: "A list of the time of each attempt, to the head of its response or to its failure.",
} as const;

/** Fields that `access_log.fields` and templates may name beside those. */
const FURTHER = {
  query: "The query as it was received, without `?`; null without one. It may hold what does not belong into a log.",
  referer: "The Referer of the request, without query and fragment.",
  tls_version: "Such as `TLSv1.3`; null in clear text.",
  tls_group: "The group of the key exchange, such as `X25519MLKEM768`; null in clear text and over HTTP/3.",
  "tls.ja4": "The JA4 fingerprint of the client's handshake; null in clear text and over HTTP/3.",
  "tls.group": "The same as tls_group.",
  "http2.fingerprint": "How the client began its HTTP/2 connection (docs/fingerprints.md); else null.",
  "agent.name": "The agent that has signed the request, by `server.agents`; null without one.",
  "ai.model": "The language model that the client has named, at a route with `ai`; null without one.",
  "ai.prompt_tokens": "Tokens of the request to it; null without a model.",
  "ai.completion_tokens": "Tokens of its response; null without a model.",
  waiting_room:
    "The turn of a visitor whom a `waiting_room` asks to wait; null if it is in, or got no place in the queue.",
  asn: "The number of the client's network, by `server.geo`; null if unknown.",
} as const;

/** Every field of an `access` line, and what it says. */
export const ACCESS_FIELDS = { ...USUAL, ...FURTHER } as const;

/** The name of one. */
export type AccessField = keyof typeof ACCESS_FIELDS;

/** The names of the usual ones. */
export const USUAL_ACCESS_FIELDS = Object.keys(USUAL) as readonly (keyof typeof USUAL)[];
