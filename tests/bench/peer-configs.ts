// The configuration texts: every server does the same work, the way its own manual recommends for production.
//   /health       a fixed JSON answer of the server itself
//   /p/…          to the origin over kept connections, the prefix stripped, the client's address in X-Forwarded-For
//   /c/…          the same through the server's cache (only in the settings `cache` and `compression`)
//   /static/…     files of the site
//   /basic/…      as /p/ for users with a password (only in the setting `auth`, like the next two)
//   /jwt/…        the same with a token (edge alone)
//   /oidc/…       as /p/ for users who have signed in, /bots/… for browsers with a pass (edge alone)
//   /f/…          a front controller run by FastCGI, /fk/… the same over kept connections (only in the setting `fastcgi`)
//   /forward/…    as /p/ where the origin's /auth lets in, whose Remote-User goes upstream
import { join } from "node:path";
import { fastcgiParams } from "../harness/nginx-scripts.ts";
import { BOT_SECRET, OIDC, SESSION_PREFIX } from "./auth-figures.ts";
import type { Lab } from "./lab.ts";

/** What a scenario needs switched on beside the plain proxy. */
export type Setting =
  | "plain"
  | "tls"
  | "http3"
  | "cache"
  | "cache-disk"
  | "compression"
  | "auth"
  | "fastcgi"
  | "everything";

/** The ports of one server. */
export interface Ports {
  readonly http: number;
  readonly tls: number;
}

const HEALTH_BODY = '{"status":"ok"}';
/** More than any scenario opens, the idle connections included. */
const MAX_CONNECTIONS = 11_000;

/** Of compression: edge drops to it under full load, so that all servers have it. */
const LEVEL = 1;

/** Whether the load goes to the port with a certificate. */
export function isSecure(setting: Setting): boolean {
  return setting === "tls" || setting === "http3" || setting === "everything";
}

/** Whether routes beside those of the load ask who their clients are. */
export function hasAuth(setting: Setting): boolean {
  return setting === "auth" || setting === "everything";
}

function hasCache(setting: Setting): boolean {
  return setting === "cache" || setting === "cache-disk" || setting === "compression" || setting === "everything";
}

/** The common origin: one nginx process that never closes a connection. */
export function originNginx(dir: string, site: string, port: number): string {
  return `${nginxTop(dir, "origin", 1)}
http {
  ${nginxHttp(dir, "origin")}
  server {
    listen 127.0.0.1:${port};
    root ${site};
    location = /x { default_type application/json; return 200 '${HEALTH_BODY}'; }
    location = /rows.json { default_type application/json; add_header Cache-Control "public, max-age=600"; }
    location = /packed.json { default_type application/json; add_header Cache-Control "public, max-age=600"; }
    location /v1/ { return 200; }
    location ~ ^/t[0-9]+/ { default_type application/json; return 200 '${HEALTH_BODY}'; }
    location = /auth { add_header Remote-User alice; return 200; }
    location /many/ { add_header Cache-Control "public, max-age=600"; return 200 '${"z".repeat(1024)}'; }
    location = /cached { add_header Cache-Control "public, max-age=600"; return 200 '${"z".repeat(1024)}'; }
  }
}
`;
}

/** nginx as the gateway. */
export function nginxConfig(lab: Lab, ports: Ports, setting: Setting): string {
  const tls = isSecure(setting) ? nginxTls(lab, ports, setting === "http3") : "";
  const cache = hasCache(setting) ? `proxy_cache_path ${lab.dir}/nginx-cache keys_zone=answers:16m;` : "";
  const cached = hasCache(setting) ? `location /c/ { ${nginxPass()} proxy_cache answers; }` : "";
  return `${nginxTop(lab.dir, "nginx", lab.workers)}
http {
  ${nginxHttp(lab.dir, "nginx")}
  sendfile on; tcp_nopush on; open_file_cache max=1000;
  ${cache}
  ${setting === "compression" ? `gzip on; gzip_comp_level ${LEVEL}; gzip_types application/json; gzip_proxied any;` : ""}
  upstream scripts { server 127.0.0.1:${lab.scriptPort}; keepalive 256; keepalive_requests 1000000000; }
  upstream origin { server 127.0.0.1:${lab.originPort}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${ports.http} reuseport;
    ${tls}
    location = /health { default_type application/json; return 200 '${HEALTH_BODY}'; }
    location /static/ { alias ${lab.site}/; }
    location /p/ { ${nginxPass()} }
    ${cached}
    ${setting === "auth" ? nginxAuth(lab) : ""}
    ${setting === "fastcgi" ? nginxScripts(lab) : ""}
  }
}
`;
}

/** HAProxy as the gateway; it serves no files. */
export function haproxyConfig(lab: Lab, ports: Ports, setting: Setting): string {
  const tls = setting === "tls" ? `bind 127.0.0.1:${ports.tls} ssl crt ${lab.dir}/both.pem alpn h2,http/1.1` : "";
  return `global
  nbthread ${lab.workers}
  maxconn ${MAX_CONNECTIONS}
  no strict-limits
defaults
  mode http
  option forwardfor
  timeout connect 5s
  timeout client 300s
  timeout server 60s
frontend gateway
  bind 127.0.0.1:${ports.http}
  ${tls}
  http-request return status 200 content-type application/json string '${HEALTH_BODY}' if { path /health }
  http-request replace-path ^/p(/.*) \\1
  default_backend origin
backend origin
  http-reuse always
  server origin 127.0.0.1:${lab.originPort} maxconn 1024 pool-max-conn 1024
`;
}

/** Caddy as the gateway. */
export function caddyConfig(lab: Lab, ports: Ports, setting: Setting): string {
  const routes = `
  handle /health {
    header Content-Type application/json
    respond \`${HEALTH_BODY}\` 200
  }
  handle_path /static/* {
    root * ${lab.site}
    file_server
  }
  handle_path /p/* {
    ${caddyPass(lab)}
  }${setting === "auth" ? caddyAuth(lab) : ""}${setting === "fastcgi" ? caddyScripts(lab) : ""}`;
  // Of zstd it has one level in most versions, which is about the third.
  const encode = setting === "compression" ? `\n  encode {\n    zstd\n    gzip ${LEVEL}\n  }` : "";
  const tls = `https://localhost:${ports.tls} {\n  tls ${lab.dir}/cert.pem ${lab.dir}/key.pem${routes}\n}\n`;
  return `{
  admin off
  auto_https off
  servers {
    protocols h1 h2 h2c${setting === "http3" ? " h3" : ""}
  }
}
http://127.0.0.1:${ports.http} {${encode}${routes}
}
${isSecure(setting) ? tls : ""}`;
}

function caddyPass(lab: Lab): string {
  return `reverse_proxy 127.0.0.1:${lab.originPort} {
      transport http {
        keepalive_idle_conns 256
        keepalive_idle_conns_per_host 256
      }
    }`;
}

function caddyAuth(lab: Lab): string {
  return `
  handle_path /forward/* {
    forward_auth 127.0.0.1:${lab.originPort} {
      uri /auth
      copy_headers Remote-User
      transport http {
        keepalive_idle_conns 256
        keepalive_idle_conns_per_host 256
      }
    }
    ${caddyPass(lab)}
  }`;
}

function caddyScripts(lab: Lab): string {
  return `
  handle_path /f/* {
    root * ${lab.site}
    php_fastcgi 127.0.0.1:${lab.scriptPort}
  }`;
}

/** Varnish, for the cache alone. */
export function varnishConfig(lab: Lab): string {
  return `vcl 4.1;
backend origin { .host = "127.0.0.1"; .port = "${lab.originPort}"; }
sub vcl_recv {
  if (req.url == "/health") { return (synth(200)); }
  set req.url = regsub(req.url, "^/[cp]/", "/");
}
`;
}

/** The gateway's own config.yaml. */
export function edgeConfig(lab: Lab, ports: Ports, setting: Setting): string {
  const files = `cert_file: ${join(lab.dir, "cert.pem")}, key_file: ${join(lab.dir, "key.pem")}`;
  const tls = isSecure(setting) ? `  tls: {enabled: true, port: ${ports.tls}, ${files}}\n` : "";
  const http3 = setting === "http3" ? "  http3: {enabled: true}\n" : "";
  const disk = `, max_bytes: 2MiB, max_entries: 100, disk: {path: ${join(lab.dir, "edge-cache")}}`;
  const cache = hasCache(setting)
    ? `  cache: {enabled: true, cookies: bypass${setting === "cache-disk" ? disk : ""}}\n`
    : "";
  const compression = setting === "compression" ? `  compression: {level: ${LEVEL}}\n` : "";
  return `server:
  host: 127.0.0.1
  port: ${ports.http}
  workers: ${lab.workers}
  max_body_bytes: 67108864
  access_log: ${setting === "everything" ? `{outputs: [{file: ${join(lab.dir, "access.log")}}]}` : "{enabled: false}"}
  waf: {enabled: true, mode: enforce}
${hasAuth(setting) ? `  bots: {challenge: "off", secret: ${BOT_SECRET}}\n` : ""}${tls}${http3}${cache}${compression}${setting === "everything" ? `  geo: {country_db: ${join(lab.dir, "countries.mmdb")}}\n` : ""}proxy:
  transport: {max_idle_conns: 256}
${setting === "everything" ? `telemetry:\n  otlp: {endpoint: "http://127.0.0.1:${lab.originPort}", traces: {sample: 0.01}}\n` : ""}`;
}

/** The gateway's own routes.yaml. */
export function edgeRoutes(lab: Lab, setting: Setting): string {
  const target = `target: "http://127.0.0.1:${lab.originPort}"`;
  const cached = hasCache(setting) ? `- {type: upstream, prefix: /c, ${target}}\n` : "";
  return `- {type: static, prefix: /static, dir: ${lab.site}}
- {type: upstream, prefix: /p, ${target}${hasCache(setting) ? ", cache: false" : ""}}
${cached}${hasAuth(setting) ? edgeAuth(lab, target) : ""}${setting === "everything" ? edgeElsewhere(target) : ""}${setting === "fastcgi" ? edgeScripts(lab) : ""}`;
}

/** What routes beside those of the load ask for. */
function edgeElsewhere(target: string): string {
  return `- {type: upstream, prefix: /limited, ${target}, rate_limit: {requests: 100, window: 1s}}
- {type: upstream, prefix: /somewhere, ${target}, ip_rules: {deny_countries: [AQ]}}
`;
}

function edgeScripts(lab: Lab): string {
  const target = `target: "fastcgi://127.0.0.1:${lab.scriptPort}"`;
  return `- {type: upstream, prefix: /f, ${target}, fastcgi: {root: ${lab.site}}}
- {type: upstream, prefix: /fk, ${target}, fastcgi: {root: ${lab.site}, keep_connections: 256}}
`;
}

function edgeAuth(lab: Lab, target: string): string {
  const forward = `{url: "http://127.0.0.1:${lab.originPort}/auth", response_headers: [Remote-User]}`;
  return `- {type: upstream, prefix: /basic, ${target}, auth: {basic: {users_file: ${lab.dir}/users-bcrypt}}}
- {type: upstream, prefix: /jwt, ${target}, auth: {jwt: {public_key_file: ${lab.dir}/token.pem}}}
- {type: upstream, prefix: /forward, ${target}, auth: {forward: ${forward}}}
- {type: upstream, prefix: ${SESSION_PREFIX}, ${target}, auth: {oidc: ${JSON.stringify(OIDC)}}}
- {type: upstream, prefix: /bots, ${target}, bots: {challenge: all}}
`;
}

function nginxTop(dir: string, name: string, workers: number): string {
  return `daemon off; pid ${dir}/${name}.pid; error_log stderr;
worker_processes ${workers}; worker_rlimit_nofile ${MAX_CONNECTIONS + 1000};
events { worker_connections ${MAX_CONNECTIONS}; }`;
}

function nginxHttp(dir: string, name: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${dir}/${name}-${kind};`,
  );
  return `access_log off; keepalive_timeout 300s; keepalive_requests 1000000000; client_max_body_size 64m;
  ${temporary.join(" ")}`;
}

function nginxAuth(lab: Lab): string {
  return `location /basic/ { auth_basic "lab"; auth_basic_user_file ${lab.dir}/users-sha; ${nginxPass()} }
    location /forward/ {
      auth_request /auth; auth_request_set $user $upstream_http_remote_user;
      ${nginxPass()} proxy_set_header Remote-User $user;
    }
    location = /auth {
      internal; ${nginxPass("/auth")} proxy_pass_request_body off; proxy_set_header Content-Length "";
      proxy_set_header X-Original-URI $request_uri; proxy_set_header X-Original-Method $request_method;
    }`;
}

function nginxTls(lab: Lab, ports: Ports, hasQuic: boolean): string {
  const quic = hasQuic ? `listen 127.0.0.1:${ports.tls} quic reuseport; quic_gso on;` : "";
  return `listen 127.0.0.1:${ports.tls} ssl http2; ${quic} ssl_certificate ${lab.dir}/cert.pem; ssl_certificate_key ${lab.dir}/key.pem;`;
}

function nginxPass(path = "/"): string {
  return `proxy_pass http://origin${path}; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header Host $host; proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Proto $scheme;`;
}

/** As Debian's fastcgi.conf and the manuals of WordPress say. */
function nginxScripts(lab: Lab): string {
  const script = fastcgiParams({ SCRIPT_FILENAME: `${lab.site}/index.php`, REMOTE_USER: "$remote_user" });
  return `location /f/ { root ${lab.site}; try_files $uri $uri/ /f.php$is_args$args; }
    location /fk/ { root ${lab.site}; try_files $uri $uri/ /fk.php$is_args$args; }
    location = /f.php { internal; ${script} fastcgi_pass 127.0.0.1:${lab.scriptPort}; }
    location = /fk.php { internal; ${script} fastcgi_pass scripts; fastcgi_keep_conn on; }`;
}
