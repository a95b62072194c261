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
  means(
    "log logging log_file log_format log_level error_log",
    ["access_log.outputs", "access_log.fields", "access_log.format"],
    "access_log, with outputs, fields and format",
  ),
  means("gzip compress encode brotli", ["compression"]),
  means(
    "letsencrypt lets_encrypt auto_https automatic_https",
    ["acme.enabled", "acme.email"],
    "acme: {enabled: true, email}",
  ),
  says("dns dns_challenge", "a DNS provider for certificates is acme.challenge_type: dns-01 with acme.dns.provider", [
    "acme.challenge_type",
    "acme.dns.provider",
  ]),
  means(
    "cloudflare real_ip_header real_ip",
    ["trusted_proxies"],
    "trusted_proxies, with the networks: edge help cloudflare",
  ),
  says("include includes import", "one folder of files with routes is providers.directory, at the top of the file"),
  says("plugins modules lua", "code of your own is a route of type: function, or hooks: edge help functions"),
  says(
    "timeout timeouts",
    "header_timeout, idle_timeout and min_body_rate bound clients; timeouts at a route bound the upstream",
    ["header_timeout", "idle_timeout", "min_body_rate"],
  ),
  says(
    "upstreams backends servers routes locations",
    "upstreams belong to the routes in routes.yaml, as their target or targets",
  ),
  means("headers add_header", ["security_headers"], "security_headers for all routes; headers at a route sets others"),
  says("entrypoints entryPoints listens ports", "write listeners, with name and address", ["listeners"]),
  means("protocol protocols", ["http2", "http3"], "http2 and http3; HTTP/1.1 is always on"),
  says("admin", "write internal_api, at the top of the file"),
  means("basic_auth auth_basic basicauth", ["auth.basic"], "auth, with basic: {users_file}"),
];

/** Sections of other products. */
export const FOREIGN_SECTIONS: readonly ForeignKeys[] = [
  says("include includes import conf_d", "providers.directory: {path: ./routes.d} reads a folder of files with routes"),
  says("http entryPoints certificatesResolvers tcp udp api", "edge convert reads a file of Traefik: edge help traefik"),
  says("apps admin", "edge convert reads a Caddyfile: edge help caddy"),
  says(
    "global defaults frontend backend frontends backends",
    "edge convert reads a file of HAProxy: edge help haproxy",
  ),
  says("events upstream upstreams", "edge convert reads a file of nginx: edge help nginx"),
  says("static_resources", "write routes with their targets in routes.yaml: edge help quickstart"),
  says("log logging", "write server.access_log: edge help operations#access-log"),
  says("listeners", "write server.listeners"),
];
