// docs/migrate-nginx.md: servers at several ports, in clear text and by TLS, get the same requests behind `edge convert` as behind nginx.
import { describe, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificate } from "../harness/certificate.ts";
import { samples } from "../harness/long-lane.ts";
import { NGINX, NginxServer } from "../harness/nginx-server.ts";
import { expectSameAtPorts, isTlsPort, TRIAL_NAMES, TRIAL_PORTS } from "../harness/port-trial.ts";
import type { SeededRandom } from "../harness/seeded-random.ts";

if (NGINX === null) console.log("skipped: nginx is not installed (scripts/install-peers)");
const FILES = samples(60, 5);

/** What nginx answers to a name at a port: the number of the server, or that it leads elsewhere. */
async function ask(port: number, isTls: boolean, host: string): Promise<string> {
  const url = `${isTls ? "https" : "http"}://127.0.0.1:${port}/`;
  const reply = await fetch(url, { headers: { Host: host }, redirect: "manual", tls: { rejectUnauthorized: false } });
  return `${reply.status} ${reply.headers.get("location") ?? ""} ${reply.status < 300 ? await reply.text() : ""}`;
}

/** Servers at ports; the first port is the usual one for clear text, the second that for TLS, whatever their numbers are. */
function serversOf(random: SeededRandom, certificate: string): string {
  const servers: string[] = [];
  const defaults = new Set<number>();
  const named = new Set<string>();
  for (let at = 0; at < random.integer(3, 6); at++) {
    const name = random.pick(TRIAL_NAMES);
    const listens: string[] = [];
    for (let port = 0; port < TRIAL_PORTS; port++) {
      // nginx passes over the second server with a name at a port.
      if ((port > 0 || at > 0) && (random.chance(0.5) || named.has(`${port} ${name}`))) continue;
      named.add(`${port} ${name}`);
      const isDefault = !defaults.has(port) && random.chance(0.3);
      if (isDefault) defaults.add(port);
      listens.push(`listen PORT${port}${isTlsPort(port) ? " ssl" : ""}${isDefault ? " default_server" : ""};`);
    }
    if (listens.length === 0) continue;
    const content = random.chance(0.2)
      ? "return 301 https://elsewhere.test$request_uri;"
      : `return 200 "server ${at}";`;
    servers.push(
      `server { ${listens.join(" ")} ${name === "" ? "" : `server_name ${name};`} ${certificate} location / { ${content} } }`,
    );
  }
  return servers.join("\n");
}

describe.skipIf(NGINX === null)("servers at several ports", () => {
  test(
    "are asked for the same names at each",
    async () => {
      const folder = mkdtempSync(join(tmpdir(), "edge-listeners-"));
      const made = await makeCertificate();
      for (const name of ["cert", "key"] as const) writeFileSync(join(folder, `${name}.pem`), made[name]);
      const certificate = `ssl_certificate ${folder}/cert.pem; ssl_certificate_key ${folder}/key.pem;`;
      await expectSameAtPorts({
        product: "nginx",
        file: "nginx.conf",
        count: FILES,
        write: (random) => serversOf(random, certificate),
        ports: /PORT(\d)/g,
        start: (text, ports) => NginxServer.start(text, ports),
        ask,
      });
      rmSync(folder, { recursive: true });
    },
    samples(600_000, 120_000),
  );
});
