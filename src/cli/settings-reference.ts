// Every key of both files with its default, as the file would say it. tests/unit/config/settings-reference.test.ts holds
// it to the schemas: no key is missing, and a value is the default unless its comment begins with "e.g.".
import { configFile } from "../config/config-settings.ts";
import { referenceOf } from "../config/row-reference.ts";

/** `edge help config`. */
export const CONFIG_REFERENCE = `# Every key of config.yaml. The value is the default; after "e.g." it is an example, and nothing is the default.
# Durations: 500ms, 60s, 1m30s, 2h, or seconds. Sizes: bytes, 512KiB, 4MiB. \${NAME} and \${NAME:-default} read the
# environment. Paths count from the folder of the file. Keys at the top that begin with x- may hold anchors.

${Object.entries(configFile.rows)
  .map(([key, row]) => referenceOf({ [key]: row }))
  .join("\n")}`;

/** `edge help routes`. */
export const ROUTES_REFERENCE = `# Every key of routes.yaml. The value is the default; after "e.g." it is an example, and nothing is the default.
# A path that equals a route's "path" goes there, else the longest prefix wins; one that fits none gets 404.

routes:
  - type: static                  # files from a folder
    prefix: /static               # e.g.
    host: [www.example.com, "*.example.org"] # e.g. every host by default
    dir: ./public                 # e.g. index.html, ranges, ETag; .br, .zst and .gz beside a file are used
    spa: false                    # true: paths without a file get the fallback with 200
    fallback: index.html          # e.g. without spa: sent with 404
    cache_control: max-age=60     # e.g.
    # And, as below: cache, rate_limit, ip_rules, headers, max_body_bytes, inbound_chunked_mode.

  - type: upstream                # other servers; WebSockets and other upgrades pass by themselves
    prefix: /api                  # e.g. removed: /api/users asks for /users. Or "path:", exactly this path
    host: [api.example.com]       # e.g.
    methods: [GET, POST]          # e.g. every method by default; others get 405
    strip_prefix: true
    strict_origins: true          # e.g. the server's by default; false takes LF alone, folds, doubled lengths, 204 with a body
    preserve_host: true           # false sends the target's own name as Host
    targets:                      # or "target: http://10.0.0.5:8000" for one
      - url: http://10.0.0.5:8000 # e.g. or https://, h2c:// and h2:// (HTTP/2, gRPC); a path is put in front
        weight: 1
        backup: false             # true: only while all others are down
    load_balancing:
      policy: round_robin         # random, least_conn, p2c, ip_hash, uri_hash, header, cookie
      header: X-User              # e.g. for the policy header
      cookie: session             # e.g. for the policy cookie
    health_check:                 # off without this section
      enabled: true
      path: /health               # e.g.
      interval: 10s
      timeout: 2s
      healthy_threshold: 2
      unhealthy_threshold: 3
      expect_status: 200-399
    circuit_breaker:
      enabled: true
      failure_threshold: 5        # requests in a row: no connection, time-outs, resets, malformed answers
      open_duration: 30s          # at most: it ends when a connection, or the health check, succeeds
      failure_statuses: []        # answers that are failures too, tried elsewhere where possible: [502, 503]
      slow_start: 0s              # time over which a target that has recovered gets its full share back
    retries:
      attempts: 1                 # elsewhere, and only where the server cannot have acted
    timeouts:
      connect: 5s                 # e.g. the transport's by default
      response_header: 30s        # e.g. the transport's by default
      idle: 5m                    # longest pause within an answer
      total: 0                    # 0 is no limit
    headers:                      # remove, then set, then add; values are sent as they stand, there are no variables
      request:
        set: {X-Team: shop}       # e.g.
        add: {X-Tag: [a, b]}      # e.g.
        remove: [Cookie]          # e.g.
      response:
        set: {Cache-Control: no-store} # e.g.
        add: {Link: "</a.css>; rel=preload"} # e.g.
        remove: [Server]          # e.g.
    # X-Forwarded-For, -Proto, -Host, X-Real-IP, X-Request-Id and Via are set on every request.
    tls:                          # for https:// and h2:// targets; its files are read anew at a reload
      ca_file: ./ca.pem           # e.g. the system's roots by default
      cert_file: ./client.pem     # e.g.
      key_file: ./client-key.pem  # e.g.
      server_name: api.internal   # e.g. the target's name by default
      insecure_skip_verify: false
    max_body_bytes: 0             # 0 takes the server's
    inbound_chunked_mode: ""      # the transport's
    cache:                        # or "cache: false"
      enabled: true
      default_ttl: 5m             # e.g. the server's by default
    rate_limit:                   # the keys of the server's section
      requests: 10                # e.g.
    ip_rules:
      allow: [192.0.2.0/24]       # e.g.
      deny: [192.0.2.7]           # e.g.
`;
