import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts, ServerProcess } from "../bench/server-process.ts";
import { sha256 } from "../harness/echo-origin.ts";
import { ScriptedOrigin } from "../harness/scripted-origin.ts";

/** nginx as an origin: its own parser reads the request, and an echo behind it tells what it understood. */
export class NginxOrigin {
  private constructor(
    readonly url: string,
    private readonly folder: string,
    private readonly server: ServerProcess,
    private readonly behind: ScriptedOrigin,
  ) {}

  /** Starts it; null where nginx is not installed. */
  static async start(): Promise<NginxOrigin | null> {
    // Debian keeps it where ordinary users do not look.
    const nginx = Bun.which("nginx", { PATH: `${process.env.PATH}:/usr/sbin` });
    if (nginx === null) return null;
    const folder = mkdtempSync(join(tmpdir(), "edge-nginx-"));
    // Its workers run as another user.
    chmodSync(folder, 0o755);
    const behind = startEcho();
    const [port = 0] = freePorts(1);
    const file = join(folder, "nginx.conf");
    writeFileSync(file, configuration(folder, port, behind.port));
    const server = new ServerProcess([nginx, "-p", folder, "-c", file], folder, join(folder, "nginx.log"));
    if (!(await server.isReady(port, "/health"))) throw new Error(`nginx did not start: ${server.lastWords()}`);
    return new NginxOrigin(`http://127.0.0.1:${port}`, folder, server, behind);
  }

  async stop(): Promise<void> {
    await this.server.stop();
    this.behind.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Answers as the origins of scripts/origins do, and takes any method, target and field that is HTTP at all. */
function startEcho(): ScriptedOrigin {
  const counts = { requests: 0, sequence: 0 };
  const origin = ScriptedOrigin.start();
  return origin.otherwise(async (call) => {
    const body = await call.body();
    // The record of requests would only grow.
    origin.requests.length = 0;
    counts.requests++;
    const { method, target, fields } = call.request;
    const canary = target.split("?", 1)[0] === "/canary" ? { status: "canary_ok", sequence: ++counts.sequence } : {};
    const { byteLength: length } = body.bytes;
    const content = {
      ...canary,
      method,
      target,
      headers: fields.toObject(),
      trailers: {},
      length,
      sha256: sha256(body.bytes),
    };
    const text = JSON.stringify(content);
    const lines = ["X-Origin: nginx", `X-Origin-Request: ${counts.requests}`];
    if (method !== "HEAD") return call.reply("200 OK", lines, text);
    lines.push(`X-Origin-Head: ${Buffer.from(text).toString("base64")}`, `Content-Length: ${Buffer.byteLength(text)}`);
    call.send(`HTTP/1.1 200 OK\r\n${lines.join("\r\n")}\r\n\r\n`);
  });
}

// Everything that it can be told to let through comes through, and every request goes on once and only once.
function configuration(folder: string, port: number, behind: number): string {
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(
    (kind) => `${kind}_temp_path ${folder}/${kind};`,
  );
  return `daemon off; pid ${folder}/nginx.pid; error_log stderr crit; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off; keepalive_timeout 600s; keepalive_requests 1000000000; ${temporary.join(" ")}
  client_max_body_size 64m; client_body_buffer_size 1m; large_client_header_buffers 8 128k;
  underscores_in_headers on; ignore_invalid_headers off; merge_slashes off;
  upstream behind { server 127.0.0.1:${behind}; keepalive 64; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_buffer_size 64k; proxy_buffers 8 64k; proxy_busy_buffers_size 128k;
      proxy_pass http://behind; proxy_http_version 1.1; proxy_next_upstream off;
      proxy_set_header Connection ""; proxy_set_header Host $http_host;
    }
  }
}
`;
}
