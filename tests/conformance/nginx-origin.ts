import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts, ServerProcess } from "../bench/server-process.ts";

/** nginx as an origin: its own parser reads the request, and an echo origin behind it tells what it understood. */
export class NginxOrigin {
  private constructor(
    readonly url: string,
    private readonly folder: string,
    private readonly server: ServerProcess,
  ) {}

  /** Starts it in front of `behind`; null where nginx is not installed. */
  static async start(behind: string): Promise<NginxOrigin | null> {
    // Debian keeps it where ordinary users do not look.
    const nginx = Bun.which("nginx", { PATH: `${process.env.PATH}:/usr/sbin` });
    if (nginx === null) return null;
    const folder = mkdtempSync(join(tmpdir(), "edge-nginx-"));
    // Its workers run as another user.
    chmodSync(folder, 0o755);
    const [port = 0] = freePorts(1);
    const file = join(folder, "nginx.conf");
    writeFileSync(file, configuration(folder, port, new URL(behind).host));
    const server = new ServerProcess([nginx, "-p", folder, "-c", file], folder, join(folder, "nginx.log"));
    if (!(await server.isReady(port, "/health"))) throw new Error(`nginx did not start: ${server.lastWords()}`);
    return new NginxOrigin(`http://127.0.0.1:${port}`, folder, server);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

// Everything that it can be told to let through comes through, and every request goes on once and only once.
function configuration(folder: string, port: number, behind: string): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `daemon off; pid ${folder}/nginx.pid; error_log stderr crit; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off; keepalive_timeout 600s; keepalive_requests 1000000000; ${temporary.join(" ")}
  client_max_body_size 64m; client_body_buffer_size 1m; large_client_header_buffers 8 128k;
  underscores_in_headers on; ignore_invalid_headers off; merge_slashes off;
  upstream behind { server ${behind}; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://behind; proxy_http_version 1.1; proxy_next_upstream off;
      proxy_set_header Connection ""; proxy_set_header Host $http_host;
    }
  }
}
`;
}
