// docs/migrate.md: sites of Caddy and frontends of HAProxy at several ports, in clear text and by TLS, get the same requests behind
// `edge convert` as behind their own program: what only some ports had is at no other.
import { afterAll, describe, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Product } from "../../src/tools/convert/convert.ts";
import { makeCertificate } from "../harness/certificate.ts";
import { samples } from "../harness/long-lane.ts";
import { PeerServer } from "../harness/peer-server.ts";
import { expectSameAtPorts, isTlsPort, TRIAL_HOSTS, TRIAL_NAMES, TRIAL_PORTS } from "../harness/port-trial.ts";
import type { SeededRandom } from "../harness/seeded-random.ts";

const FILES = samples(60, 1);
/** What takes requests that nothing of the file is for: an empty 200 of Caddy, 503 of HAProxy, 404 here. */
const NOTHING = new Set(["200  ", "503  ", "404  "]);

const folder = mkdtempSync(join(tmpdir(), "edge-listeners-"));
const made = await makeCertificate([...TRIAL_HOSTS, "localhost"].map((value) => ({ type: "dns" as const, value })));
for (const name of ["cert", "key"] as const) writeFileSync(join(folder, `${name}.pem`), made[name]);
writeFileSync(join(folder, "both.pem"), `${made.cert.trimEnd()}\n${made.key}`);
afterAll(() => rmSync(folder, { recursive: true }));

/** What is given to a name at a port: status, place, and the text that names the site. */
async function ask(port: number, isSecure: boolean, host: string): Promise<string> {
  const url = `${isSecure ? "https" : "http"}://127.0.0.1:${port}/`;
  const tls = { rejectUnauthorized: false, serverName: host };
  const asked = fetch(url, { headers: { Host: host }, redirect: "manual", keepalive: false, tls });
  // Caddy refuses the handshake for a name that no site has.
  const reply = await asked.catch((error: { code?: string }) =>
    error.code === "EPROTO" ? null : Promise.reject(error),
  );
  if (reply === null) return "nothing";
  const told = `${reply.status} ${reply.headers.get("location") ?? ""} ${reply.status < 300 ? await reply.text() : ""}`;
  return NOTHING.has(told) ? "nothing" : told;
}

/** Sites at ports, of which the first is the one for clear text, and the second that for TLS. */
function caddyfile(random: SeededRandom): string {
  const known = new Set(["a.test 0"]);
  const sites: string[] = [];
  for (let at = 0; at < random.integer(3, 6); at++) {
    const addresses = at === 0 ? ["http://a.test:PORT0"] : [];
    // Caddy's handshakes forget the site for all names where its addresses name others as well.
    const isForAll = at > 0 && random.chance(0.3);
    for (const name of TRIAL_NAMES.filter((one) => (one === "") === isForAll))
      for (let port = 0; port < TRIAL_PORTS; port++) {
        if (!random.chance(isForAll ? 0.6 : 0.25) || known.has(`${name} ${port}`)) continue;
        known.add(`${name} ${port}`);
        addresses.push(`${isTlsPort(port) ? "https" : "http"}://${name}:PORT${port}`);
      }
    const content = random.chance(0.2) ? "redir https://elsewhere.test{uri} 301" : `respond "site ${at}"`;
    // A site is of clear text or of TLS, as its certificate says.
    for (const secure of [true, false]) {
      const own = addresses.filter((one) => one.startsWith("https:") === secure);
      if (own.length === 0) continue;
      const tls = secure ? `tls ${folder}/cert.pem ${folder}/key.pem` : "";
      sites.push(`${own.join(", ")} {\n\t${tls}\n\t${content}\n}`);
    }
  }
  return `{\n\tadmin off\n\thttp_port PORT0\n\thttps_port PORT1\n\tauto_https disable_redirects\n}\n${sites.join("\n")}\n`;
}

/** Frontends at ports. */
function haproxyFile(random: SeededRandom): string {
  const free = new Set(Array.from({ length: TRIAL_PORTS }, (_, port) => port));
  const frontends: string[] = [];
  for (let at = 0; free.size > 0; at++) {
    const ports = [...free].filter((_, i) => i === 0 || random.chance(0.4));
    for (const port of ports) free.delete(port);
    const bind = (port: number): string =>
      `  bind 127.0.0.1:PORT${port}${isTlsPort(port) ? ` ssl crt ${folder}/both.pem` : ""}`;
    const lines = ports.map(bind);
    if (random.chance(0.3)) lines.push("  http-request redirect scheme https code 301 unless { ssl_fc }");
    for (const name of TRIAL_NAMES) {
      if (!random.chance(0.4)) continue;
      const test =
        name === ""
          ? ""
          : ` if { ${name.startsWith("*") ? `hdr_end(host) -i ${name.slice(1)}` : `hdr(host) -i ${name}`} }`;
      lines.push(
        `  http-request return status 200 content-type text/plain string f${at}${name === "" ? "" : name[0]}${test}`,
      );
    }
    frontends.push(`frontend f${at}\n${lines.join("\n")}\n`);
  }
  return `defaults\n  mode http\n  timeout client 5s\n  timeout server 5s\n  timeout connect 1s\n\n${frontends.join("\n")}`;
}

const PRODUCTS = [
  ["caddy", "Caddyfile", caddyfile],
  ["haproxy", "haproxy.cfg", haproxyFile],
] as const satisfies readonly (readonly [Product & ("caddy" | "haproxy"), string, unknown])[];

describe.each(PRODUCTS)("several ports of %s", (product, name, write) => {
  const program = PeerServer.find(product);
  if (program === null) console.log(`skipped: ${product} is not installed (scripts/install-peers)`);

  test.skipIf(program === null)(
    "are asked for the same names at each",
    async () => {
      await expectSameAtPorts({
        product,
        file: name,
        count: FILES,
        write,
        ports: /127\.0\.0\.1:PORT(\d)|:PORT(\d)[, ]/g,
        start: (text, ports) => PeerServer.start(product, text, ports),
        ask,
      });
    },
    samples(600_000, 120_000),
  );
});
