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
<p>This file is served by edge. Put your own files beside it, and look into <code>routes.yaml</code> for the rest.</p>
</html>
`;

const CONFIG = `# edge: the gateway itself. Where requests go stands in routes.yaml, beside this file.
#
#   edge check    finds mistakes in both files and says where they are
#   edge serve    starts the gateway; "kill -HUP" makes a running one read both files again
#
# Everything here may be left out: the value shown is then the default, unless a comment says otherwise.
# Durations: 500ms, 60s, 1m30s, 2h. Sizes: 65536, 512KiB, 4MiB. \${NAME} and \${NAME:-default} read the environment.

server:
  host: 0.0.0.0            # 127.0.0.1 would serve this machine only
  port: 8080
  max_body_bytes: 4MiB     # larger requests get 413
  idle_timeout: 120s       # how long an unused connection stays open

  # Web application firewall. Without this section it is off.
  waf:
    enabled: true
    mode: enforce          # "detection" only writes to the log
    anomaly_threshold: 5   # a request is blocked from this score on

  # Keep answers in memory. Off by default.
  cache:
    enabled: false
    default_ttl: 60s       # for answers that do not say how long they stay fresh
    max_entries: 1000

  # HTTPS, HTTP/2 over TLS and, if you like, HTTP/3: name your certificate and remove the "#" signs.
  # tls:
  #   port: 8443
  #   cert_file: ./cert.pem
  #   key_file: ./key.pem
  # http3:
  #   enabled: true

  # Or let the gateway obtain the certificate (also give tls: a "port: 443" and leave its files out).
  # acme:
  #   enabled: true
  #   email: admin@example.com
  #   domains: [example.com]
  #   cache_dir: ./certs

  # Load balancers in front of this gateway, whose X-Forwarded-For may be believed. Nobody by default.
  # trusted_proxies: [10.0.0.0/8]

# How the gateway speaks to the servers behind it.
proxy:
  transport:
    profile: default       # or low_latency, high_throughput
    max_idle_conns: 100    # unused connections kept for each server

# /internal/* and /metrics answer this machine only. More networks may be named here, or a token asked for.
# internal_api:
#   allow: [10.0.0.0/8]
#   token: \${EDGE_TOKEN}
`;

const ROUTES = `# Where requests go. The longest prefix that fits a path wins; a path that fits none gets 404.

routes:
  # Files from a folder. Paths count from the folder of this file.
  - type: static
    prefix: /static
    dir: SITE_DIR
    cache_control: max-age=60

  # Other servers. The prefix is removed: /node/health asks the server for /health.
  # "edge serve --demo" starts three small servers on these ports to play with.
  - type: upstream
    prefix: /node
    target: http://127.0.0.1:9001

  - type: upstream
    prefix: /python
    target: http://127.0.0.1:9002

  - type: upstream
    prefix: /go
    target: http://127.0.0.1:9003

  # Several servers behind one prefix, watched and tried again elsewhere when one fails:
  #
  # - type: upstream
  #   prefix: /api
  #   targets:
  #     - url: http://10.0.0.5:8000
  #       weight: 3
  #     - url: http://10.0.0.6:8000
  #   load_balancing:
  #     policy: least_conn       # or round_robin, random, p2c, ip_hash, uri_hash, header, cookie
  #   health_check:
  #     path: /health
  #   timeouts:
  #     response_header: 10s
  #   headers:
  #     request:
  #       set: { X-Team: shop }
`;
