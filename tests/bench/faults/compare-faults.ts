// What edge, nginx and HAProxy write to their logs of 30 broken origins: scripts/compare-faults [--out FILE]
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BrokenOrigins } from "../../harness/broken-origins.ts";
import { makeCertificate, TestAuthority } from "../../harness/certificate.ts";
import { eventually } from "../../harness/eventually.ts";
import { FullBacklog } from "../../harness/full-backlog.ts";
import { freePort, startGateway } from "../../harness/gateway.ts";
import { exchangeOnce, request } from "../../harness/raw-client.ts";
import { table } from "../figures.ts";
import { runToExit } from "../run-to-exit.ts";
import { BROKEN_ORIGINS, type BrokenOrigin } from "./broken-list.ts";

const { values } = parseArgs({ options: { out: { type: "string", default: join(import.meta.dir, "results.md") } } });

/** A broken origin that runs: where it is. */
interface Place extends BrokenOrigin {
  readonly port: number;
  readonly socket: string;
}

/** Asks for the paths `/0` to `/29`, and tells what the log of a gateway has for each. */
type Observed = (places: readonly Place[]) => Promise<readonly string[]>;

const folder = mkdtempSync(join(tmpdir(), "edge-faults-"));
const authority = await TestAuthority.make("known");
const authorityFile = join(folder, "known.pem");
writeFileSync(authorityFile, authority.cert);

await runToExit(main);

async function main(): Promise<void> {
  const origins = new BrokenOrigins();
  const backlog = await FullBacklog.start();
  const places: Place[] = [];
  for (const broken of BROKEN_ORIGINS) places.push(await placed(broken, origins, backlog));
  const gateways: (readonly [string, Observed])[] = [["edge", observeEdge]];
  for (const [name, observe] of [
    ["nginx", observeNginx],
    ["haproxy", observeHaproxy],
  ] as const) {
    if (executable(name) === null) console.log(`skipped: ${name} is not installed (scripts/install-peers)`);
    else gateways.push([name, observe]);
  }
  const columns: (readonly string[])[] = [];
  for (const [, observe] of gateways) columns.push(await observe(places));
  const rows = BROKEN_ORIGINS.map(({ name }, i) => [name, ...columns.map((column) => column[i]!)]);
  const page = `# What logs say of broken origins

Written by \`scripts/compare-faults\`: the same ${rows.length} origins behind each gateway, and what its log has of a request, as its manual sets
the log up: \`fault_detail\` of edge, the message in nginx's \`error_log\`, status and termination state in HAProxy's \`httplog\`.

${table(["the origin", ...gateways.map(([name]) => versioned(name))], rows)}
Different words: ${gateways.map(([name], i) => `${name} ${new Set(columns[i]).size}`).join(", ")}, of ${rows.length} origins.
`;
  writeFileSync(values.out, page);
  console.log(page);
  origins.stop();
  backlog?.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function placed(broken: BrokenOrigin, origins: BrokenOrigins, backlog: FullBacklog | null): Promise<Place> {
  const { act, certificate } = broken;
  if (act === "refused") return { ...broken, port: freePort(), socket: "" };
  if (act === "backlog") return { ...broken, port: backlog?.port ?? freePort(), socket: "" };
  if (act === "no socket") return { ...broken, port: 0, socket: "/nowhere/app.sock" };
  const port = await origins.add(act, certificate === undefined ? null : await shown(certificate));
  return { ...broken, port, socket: "" };
}

async function shown(flaw: NonNullable<BrokenOrigin["certificate"]>): Promise<{ cert: string; key: string }> {
  const names = [{ type: "ip", value: "127.0.0.1" }] as const;
  const past = { notBefore: new Date(Date.now() - 2e8), notAfter: new Date(Date.now() - 1e8) };
  if (flaw === "self-signed") return makeCertificate([...names]);
  if (flaw === "unknown issuer") return (await TestAuthority.make("unknown")).issue({ names });
  if (flaw === "expired") return authority.issue({ names, ...past });
  return authority.issue({ names: [{ type: "dns", value: "other.test" }] });
}

async function observeEdge(places: readonly Place[]): Promise<readonly string[]> {
  const gateway = await startGateway({
    config: { server: { workers: 1 } },
    routes: places.map(({ scheme, port, socket }, i) => ({
      type: "upstream",
      prefix: `/${i}`,
      target: socket === "" ? `${scheme}://127.0.0.1:${port}` : `unix:${socket}`,
      retries: { attempts: 0 },
      timeouts: { connect: "1s", response_header: "1s", idle: "1s" },
      ...(scheme === "https" ? { tls: { ca_file: "known.pem" } } : {}),
    })),
    files: { "known.pem": authority.cert },
  });
  const words: string[] = [];
  for (const i of places.keys()) {
    await ask(gateway.port, i);
    const line = await gateway.log(`the line of ${i}`, (one) => one.event === "access" && one.path === `/${i}/a`);
    words.push(`\`${line.fault_detail}\``);
  }
  await gateway.stop();
  return words;
}

async function observeNginx(places: readonly Place[]): Promise<readonly string[]> {
  const port = freePort();
  const log = join(folder, "nginx.log");
  const locations = places.map(({ scheme, port: to, socket }, i) => {
    const target = socket === "" ? `${scheme}://127.0.0.1:${to}/` : `http://unix:${socket}:/`;
    return `location /${i}/ { proxy_pass ${target}; }`;
  });
  const file = join(folder, "nginx.conf");
  writeFileSync(
    file,
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log ${log} error; events {}
http { access_log off; proxy_temp_path ${folder}/p; client_body_temp_path ${folder}/c; fastcgi_temp_path ${folder}/f; uwsgi_temp_path ${folder}/u; scgi_temp_path ${folder}/s;
server { listen 127.0.0.1:${port}; proxy_http_version 1.1; proxy_connect_timeout 1s; proxy_read_timeout 1s; proxy_next_upstream off;
proxy_ssl_verify on; proxy_ssl_trusted_certificate ${authorityFile}; proxy_ssl_name 127.0.0.1;
${locations.join("\n")} } }`,
  );
  const child = Bun.spawn([executable("nginx")!, "-c", file, "-p", folder], { stdout: "ignore", stderr: "ignore" });
  await eventually(() => fetch(`http://127.0.0.1:${port}/99`).then((response) => response.text()));
  const words: string[] = [];
  for (const i of places.keys()) {
    const before = readFileSync(log, "utf8").length;
    await ask(port, i);
    const added = readFileSync(log, "utf8").slice(before);
    words.push(/\*\d+ (.*?), client:/.exec(added)?.[1]?.replaceAll("|", "\\|") ?? "nothing");
  }
  child.kill("SIGKILL");
  return words;
}

async function observeHaproxy(places: readonly Place[]): Promise<readonly string[]> {
  const port = freePort();
  const file = join(folder, "haproxy.cfg");
  const backends = places.map(({ scheme, port: to, socket }, i) => {
    const secure = scheme === "https" ? ` ssl verify required ca-file ${authorityFile} verifyhost 127.0.0.1` : "";
    return `backend b${i}\n server s ${socket === "" ? `127.0.0.1:${to}` : `unix@${socket}`}${secure}`;
  });
  writeFileSync(
    file,
    `global
 log stdout format raw local0
defaults
 mode http
 log global
 option httplog
 retries 0
 timeout connect 1s
 timeout server 1s
 timeout client 5s
frontend f
 bind 127.0.0.1:${port}
${places.map((_, i) => ` use_backend b${i} if { path_beg /${i}/ }`).join("\n")}
${backends.join("\n")}
`,
  );
  const child = Bun.spawn([executable("haproxy")!, "-f", file], { stdout: "pipe", stderr: "ignore" });
  let text = "";
  void (async () => {
    for await (const chunk of child.stdout) text += new TextDecoder().decode(chunk);
  })();
  await eventually(() => fetch(`http://127.0.0.1:${port}/99`).then((response) => response.text()));
  const words: string[] = [];
  for (const i of places.keys()) {
    await ask(port, i);
    const line = new RegExp(` b${i}/\\S+ \\S+ (-?\\d+) \\d+ \\S+ \\S+ (\\S{4}) `);
    await eventually(() => {
      if (!line.test(text)) throw new Error(`no line of ${i}`);
    });
    const [, status, state] = line.exec(text)!;
    words.push(`${status} ${state}`);
  }
  child.kill("SIGKILL");
  return words;
}

/** One request, whose response may be cut. */
async function ask(port: number, i: number): Promise<void> {
  await exchangeOnce(port, request(`GET /${i}/a`)).catch(() => {});
}

function executable(name: string): string | null {
  return Bun.which(name, { PATH: `${process.env.PATH}:/usr/sbin:/sbin` });
}

function versioned(name: string): string {
  if (name === "edge") return "edge";
  const { stdout, stderr } = Bun.spawnSync([executable(name)!, "-v"]);
  return `${name} ${/\d+\.\d+\.\d+/.exec(`${stdout} ${stderr}`)?.[0] ?? ""}`.trimEnd();
}
