// Other caches before an origin, as their packages in Debian set them up, for scripts/conformance-cache NAME.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../harness/gateway.ts";

/** A cache that serves, and what ends it. */
export interface RunningCache {
  readonly port: number;
  stop(): Promise<void>;
}

/** What is started, and the files that it reads. */
interface Setup {
  readonly command: readonly string[];
  readonly files: Readonly<Record<string, string>>;
}

/** The setups, by name: port of the cache, port of the origin, a folder of its own. */
const SETUPS: Readonly<Record<string, (port: number, origin: number, dir: string) => Setup>> = {
  nginx: (port, origin, dir) => ({
    command: ["nginx", "-p", dir, "-c", join(dir, "nginx.conf"), "-e", "stderr"],
    files: {
      "nginx.conf": `daemon off; worker_processes 1; user root; pid ${dir}/pid; error_log stderr crit;
events {}
http {
  access_log off;
  proxy_cache_path ${dir}/store levels=1 keys_zone=all:10m;
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://127.0.0.1:${origin};
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_cache all;
      proxy_cache_revalidate on;
      proxy_cache_lock on;
    }
  }
}
`,
    },
  }),
  varnish: (port, origin, dir) => ({
    command: [
      ...["varnishd", "-F", "-j", "none", "-n", join(dir, "work"), "-f", join(dir, "default.vcl")],
      ...["-a", `127.0.0.1:${port}`, "-s", "malloc,64m", "-p", "default_ttl=0", "-p", "default_grace=0"],
    ],
    files: { "default.vcl": `vcl 4.1;\nbackend default { .host = "127.0.0.1"; .port = "${origin}"; }\n` },
  }),
  squid: (port, origin, dir) => ({
    command: ["squid", "-N", "-f", join(dir, "squid.conf")],
    files: {
      "squid.conf": `http_port 127.0.0.1:${port} accel defaultsite=127.0.0.1 no-vhost
cache_peer 127.0.0.1 parent ${origin} 0 no-query originserver no-digest name=origin
http_access allow all
cache_mem 64 MB
access_log none
cache_log ${dir}/cache.log
cache_store_log none
pid_filename ${dir}/pid
coredump_dir ${dir}
visible_hostname peer
shutdown_lifetime 0 seconds
`,
    },
  }),
  trafficserver: (port, origin, dir) => ({
    command: ["traffic_server", `--run-root=${join(dir, "runroot.yaml")}`],
    files: {
      "runroot.yaml": `prefix: /usr
exec_prefix: /usr
bindir: /usr/bin
sbindir: /usr/sbin
sysconfdir: ${dir}/etc
datadir: ${dir}/store
includedir: /usr/include
libdir: /usr/lib/trafficserver
libexecdir: /usr/lib/trafficserver/modules
localstatedir: ${dir}/store
runtimedir: ${dir}/run
logdir: ${dir}/log
cachedir: ${dir}/store
`,
      "etc/records.config": `CONFIG proxy.config.http.server_ports STRING ${port}:ip-in=127.0.0.1
CONFIG proxy.config.admin.user_id STRING #-1
CONFIG proxy.config.http.cache.required_headers INT 0
CONFIG proxy.config.reverse_proxy.enabled INT 1
CONFIG proxy.config.url_remap.remap_required INT 1
`,
      "etc/remap.config": `map / http://127.0.0.1:${origin}/\n`,
      "etc/storage.config": `${dir}/store 64M\n`,
      "etc/ip_allow.yaml": `ip_allow: [{apply: in, ip_addrs: 127.0.0.1, action: allow, methods: ALL}]\n`,
      "log/.made": "",
      "run/.made": "",
      "store/.made": "",
    },
  }),
};

/** The names of the caches that there are setups for. */
export const CACHE_PEERS: readonly string[] = Object.keys(SETUPS);

/**
 * Starts a cache.
 * @throws Error where it does not serve within ten seconds
 */
export async function startPeer(name: string, origin: number): Promise<RunningCache> {
  const dir = mkdtempSync(join(tmpdir(), `edge-cache-${name}-`));
  chmodSync(dir, 0o777);
  const port = freePort();
  const { command, files } = SETUPS[name]!(port, origin, dir);
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(join(dir, file, ".."), { recursive: true });
    writeFileSync(join(dir, file), text);
  }
  const child = Bun.spawn([...command], { stdin: "ignore", stdout: "ignore", stderr: "inherit", cwd: dir });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const isOver = await Promise.race([child.exited, Bun.sleep(5000).then(() => null)]);
    if (isOver === null) child.kill("SIGKILL");
    await child.exited;
    rmSync(dir, { recursive: true, force: true });
  };
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; await Bun.sleep(50)) {
    const response = await fetch(`http://127.0.0.1:${port}/state/none`).catch(() => null);
    if (response !== null && response.status < 500) return { port, stop };
  }
  await stop();
  throw new Error(`${name} did not start`);
}
