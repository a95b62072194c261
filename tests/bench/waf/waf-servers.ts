import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGateway, upstream } from "../../harness/gateway.ts";

/** A firewall under test. */
export interface WafServer {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** This gateway with its firewall as it is set, before an origin. */
export async function edgeServer(name: string, binary: string, origin: string, waf: object): Promise<WafServer> {
  const gateway = await startGateway({
    binary,
    config: { server: { waf, access_log: { enabled: false } } },
    routes: [upstream("/", { url: origin })],
  });
  const { port, pid } = gateway;
  return { name, port, pid, stop: async () => void (await gateway.stop()) };
}

/** Coraza before a handler of its own. @param rules `on` with the Core Rule Set, `off` without any */
export async function corazaServer(name: string, binary: string, rules: "on" | "off"): Promise<WafServer> {
  const child = Bun.spawn([binary, rules], { stdin: "ignore", stdout: "pipe", stderr: "ignore" });
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  const port = Number(new TextDecoder().decode(value).trim());
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await child.exited;
  };
  return { name, port, pid: child.pid, stop };
}

/** What Go gives: the program with Coraza, and the folders of the modules with tests; null where they cannot be had. */
export interface GoParts {
  readonly server: string;
  readonly crsTests: string;
  /** Null where GoTestWAF's module cannot be had. */
  readonly goTestWaf: string | null;
}

/** Fetches the modules and builds the program; what cannot be had is said in one line. */
export async function goParts(): Promise<GoParts | null> {
  const go = Bun.which("go") ?? ["/usr/local/go/bin/go", "/usr/lib/go/bin/go"].find(existsSync);
  if (go === undefined) {
    console.log("skipped: Coraza, its tests and GoTestWAF need go (Debian: apt install golang)");
    return null;
  }
  const folder = mkdtempSync(join(tmpdir(), "edge-compare-waf-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const server = join(folder, "coraza");
  const built = await run(go, ["build", "-o", server, "."]);
  const crs = await run(go, ["list", "-m", "-f", "{{.Dir}}", "github.com/corazawaf/coraza-coreruleset/v4"]);
  if (built === null || crs === null) {
    console.log("skipped: the modules of Coraza cannot be had");
    return null;
  }
  const found = await run(go, ["mod", "download", "-json", `github.com/wallarm/gotestwaf@${GOTESTWAF}`]);
  if (found === null) console.log(`skipped: the module of GoTestWAF ${GOTESTWAF} cannot be had`);
  const goTestWaf = found === null ? null : join((JSON.parse(found) as { Dir: string }).Dir, "testcases");
  return { server, crsTests: join(crs.trim(), "tests"), goTestWaf };
}

/** @returns what it says, null where it failed */
async function run(go: string, args: readonly string[]): Promise<string | null> {
  const child = Bun.spawn([go, ...args], {
    cwd: join(import.meta.dir, "coraza"),
    env: { ...process.env, GOTOOLCHAIN: "local", GOFLAGS: "-mod=mod" },
    stdout: "pipe",
    stderr: "ignore",
    timeout: BUILD_MS,
  });
  const text = await new Response(child.stdout).text();
  return (await child.exited) === 0 ? text : null;
}

export const CORAZA = "Coraza 3.8.1 with the OWASP Core Rule Set 4.25.0";
export const GOTESTWAF = "v0.5.8";
const BUILD_MS = 300_000;
