// The servers under test: the gateway and its peers, one row each.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeMmdb } from "../harness/mmdb.ts";
import { BCRYPT_USERS, SHA_USERS, TOKEN_KEY } from "./auth-figures.ts";
import type { Lab } from "./lab.ts";
import {
  caddyConfig,
  edgeConfig,
  edgeRoutes,
  haproxyConfig,
  hasAuth,
  nginxConfig,
  type Ports,
  type Setting,
  varnishConfig,
} from "./peer-configs.ts";
import { freePorts, ServerProcess } from "./server-process.ts";

/** One server that can be measured. */
export interface ServerSpec {
  readonly name: string;
  readonly executable: string;
  /** What to run to learn its version. */
  readonly versionArgs: readonly string[];
  /** Writes its configuration into the lab and gives the arguments to start it with. */
  configure(lab: Lab, ports: Ports, setting: Setting): string[];
}

/** A server that runs and answers. */
export interface RunningServer {
  /** From spawn to the first answer, in milliseconds. */
  readonly readyMs: number;
  readonly ports: Ports;
  readonly process: ServerProcess;
}

const PEERS: readonly ServerSpec[] = [
  {
    name: "nginx",
    executable: "nginx",
    versionArgs: ["-v"],
    configure: (lab, ports, setting) => ["-p", lab.dir, "-c", put(lab, "nginx.conf", nginxConfig(lab, ports, setting))],
  },
  {
    name: "haproxy",
    executable: "haproxy",
    versionArgs: ["-v"],
    configure: (lab, ports, setting) => ["-db", "-f", put(lab, "haproxy.cfg", haproxyConfig(lab, ports, setting))],
  },
  {
    name: "caddy",
    executable: "caddy",
    versionArgs: ["version"],
    configure: (lab, ports, setting) => {
      const file = put(lab, "Caddyfile", caddyConfig(lab, ports, setting));
      return ["run", "--config", file, "--adapter", "caddyfile"];
    },
  },
  {
    name: "varnish",
    executable: "varnishd",
    versionArgs: ["-V"],
    configure: (lab, ports) => {
      const file = put(lab, "varnish.vcl", varnishConfig(lab));
      const listen = `127.0.0.1:${ports.http}`;
      const working = join(lab.dir, "varnish");
      return ["-F", "-n", working, "-f", file, "-a", listen, "-s", "malloc,64m", "-p", "thread_pools=1"];
    },
  },
];

/** The gateway, from the binary at `path`; `name` stands in the tables. */
export function edgeServer(path: string, name = "edge"): ServerSpec {
  return {
    name,
    executable: path,
    versionArgs: ["version"],
    configure: (lab, ports, setting) => [
      "serve",
      ...["--config", put(lab, "config.yaml", edgeConfig(lab, ports, setting))],
      ...["--routes", put(lab, "routes.yaml", edgeRoutes(lab, setting))],
    ],
  };
}

/** The peers of these names that are installed; says in one line which are not. */
export function installedPeers(names: readonly string[]): ServerSpec[] {
  const unknown = names.filter((name) => !PEERS.some((peer) => peer.name === name));
  if (unknown.length > 0) throw new Error(`no such peer: ${unknown.join(", ")}`);
  const wanted = PEERS.filter((peer) => names.includes(peer.name));
  const absent = wanted.filter((peer) => Bun.which(peer.executable) === null);
  if (absent.length > 0) {
    console.error(`not installed, left out: ${absent.map((p) => p.name).join(", ")} (scripts/install-peers)`);
  }
  return wanted.filter((peer) => !absent.includes(peer));
}

/** The first version-like words that a server prints about itself. */
export function versionOf(server: ServerSpec): string {
  if (Bun.which(server.executable) === null && !existsSync(server.executable)) return "-";
  const out = Bun.spawnSync([server.executable, ...server.versionArgs]);
  return /\d+\.\d+(\.\d+)?(-[\w.+~]+)?/.exec(out.stdout.toString() + out.stderr.toString())?.[0] ?? "-";
}

/** Starts a server in one setting and waits for its first answer; null, with its last words printed, when none comes. */
export async function startServer(
  server: ServerSpec,
  lab: Lab,
  setting: Setting,
  patienceMs?: number,
): Promise<RunningServer | null> {
  const [http, tls] = freePorts(2) as [number, number];
  const ports = { http, tls };
  if (hasAuth(setting)) putUsers(lab);
  if (setting === "everything")
    put(lab, "countries.mmdb", writeMmdb({ "192.0.2.0/24": { country: { iso_code: "AQ" } } }));
  const command = [server.executable, ...server.configure(lab, ports, setting)];
  const started = performance.now();
  const running = new ServerProcess(command, lab.dir, join(lab.dir, `${server.name}.log`));
  if (await running.isReady(http, "/health", patienceMs)) {
    return { ports, process: running, readyMs: performance.now() - started };
  }
  console.error(`${server.name} (${setting}) did not start:\n${running.lastWords()}`);
  await running.stop();
  return null;
}

function putUsers(lab: Lab): void {
  put(lab, "users-sha", SHA_USERS);
  put(lab, "users-bcrypt", BCRYPT_USERS);
  put(lab, "token.pem", TOKEN_KEY);
}

function put(lab: Lab, name: string, text: string | Buffer): string {
  const file = join(lab.dir, name);
  writeFileSync(file, text);
  return file;
}
