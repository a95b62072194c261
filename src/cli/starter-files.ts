/**
 * The configuration that a newcomer meets first: what `edge init` writes, and what the repository ships.
 * `siteDir` is the folder behind `/static`, relative to routes.yaml.
 */
export function starterFiles(siteDir: string): { readonly config: string; readonly routes: string } {
  return { config: CONFIG, routes: ROUTES.replace("SITE_DIR", siteDir) };
}

/** The first page of `edge init`, so that the started gateway has something to show. */
export const STARTER_PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>It works</title>
<style>
  body { font: 1.1rem/1.6 system-ui, sans-serif; max-width: 36rem; margin: 15vh auto; padding: 0 1rem; }
</style>
<h1>It works.</h1>
<p>This file is served by edge. Put your own files beside it, and see <code>routes.yaml</code> for the rest.</p>
</html>
`;

const CONFIG = `# edge: the gateway itself. Where requests go is in routes.yaml, beside this file.
#
#   edge check    finds mistakes in both files and shows where they are
#   edge serve    starts the gateway; "kill -HUP" makes a running one read both files again
#   edge help config    shows every key with its default; here are the ones that most people want
#
# Everything here may be left out: the value shown is then the default, unless a comment says otherwise.
# The last line, "...", marks the file as complete: a reload refuses it without that line.
# Durations: 500ms, 60s, 1m30s, 2h. Sizes: 65536, 512KiB, 4MiB. \${NAME} and \${NAME:-default} read the environment.

server:
  host: 0.0.0.0            # 127.0.0.1 would serve this machine only
  port: 8080               # off: no cleartext listener, only TLS
  max_body_bytes: 4MiB     # larger requests get 413
  max_unsent_bytes: 128MiB # memory for clients and upstreams that read slowly; beyond it the slowest are closed
  idle_timeout: 120s       # how long an unused connection stays open
  # max_connections_per_ip: 200 # client connections of one address; 503 beyond
  # strict_origins: true   # false accepts bare LF, folded fields, repeated lengths and 204 with a body from old upstreams; also at a route
  # http2: { extended_connect: true } # WebSockets over HTTP/2

  # Web application firewall. Without this section it is off.
  waf:
    enabled: true
    mode: enforce          # "detection" only writes to the log
    anomaly_threshold: 5   # a request is requests with this score or more are blocked
    # over_limit: reject   # 413 to bodies of more than max_inspect_body_size (64KiB), of which only the beginning is inspected
    # exclusions: [{rule: SQLI-001, path: /search, param: q}]   # a rule that misfires; waf_block lines name it

  # Keep responses in memory, shared by all workers. Off by default; "cache: false" at a route keeps its responses out.
  # Responses of transcoded routes (gRPC) and of the gateway's own endpoints are never stored.
  cache:
    enabled: false
    default_ttl: 60s       # for responses that do not say how long they stay fresh; 0s stores only those that do
    max_entries: 1000      # beyond it the least recently used are evicted
    max_payload_size: 1MiB # larger responses are not stored
    max_bytes: 256MiB      # memory of all stored responses together, at most 4095MiB
    cookies: bypass        # responses to requests with Cookie, and those with Set-Cookie, only where they say "public"
                           # or "s-maxage"; "share" stores them like all others: then every personal page must say "private"
    # Stale responses are served where the upstream allows it: Cache-Control: max-age=60, stale-while-revalidate=30.

  # HTTPS: name your certificate and remove the "#" signs of three lines. Replaced files are reloaded automatically.
  # tls:
  #   cert_file: ./cert.pem    # with its chain
  #   key_file: ./key.pem
  #   port: 8443
  #   min_version: "1.2"       # or "1.3"
  #   redirect_http: false     # true sends cleartext requests to https://
  #   redirect_port: 0         # the port in that address, if clients reach TLS at another one than "port"
  # More of them, chosen by the server name that a client sends, are in "certificates", a list of cert_file and key_file; the one
  # above is the default. Certificates of clients: client_auth "request" or "require", with client_ca_file.
  # http3:                 # the same port over UDP, announced to browsers by Alt-Svc; open it in the firewall
  #   enabled: true

  # Or let the gateway obtain the certificate and renew it (also give tls: a "port: 443" and leave its files out). Until
  # the first one is there, a self-signed one is served. "edge certs" lists what has been obtained.
  # acme:
  #   enabled: true
  #   email: admin@example.com
  #   domains: [example.com, www.example.com]   # all on one certificate
  #   cache_dir: ./certs             # account, keys and certificates: keep this folder
  #   challenge_type: http-01        # the CA connects to port 80; "tls-alpn-01": to port 443
  #   directory_url: https://acme-v02.api.letsencrypt.org/directory
  # (Also ca_file, the roots to trust for a private directory; eab with kid and hmac_key, for CAs that require it.)

  # Load balancers in front of this gateway, whose X-Forwarded-For is trusted. None by default.
  # trusted_proxies: [10.0.0.0/8]

  # rate_limit: { requests: 100, window: 1s }   # for each client; beyond it 429. Also at a route
  # cors: { allowed_origins: ["https://app.example.com"] }
  # security_headers: { enabled: true }         # X-Frame-Options, Referrer-Policy and, over TLS, HSTS
  # access_log: { enabled: false }              # or "sample: 0.1" for a tenth of the requests

# How the gateway connects to upstreams.
proxy:
  transport:
    profile: default       # or low_latency, high_throughput
    max_idle_conns: 100    # idle connections kept per upstream

# For an application in a service mesh. Outbound requests pass egress_port; with mode: dual, inbound requests to ingress_port are
# handed to app_port, over mTLS once cert_file, key_file and ca_file are named (strict_mtls: true refuses all others).
# sidecar:
#   enabled: true
#   mode: egress
#   egress_port: 15001       # loopback only
#   traffic_splits:
#     - prefix: /checkout
#       backends: [{target: "http://10.0.0.5:8000", weight: 9}, {target: "h2c://10.0.0.6:8000", weight: 1}]   # or https, h2

# REST in front of gRPC services: path parameters, query and JSON body become the request message. The schema comes from
# server reflection, or from a file of "protoc --include_imports --descriptor_set_out" that descriptor_set names.
# transcoder:
#   enabled: true
#   timeout: 30s
#   routes:
#     - http_method: GET
#       http_path: /v1/users/:id
#       grpc_method: /shop.Users/GetUser
#       upstream_url: http://127.0.0.1:50051
#       field_mappings: {id: user_id}   # parameter: request field

# /internal/* and /metrics are served to this machine only, by its address, localhost or another name without a dot: a web page
# cannot have those. Other names and more networks may be named here, or a token required.
# internal_api:
#   allow: [10.0.0.0/8]
#   hosts: [edge.example.net]   # not needed with a token
#   token: \${EDGE_TOKEN}     # without one, what another proxy forwards here is refused
#   listen: 127.0.0.1:9090   # a separate port: then they are not on the public one
...
`;

const ROUTES = `# Where requests go. The longest prefix that matches a path wins; a path that matches none gets 404.
# "edge help routes" shows every key with its default.

routes:
  # Files from a folder. Paths are relative to the folder of this file.
  - type: static
    prefix: /static
    dir: SITE_DIR
    cache_control: max-age=60
    # spa: true                  # paths without a file get index.html, for single-page applications

  # Other servers. The prefix is removed: /node/health is sent as /health.
  # WebSockets need no setting. "edge serve --demo" starts three small demo servers on these ports.
  - type: upstream
    prefix: /node
    target: http://127.0.0.1:9001

  - type: upstream
    prefix: /python
    target: http://127.0.0.1:9002

  - type: upstream
    prefix: /go
    target: http://127.0.0.1:9003

  # Several servers for one prefix, health-checked, with requests retried elsewhere when one fails:
  #
  # - type: upstream
  #   prefix: /api
  #   targets:
  #     - url: http://10.0.0.5:8000
  #       weight: 3                # three of four requests
  #     - url: http://10.0.0.6:8000
  #   load_balancing:
  #     policy: least_conn       # or round_robin, random, p2c, ip_hash, uri_hash, header, cookie
  #   health_check:
  #     path: /health
  #   timeouts:
  #     response_header: 10s
  #   headers:
  #     request:
  #       set: { X-Team: shop }    # sent literally; X-Forwarded-For and X-Real-IP are set already
...
`;
