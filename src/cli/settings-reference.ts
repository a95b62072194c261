// Every key of both files with its default, as the file would say it. tests/unit/config/settings-reference.test.ts holds
// it to the schemas: no key is missing, and a value is the default unless its comment begins with "e.g.".
import { referenceOf } from "../config/row-reference.ts";
import { rateLimit } from "../config/server-schema.ts";

/** `edge help config`. */
export const CONFIG_REFERENCE = `# Every key of config.yaml. The value is the default; after "e.g." it is an example, and nothing is the default.
# Durations: 500ms, 60s, 1m30s, 2h, or seconds. Sizes: bytes, 512KiB, 4MiB. \${NAME} and \${NAME:-default} read the
# environment. Paths count from the folder of the file. Keys at the top that begin with x- may hold anchors.

server:
  host: 0.0.0.0                   # "::" for IPv6 and IPv4, 127.0.0.1 for this machine only
  port: 8080                      # off: nothing is served in clear text, only over TLS
  workers: auto                   # one a CPU, or a number
  header_timeout: 10s             # a request's head must be complete within this: 408
  read_timeout: 30s               # longest pause within a request's body: 408
  write_timeout: 30s              # longest time a client may take nothing of its answer
  idle_timeout: 120s              # how long an unused connection stays open
  half_close_grace: 1s            # what the answer to a client that has ended its direction may take; serve: no limit
  shutdown_timeout: 30s           # what is in flight may take this long after SIGTERM
  drain_delay: 0s                 # before that: /health is 503, and new connections are still served
  max_header_bytes: 64KiB         # all header lines together, 8 KiB a line: 431
  max_header_fields: 100          # 431 beyond; the cookies of a request over HTTP/2 or 3 count as one
  max_body_bytes: 4MiB            # 413 beyond; 0 is no limit
  min_body_rate: 240              # bytes a second that a body must bring on the average after 10 s: 408; 0 is off
  max_connections: auto           # client connections: what the limit of open files leaves, or a number; more wait
  max_connections_per_ip: 0       # of one address (IPv6: one /64): 503 beyond; 0 is no limit
  max_unsent_bytes: 128MiB        # memory for peers that read slowly; beyond it the slowest are cut
  inbound_chunked_mode: normalize # passthrough: checked as it streams; reject: 501
  request_trailers: expose        # valid ones become headers; drop: they stay behind
  trusted_proxies: [10.0.0.0/8]   # e.g. load balancers whose X-Forwarded-For is believed
  ip_rules:                       # deny goes first; with an allow list everybody else gets 403
    allow: [192.0.2.0/24]         # e.g.
    deny: [192.0.2.7]             # e.g.
  access_log:
    enabled: true
    sample: 1                     # share of the requests that are logged, 0 to 1
${referenceOf({ rate_limit: { type: rateLimit, doc: "a token bucket: 429 with Retry-After. Off without this section" } }, "  ")}  tls:                            # off without this section
    enabled: true
    port: 8443
    cert_file: ./cert.pem         # e.g. with the chain behind it; a replaced file is taken up by itself
    key_file: ./key.pem           # e.g.
    certificates:                 # more of them, chosen by the name that the client asks for
      - cert_file: ./other.pem    # e.g.
        key_file: ./other-key.pem # e.g.
    min_version: "1.2"            # or "1.3"
    client_auth: none             # request, or require: client certificates, which client_ca_file vouches for
    client_ca_file: ./clients.pem # e.g.
    redirect_http: false          # true sends cleartext requests to https://
    redirect_port: 0              # the port in that address; 0 is "port"
  http2:                          # by ALPN over TLS, by prior knowledge without
    enabled: true
    max_concurrent_streams: 128
    max_header_list_bytes: 64KiB
    unknown_pseudo_headers: drop  # or reject
    extended_connect: false       # true: WebSockets over HTTP/2
  http3:                          # off without this section
    enabled: true
    port: 8443                    # e.g. UDP; the port of tls by default
  proxy_protocol:                 # PROXY v1 and v2 from load balancers. Off without this section
    enabled: true
    trusted: [10.0.0.0/8]         # e.g. trusted_proxies by default
  waf:                            # off without this section
    enabled: true
    mode: enforce                 # detection only writes to the log
    anomaly_threshold: 5          # blocked from this score on
    max_inspect_body_size: 64KiB  # so much of a body is inspected, after it is inflated; 0 leaves bodies alone
    over_limit: inspect           # a larger body: its beginning is inspected. reject answers 413
    disabled_rules: [SCANNER-001] # e.g. the names that waf_block lines and "edge waf test" show
    allowed_ips: [192.0.2.9]      # e.g. clients that skip the firewall
    exclusions:
      - rule: SQLI-001            # e.g. off for this path and parameter; either may be left out
        path: /search             # e.g.
        param: q                  # e.g.
  cache:                          # in memory, shared by all workers
    enabled: false
    default_ttl: 60s              # for answers that do not say how long they are fresh
    max_entries: 1000
    max_payload_size: 1MiB        # larger answers are not stored
    max_bytes: 256MiB
    cookies: share                # bypass: what has to do with cookies is stored only with public or s-maxage
    # Stale answers: as the origin's Cache-Control says, stale-while-revalidate=30 and stale-if-error=60.
  cors:                           # off without this section
    enabled: true
    allowed_origins: ["https://app.example.com"] # e.g. or ["*"]
    allowed_methods: [GET, HEAD, POST]
    allowed_headers: [Content-Type, Authorization] # e.g.
    exposed_headers: [X-Request-Id] # e.g.
    allow_credentials: false
    max_age: 10m
  security_headers:               # never over what the upstream set. Off without this section
    enabled: true
    frame_options: SAMEORIGIN     # or DENY, or ""
    referrer_policy: strict-origin-when-cross-origin
    hsts: true                    # over TLS only; false, or the whole value of the header
  acme:
    enabled: false
    directory_url: https://acme-v02.api.letsencrypt.org/directory
    email: admin@example.com      # e.g.
    domains: [example.com]        # e.g. all on one certificate
    cache_dir: certs              # account, keys and certificates: keep it
    challenge_type: http-01       # the CA asks on port 80; tls-alpn-01: on port 443
    ca_file: ./private-ca.pem     # e.g. roots to trust for a private directory
    eab:                          # for CAs that ask for an external account
      kid: abc                    # e.g.
      hmac_key: \${EAB_KEY:-c2VjcmV0} # e.g.

proxy:                            # how the gateway speaks to the servers behind it
  enabled: true                   # false: upstream routes answer 503
  transport:
    profile: default              # low_latency, high_throughput: other numbers for the next four
    max_idle_conns: 100           # e.g. unused connections kept for each server; the profile's by default, as below
    idle_conn_timeout: 90s        # e.g.
    connect_timeout: 5s           # e.g. 504 beyond
    response_header_timeout: 30s  # e.g. 504 beyond
    max_response_fields: 256      # header fields of a server's answer: 502 beyond
    inbound_chunked_mode: ""      # the server's
    max_buffered_bytes: 256MiB    # memory for bodies that are held back, together; when it is full the slowest gets 408
    max_buffered_share: 12.5%     # of that for one client address
    max_spooled_bytes: auto       # bodies beyond 1 MiB lie in $TMPDIR, so much together: 16GiB, or half of what is free
    nameservers: [10.0.0.2, "10.0.0.3:5353"] # e.g. asked for the names of servers, in place of those of /etc/resolv.conf

internal_api:                     # /internal/* and /metrics answer this machine only
  allow: [10.0.0.0/8]             # e.g. more networks
  hosts: [edge.example.net]       # e.g. names to call them by, beside addresses and names without a dot
  token: \${EDGE_TOKEN:-secret}   # e.g. asked for as "Authorization: Bearer"
  listen: 127.0.0.1:9090          # e.g. a port of their own: then they are not on the public one
  max_proxy_test_response_bytes: 1MiB

sidecar:                          # beside an application, in a service mesh
  enabled: false
  mode: dual                      # ingress: what comes in; egress: what goes out
  ingress_host: 0.0.0.0
  ingress_port: 15006
  egress_host: 127.0.0.1
  egress_port: 15001
  app_port: 8080                  # the application, on this machine
  max_body_bytes: 10MiB
  strict_mtls: false              # true: who comes in must show a certificate
  cert_file: ./sidecar.pem        # e.g. its own, for both directions
  key_file: ./sidecar-key.pem     # e.g.
  ca_file: ./mesh-ca.pem          # e.g. the system's roots by default
  insecure_skip_verify: false
  allowed_ids: ["spiffe://mesh/ns/shop/*"] # e.g. else 403
  traffic_splits:
    - prefix: /checkout           # e.g.
      backends:
        - target: http://10.0.0.5:8000 # e.g.
          weight: 1

transcoder:                       # REST in front of gRPC
  enabled: false
  max_body_bytes: 4MiB
  descriptor_set: ./shop.binpb    # e.g. by "protoc --include_imports --descriptor_set_out"; else reflection
  upstream_url: http://127.0.0.1:50051 # e.g. where the routes of "auto" go
  auto: false                     # true takes the routes from google.api.http options
  timeout: 30s
  tls:                            # for https upstreams; the keys of "tls" at a route
    ca_file: ./ca.pem             # e.g.
    cert_file: ./client.pem       # e.g.
    key_file: ./client-key.pem    # e.g.
    server_name: grpc.internal    # e.g.
    insecure_skip_verify: false
  routes:
    - http_method: GET            # e.g.
      http_path: /v1/users/:id    # e.g.
      grpc_method: /shop.Users/GetUser # e.g.
      upstream_url: http://127.0.0.1:50051 # e.g.
      field_mappings: {id: user_id} # e.g. parameter: request field
      descriptor_set: ./users.binpb # e.g.
      timeout: 5s                 # e.g.
`;

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
