import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseAllDocuments } from "yaml";
import { AdminApi, API } from "./api.ts";
import { BINARIES, VERSIONS, writeModule } from "./go-module.ts";

/** Where binaries and keys of the control plane are. */
export const HOME: string =
  process.env.KUBE_HOME ?? join(process.env.XDG_CACHE_HOME ?? `${process.env.HOME}/.cache`, "edge-kube");
/** The network namespace of the control plane and the gateway. */
const NETNS = "edge-kube";
/** Addresses of servers that are no pods. */
const SERVER_ADDRESSES = "10.92.0.0/16";
/** Addresses that Gateways get. */
export const GATEWAY_ADDRESSES = "10.91.0.0/24";

function sh(command: readonly string[], options: { readonly cwd?: string; readonly input?: string } = {}): string {
  const { input, cwd } = options;
  const run = Bun.spawnSync([...command], { ...(cwd === undefined ? {} : { cwd }), stdin: Buffer.from(input ?? "") });
  if (run.exitCode !== 0) throw new Error(`${command.join(" ")}: ${run.stderr.toString().slice(-2000)}`);
  return run.stdout.toString().trim();
}

/** Whether all binaries are there. */
export function isBuilt(home: string): boolean {
  return Object.keys(BINARIES).every((name) => existsSync(join(home, "bin", name)));
}

/** Whether a control plane is there already: each has the same network namespace. */
export function isRunning(): boolean {
  return existsSync(join("/var/run/netns", NETNS));
}

/** Builds the binaries that are not there: some 12 minutes of two processors the first time. */
export function build(home: string): void {
  const module = join(home, "module");
  if (!existsSync(join(module, "go.mod"))) writeModule(module);
  mkdirSync(join(home, "bin"), { recursive: true });
  const missing = Object.entries(BINARIES).filter(([name]) => !existsSync(join(home, "bin", name)));
  if (missing.length > 0) sh(["go", "mod", "tidy"], { cwd: module });
  for (const [name, args] of missing) {
    console.error(`building ${name} (once)`);
    const [what, ...rest] = args;
    const target = rest.pop()!;
    sh(["nice", "go", what!, "-buildvcs=false", ...rest, "-o", join(home, "bin", name), target], { cwd: module });
  }
}

/** The folder of the definitions of the Gateway API. */
function definitions(home: string): string {
  const known = join(home, "gateway-api");
  if (existsSync(known)) return readFileSync(known, "utf8").trim();
  return sh(["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/gateway-api"], { cwd: join(home, "module") });
}

/** Makes the authority, and the certificates of the servers and the two accounts. */
function makeKeys(home: string): void {
  const folder = join(home, "pki");
  mkdirSync(folder, { recursive: true });
  if (existsSync(join(folder, "edge.crt"))) return;
  const openssl = (...args: string[]) => sh(["openssl", ...args], { cwd: folder });
  const key = (name: string) => openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", `${name}.key`);
  key("ca");
  const usage = ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign,cRLSign"];
  openssl(
    ...["req", "-x509", "-new", "-key", "ca.key", "-days", "30", "-subj", "/CN=harness", "-out", "ca.crt"],
    "-addext",
    usage[0]!,
    "-addext",
    usage[1]!,
  );
  const leaves = {
    apiserver: ["/CN=kube-apiserver", `subjectAltName=IP:${API},IP:127.0.0.1,IP:10.96.0.1,DNS:localhost`],
    kubelet: ["/CN=node0", `subjectAltName=IP:${API}`],
    admin: ["/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth"],
    edge: ["/CN=edge-gateway", "extendedKeyUsage=clientAuth"],
  } as const;
  for (const [name, [subject, extension]] of Object.entries(leaves)) {
    key(name);
    openssl("req", "-new", "-key", `${name}.key`, "-subj", subject, "-out", `${name}.csr`);
    writeFileSync(join(folder, `${name}.ext`), extension);
    openssl(
      ...["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30"],
      "-out",
      `${name}.crt`,
      "-extfile",
      `${name}.ext`,
    );
  }
  openssl("genrsa", "-out", "sa.key", "2048");
  openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub");
  const data = (name: string) => readFileSync(join(folder, name)).toString("base64");
  for (const name of ["admin", "edge"]) {
    const user = { "client-certificate-data": data(`${name}.crt`), "client-key-data": data(`${name}.key`) };
    const cluster = { server: `https://${API}:6443`, "certificate-authority-data": data("ca.crt") };
    const config = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "x" },
      ...{ clusters: [{ name: "c", cluster }], users: [{ name: "u", user }] },
      contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    };
    writeFileSync(join(folder, `${name}.kubeconfig`), JSON.stringify(config));
  }
}

function makeNetwork(): void {
  const inside = (...args: string[]) => sh(["ip", "netns", "exec", NETNS, ...args]);
  sh(["ip", "netns", "add", NETNS]);
  inside("ip", "link", "set", "lo", "up");
  inside("ip", "link", "add", "br0", "type", "bridge");
  inside("ip", "addr", "add", "10.244.0.1/16", "dev", "br0");
  inside("ip", "link", "set", "br0", "up");
  inside("ip", "addr", "add", `${API}/32`, "dev", "lo");
  for (const network of [GATEWAY_ADDRESSES, SERVER_ADDRESSES])
    inside("ip", "route", "add", "local", network, "dev", "lo");
  inside("sysctl", "-qw", "net.ipv4.ip_unprivileged_port_start=0", "net.ipv4.ip_forward=1");
}

/** Etcd, an API server and a node of processes, in a network namespace. */
export class ControlPlane {
  readonly home: string;
  /** The log of the program that was started last. */
  lastLog = "";
  private readonly children: Bun.Subprocess[] = [];

  constructor(home: string) {
    this.home = home;
  }

  /** @param rights the objects that let the gateway's account in */
  async start(channel: "standard" | "experimental", rights: readonly object[]): Promise<void> {
    this.clean();
    makeKeys(this.home);
    makeNetwork();
    const { home } = this;
    const pki = (name: string) => join(home, "pki", name);
    rmSync(join(home, "etcd-data"), { recursive: true, force: true });
    const at = "http://127.0.0.1:2379";
    this.run("etcd", [
      ...["--data-dir", join(home, "etcd-data"), "--unsafe-no-fsync"],
      ...["--listen-client-urls", at, "--advertise-client-urls", at],
    ]);
    this.run("kube-apiserver", [
      ...[`--etcd-servers=${at}`, `--bind-address=${API}`, `--advertise-address=${API}`, "--authorization-mode=RBAC"],
      ...[`--client-ca-file=${pki("ca.crt")}`, "--anonymous-auth=false", "--service-cluster-ip-range=10.96.0.0/16"],
      ...[`--tls-cert-file=${pki("apiserver.crt")}`, `--tls-private-key-file=${pki("apiserver.key")}`],
      ...["--service-account-issuer=https://kubernetes.default.svc", `--service-account-key-file=${pki("sa.pub")}`],
      ...[`--service-account-signing-key-file=${pki("sa.key")}`, "--kubelet-preferred-address-types=InternalIP"],
      ...[`--kubelet-client-certificate=${pki("admin.crt")}`, `--kubelet-client-key=${pki("admin.key")}`],
      ...[`--kubelet-certificate-authority=${pki("ca.crt")}`, "--disable-admission-plugins=ServiceAccount"],
    ]);
    // The API server is only seen from within the namespace.
    this.spawn([process.execPath, join(import.meta.dir, "inside.ts"), home, channel], JSON.stringify(rights));
    for (let left = 600; !existsSync(join(home, "ready")); left--) {
      if (left === 0) throw new Error(`the API server is not ready: see ${home}/log`);
      await Bun.sleep(100);
    }
  }

  /** Starts a program in the namespace. */
  spawn(command: readonly string[], input = "", env: Readonly<Record<string, string>> = {}): Bun.Subprocess {
    this.lastLog = join(this.home, "log", `${command[0]!.split("/").pop()}-${this.children.length}.log`);
    writeFileSync(this.lastLog, "");
    const log = Bun.file(this.lastLog);
    const child = Bun.spawn(["ip", "netns", "exec", NETNS, ...command], {
      ...{ stdin: Buffer.from(input), stdout: log, stderr: log, env: { ...process.env, ...env } },
    });
    this.children.push(child);
    return child;
  }

  async stop(): Promise<void> {
    for (const child of this.children.reverse()) {
      child.kill("SIGTERM");
      await Promise.race([child.exited, Bun.sleep(20_000)]);
      child.kill("SIGKILL");
    }
    this.clean();
  }

  private run(name: string, args: readonly string[]): void {
    this.spawn([join(this.home, "bin", name), ...args]);
  }

  private clean(): void {
    mkdirSync(join(this.home, "log"), { recursive: true });
    rmSync(join(this.home, "ready"), { force: true });
    rmSync(join(this.home, "volumes"), { recursive: true, force: true });
    const all = sh(["ip", "netns", "list"])
      .split("\n")
      .map((line) => line.split(" ")[0]!);
    for (const name of all.filter((one) => one === NETNS || one.startsWith(`${NETNS}-`))) {
      for (const pid of sh(["ip", "netns", "pids", name]).split("\n").filter(Boolean)) sh(["kill", "-9", pid]);
      sh(["ip", "netns", "del", name]);
    }
  }
}

/** Applies the definitions of the Gateway API and further objects, as soon as the API server takes them. */
export async function furnish(home: string, channel: string, rights: readonly object[]): Promise<AdminApi> {
  const api = new AdminApi(home);
  for (let left = 600; left > 0; left--) {
    const isReady = await api.call("GET", "/readyz").then(
      ({ status }) => status === 200,
      () => false,
    );
    if (isReady) break;
    await Bun.sleep(100);
  }
  const folder = join(definitions(home), "config", "crd", channel);
  for (const name of readdirSync(folder).filter((one) => /^gateway.*\.yaml$/.test(one)))
    for (const document of parseAllDocuments(readFileSync(join(folder, name), "utf8"))) {
      const object: unknown = document.toJS();
      if (object !== null) await api.apply(object);
    }
  for (const object of rights) await api.apply(object);
  return api;
}

export const SUITE_VERSION = VERSIONS.gatewayApi;
