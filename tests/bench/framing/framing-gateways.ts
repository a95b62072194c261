// The gateways that edge multihop is turned on, each configured as the reference deployment: /node, /python and /go lead to
// three origins, the prefix is stripped, connections to origins are kept.
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where a gateway is to listen, and where its origins do. */
export interface FramingLab {
  readonly dir: string;
  readonly port: number;
  /** For a server that cannot speak both protocols on one port. */
  readonly h2Port: number;
  /** Ports of the origins behind /node, /python and /go; one that is not there is left out. */
  readonly origins: ReadonlyMap<string, number>;
}

/** One gateway. */
export interface FramingGateway {
  readonly name: string;
  readonly executable: string;
  readonly versionArgs: readonly string[];
  /** Whether HTTP/2 has its own port. */
  readonly hasH2Port: boolean;
  /** Writes the configuration and gives the arguments to start with. */
  configure(lab: FramingLab): string[];
}

/** The gateway itself, from the binary at `path`, and its peers. */
export function framingGateways(path: string): FramingGateway[] {
  return [
    {
      name: "edge",
      executable: path,
      versionArgs: ["version"],
      hasH2Port: false,
      configure: (lab) => [
        "serve",
        ...["--config", put(lab, "config.yaml", edgeConfig(lab))],
        ...["--routes", put(lab, "routes.yaml", edgeRoutes(lab))],
      ],
    },
    {
      name: "nginx",
      executable: "nginx",
      versionArgs: ["-v"],
      hasH2Port: true,
      configure: (lab) => ["-p", lab.dir, "-c", put(lab, "nginx.conf", nginxConfig(lab))],
    },
    {
      name: "haproxy",
      executable: "haproxy",
      versionArgs: ["-v"],
      hasH2Port: false,
      configure: (lab) => ["-db", "-f", put(lab, "haproxy.cfg", haproxyConfig(lab))],
    },
    {
      name: "caddy",
      executable: "caddy",
      versionArgs: ["version"],
      hasH2Port: false,
      configure: (lab) => ["run", "--config", put(lab, "Caddyfile", caddyConfig(lab)), "--adapter", "caddyfile"],
    },
  ];
}

function put(lab: FramingLab, name: string, text: string): string {
  const file = join(lab.dir, name);
  writeFileSync(file, text);
  return file;
}

function lines(lab: FramingLab, line: (name: string, port: number) => string): string {
  return [...lab.origins].map(([name, port]) => line(name, port)).join("\n");
}

function edgeConfig(lab: FramingLab): string {
  return `server: {host: 127.0.0.1, port: ${lab.port}, access_log: {enabled: false}, waf: {enabled: true, mode: enforce}}\n`;
}

function edgeRoutes(lab: FramingLab): string {
  return lines(lab, (name, port) => `- {type: upstream, prefix: /${name}, target: "http://127.0.0.1:${port}"}`);
}

// nginx takes the protocol of a cleartext port from its configuration before 1.25.1.
function nginxConfig(lab: FramingLab): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${lab.dir}/nginx-${kind};`,
  );
  return `daemon off; pid ${lab.dir}/nginx.pid; error_log stderr crit; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off; ${temporary.join(" ")}
  ${lines(lab, (name, port) => `upstream ${name} { server 127.0.0.1:${port}; keepalive 64; }`)}
  server {
    listen 127.0.0.1:${lab.port};
    listen 127.0.0.1:${lab.h2Port} http2;
    location = /health { return 200 'ok'; }
    ${lines(lab, (name) => `location /${name}/ { proxy_pass http://${name}/; ${NGINX_PASS} }`)}
  }
}
`;
}

const NGINX_PASS = 'proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $host;';

function haproxyConfig(lab: FramingLab): string {
  const backend = (name: string, port: number) => `backend ${name}
  http-request replace-path ^/${name}(/.*) \\1
  http-reuse always
  server ${name} 127.0.0.1:${port}`;
  return `defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend gateway
  bind 127.0.0.1:${lab.port}
  http-request return status 200 content-type text/plain string ok if { path /health }
${lines(lab, (name) => `  use_backend ${name} if { path_beg /${name}/ }`)}
${lines(lab, backend)}
`;
}

function caddyConfig(lab: FramingLab): string {
  return `{
  admin off
  auto_https off
  servers {
    protocols h1 h2c
  }
}
http://127.0.0.1:${lab.port} {
  respond /health ok
${lines(lab, (name, port) => `  handle_path /${name}/* {\n    reverse_proxy 127.0.0.1:${port}\n  }`)}
}
`;
}
