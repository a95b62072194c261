import { type ForeignKeys, means, says } from "../config/foreign-names.ts";

/** Keys of `server:`. */
export const FOREIGN_SERVER_KEYS: readonly ForeignKeys[] = [
  says("listen", "write host and port, two keys", ["host", "port"]),
  means("bind address hostname", ["host"]),
  says("server_name", "names belong to a route, as its host"),
  means(
    "ssl https ssl_certificate ssl_certificate_key",
    ["tls.cert_file", "tls.key_file"],
    "tls, with cert_file and key_file",
  ),
  means("client_max_body_size", ["max_body_bytes"]),
  means("keepalive_timeout", ["idle_timeout"]),
  means("worker_processes nbthread", ["workers"]),
  means("set_real_ip_from", ["trusted_proxies"]),
  means("limit_req", ["rate_limit"]),
  means("error_page errorfile handle_errors error_pages", ["errors"]),
  says("log logging log_level error_log", "the log goes to stdout; access_log can be switched off or sampled", [
    "access_log",
  ]),
  means("gzip compress encode brotli", ["compression"]),
  means("basic_auth auth_basic basicauth", ["auth.basic"], "auth, with basic: {users_file}"),
];
