// The gateways whose origins fail, each with the settings that its manual recommends for that: failures are noticed on the
// traffic itself, and a request that failed goes elsewhere.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** One gateway. */
export interface FailoverGateway {
  readonly name: string;
  readonly executable: string;
  readonly versionArgs: readonly string[];
  /** Its settings in a few words, for the page. */
  readonly settings: string;
  /** Writes the configuration and gives the arguments to start with. */
  configure(dir: string, port: number, origins: readonly number[]): string[];
}

/** The gateway itself, from the binary at `path`, and its peers. */
export function failoverGateways(path: string): readonly FailoverGateway[] {
  return [edge(path), NGINX, HAPROXY];
}

function edge(path: string): FailoverGateway {
  return {
    name: "edge",
    executable: path,
    versionArgs: ["version"],
    settings:
      "the defaults (`failure_threshold: 5`, `open_duration: 30s`, `retries: 1`), and `failure_statuses: [503]`",
    configure: (dir, port, origins) => {
      const targets = origins.map((one) => `{url: "http://127.0.0.1:${one}"}`).join(", ");
      const config = `server: {host: 127.0.0.1, port: ${port}, workers: 2, access_log: {enabled: false}}\n`;
      const routes = `- {type: upstream, prefix: /, targets: [${targets}], circuit_breaker: {failure_statuses: [503]}}\n`;
      const files = [put(dir, "config.yaml", config), put(dir, "routes.yaml", routes)];
      return ["serve", "--config", files[0]!, "--routes", files[1]!];
    },
  };
}

const NGINX: FailoverGateway = {
  name: "nginx",
  executable: "nginx",
  versionArgs: ["-v"],
  settings:
    "one shared `zone`, `max_fails=1 fail_timeout=10s` (the defaults), `keepalive`, and `proxy_next_upstream error timeout http_503`",
  configure: (dir, port, origins) => {
    const servers = origins.map((one) => `server 127.0.0.1:${one};`).join(" ");
    const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    const text = `daemon off; pid ${dir}/nginx.pid; error_log stderr crit; worker_processes 2;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000;
  ${kinds.map((kind) => `${kind}_temp_path ${dir}/nginx-${kind};`).join(" ")}
  upstream origins { zone origins 256k; ${servers} keepalive 64; }
  server {
    listen 127.0.0.1:${port};
    location = /health { return 200 ok; }
    location / {
      proxy_pass http://origins; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_connect_timeout 5s; proxy_next_upstream error timeout http_503;
    }
  }
}
`;
    return ["-p", dir, "-c", put(dir, "nginx.conf", text)];
  },
};

const HAPROXY: FailoverGateway = {
  name: "haproxy",
  executable: "haproxy",
  versionArgs: ["-v"],
  settings:
    "`retries 3`, `option redispatch 1`, `retry-on conn-failure empty-response response-timeout 503`, and `check inter 1s observe layer7 error-limit 5 on-error mark-down`",
  configure: (dir, port, origins) => {
    const server = (one: number, i: number) => `  server o${i} 127.0.0.1:${one}`;
    const text = `global
  nbthread 2
  maxconn 4096
  no strict-limits
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  retries 3
  option redispatch 1
  retry-on conn-failure empty-response response-timeout 503
frontend gateway
  bind 127.0.0.1:${port}
  http-request return status 200 content-type text/plain string ok if { path /health }
  default_backend origins
backend origins
  balance roundrobin
  default-server check inter 1s observe layer7 error-limit 5 on-error mark-down
${origins.map(server).join("\n")}
`;
    return ["-db", "-f", put(dir, "haproxy.cfg", text)];
  },
};

function put(dir: string, name: string, text: string): string {
  const file = join(dir, name);
  writeFileSync(file, text);
  return file;
}
