import { type ForeignKeys, means, says } from "../config/foreign-names.ts";

/** Keys at a route. */
export const FOREIGN_ROUTE_KEYS: readonly ForeignKeys[] = [
  {
    names: ["tests"],
    keys: [],
    advice: 'belong beside the routes: put "routes:" above the list, and "tests:" below it, in the first column',
  },
  means(
    "proxy_pass reverse_proxy backend upstream url service",
    ["target", "targets"],
    "target, or targets for several",
  ),
  means("backends upstreams servers", ["targets"]),
  means("root alias directory folder", ["dir"]),
  means("location path_prefix", ["prefix", "path"], "prefix, or path for exactly one path"),
  means("server_name", ["host"]),
  says("try_files", "write spa: true to serve index.html for paths without a file", ["spa"]),
  says("index", "index.html is used automatically"),
  means(
    "proxy_set_header header_up add_header header_down header",
    ["headers", "headers.request.set", "headers.response.add", "headers.response.remove"],
    "headers: request or response, each with set, add and remove",
  ),
  {
    names: ["websocket", "websockets", "upgrade"],
    keys: [],
    advice: "unknown key, and none is needed: WebSockets work without one",
  },
  means("gzip compress encode brotli", ["compression"]),
  means("basic_auth auth_basic basicauth", ["auth.basic"], "auth, with basic: {users_file}"),
  means("forward_auth auth_request", ["auth.forward"], "auth, with forward: {url}"),
  means("uri", ["rewrite.path", "rewrite.regex", "rewrite.to"], "rewrite, with path, or with regex and to"),
  says("redirect redir return", "a redirect is a route of its own, with type: redirect and to", ["to"]),
  means("limit_req", ["rate_limit"]),
  means("error_page errorfile handle_errors error_pages", ["errors"]),
  means("client_max_body_size max_size request_body", ["max_body_bytes"]),
  means("proxy_cache proxy_cache_valid", ["cache.default_ttl"], "cache, with default_ttl"),
  means("expires max_age", ["cache_control"], "cache_control, such as max-age=3600"),
  means(
    "proxy_read_timeout proxy_connect_timeout proxy_send_timeout",
    ["timeouts.connect", "timeouts.response_header", "timeouts.idle", "timeouts.total"],
    "timeouts, with connect, response_header, idle and total",
  ),
  means("proxy_next_upstream", ["retries.attempts"], "retries, with attempts"),
  means("ip_hash", ["load_balancing.policy"], "load_balancing, with policy: ip_hash"),
  means("unix socket", ["target"], "target, such as target: unix:/run/app.sock"),
  means("allow deny remote_ip", ["ip_rules.allow", "ip_rules.deny"], "ip_rules, with allow and deny"),
  says(
    "buffering proxy_buffering proxy_request_buffering flush_interval",
    "responses go on as they come; for requests in chunks see inbound_chunked_mode",
    ["inbound_chunked_mode"],
  ),
  says("autoindex browse listing", "there are no listings of folders"),
];
