// Words that people bring along from nginx, HAProxy, Caddy, Traefik and Envoy, and their equivalents here. A cure for
// what edge does not have says so, rather than leave it to be searched for.

const PASSWORDS = "edge does not check passwords: leave that to the upstream, or require client certificates";

function means(key: string): string {
  return `unknown key: here it is called ${key}`;
}

/** Keys at a route. */
export const FOREIGN_ROUTE_KEYS: readonly (readonly [string, string])[] = [
  ["tests", 'belong beside the routes: put "routes:" above the list, and "tests:" below it, in the first column'],
  ...["proxy_pass", "reverse_proxy", "backend", "upstream", "url", "service"].map(
    (name) => [name, means("target, or targets for several")] as const,
  ),
  ...["backends", "upstreams", "servers"].map((name) => [name, means("targets")] as const),
  ...["root", "alias", "directory", "folder"].map((name) => [name, means("dir")] as const),
  ...["location", "path_prefix", "match"].map((name) => [name, means("prefix, or path for exactly one path")] as const),
  ["server_name", means("host")],
  ["try_files", "unknown key: write spa: true to serve index.html for paths without a file"],
  ["index", "unknown key: index.html is used automatically"],
  ...["proxy_set_header", "header_up", "add_header", "header_down", "header"].map(
    (name) => [name, means("headers: request or response, each with set, add and remove")] as const,
  ),
  ...["websocket", "websockets", "upgrade"].map(
    (name) => [name, "unknown key, and none is needed: WebSockets work without one"] as const,
  ),
  ...["gzip", "compress", "encode", "brotli"].map((name) => [name, means("compression")] as const),
  ...["auth", "basic_auth", "auth_basic"].map((name) => [name, `unknown key: ${PASSWORDS}`] as const),
  ...["uri", "regex"].map((name) => [name, means("rewrite, with path, or with regex and to")] as const),
  ...["redirect", "redir", "return"].map(
    (name) => [name, "unknown key: a redirect is a route of its own, with type: redirect and to"] as const,
  ),
  ["limit_req", means("rate_limit")],
  ...["error_page", "errorfile", "handle_errors", "error_pages"].map((name) => [name, means("errors")] as const),
  ...["client_max_body_size", "max_size", "request_body"].map((name) => [name, means("max_body_bytes")] as const),
  ...["proxy_cache", "proxy_cache_valid"].map((name) => [name, means("cache, with default_ttl")] as const),
  ...["expires", "max_age"].map((name) => [name, means("cache_control, such as max-age=3600")] as const),
  ...["proxy_read_timeout", "proxy_connect_timeout", "proxy_send_timeout"].map(
    (name) => [name, means("timeouts, with connect, response_header, idle and total")] as const,
  ),
  ["proxy_next_upstream", means("retries, with attempts")],
  ["ip_hash", means("load_balancing, with policy: ip_hash")],
  ...["unix", "socket"].map((name) => [name, means("target, such as target: unix:/run/app.sock")] as const),
  ...["allow", "deny", "remote_ip"].map((name) => [name, means("ip_rules, with allow and deny")] as const),
  ...["cors", "security_headers"].map(
    (name) => [name, `unknown key: it is one of server, in config.yaml, for all routes`] as const,
  ),
  ...["buffering", "proxy_buffering", "proxy_request_buffering", "flush_interval"].map(
    (name) =>
      [name, "unknown key: responses go on as they come; for requests in chunks see inbound_chunked_mode"] as const,
  ),
  ...["autoindex", "browse", "listing"].map((name) => [name, "unknown key: there are no listings of folders"] as const),
];

/** Keys of `server:`. */
export const FOREIGN_SERVER_KEYS: readonly (readonly [string, string])[] = [
  ["listen", "unknown key: write host and port, two keys"],
  ...["bind", "address", "hostname"].map((name) => [name, means("host")] as const),
  ["server_name", "unknown key: names belong to a route, as its host"],
  ...["ssl", "https", "ssl_certificate", "ssl_certificate_key"].map(
    (name) => [name, means("tls, with cert_file and key_file")] as const,
  ),
  ["client_max_body_size", means("max_body_bytes")],
  ["keepalive_timeout", means("idle_timeout")],
  ...["worker_processes", "nbthread"].map((name) => [name, means("workers")] as const),
  ["set_real_ip_from", means("trusted_proxies")],
  ["limit_req", means("rate_limit")],
  ...["error_page", "errorfile", "handle_errors", "error_pages"].map((name) => [name, means("errors")] as const),
  ...["log", "logging", "log_level", "error_log"].map(
    (name) => [name, "unknown key: the log goes to stdout; access_log can be switched off or sampled"] as const,
  ),
  ...["gzip", "compress", "encode", "brotli"].map((name) => [name, means("compression")] as const),
];

/** Keys of `server.cache`. */
export const FOREIGN_CACHE_KEYS: readonly (readonly [string, string])[] = [
  "stale_while_revalidate",
  "stale_if_error",
].map(
  (name) => [name, "unknown key: the upstream says so in Cache-Control, such as stale-while-revalidate=30"] as const,
);
