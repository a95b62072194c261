import { chmodSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./ports.ts";

const VERSIONS = "/usr/lib/postgresql";

/** The folder of PostgreSQL's programs; null without it, or where it cannot be run: it does not run as root. */
export const POSTGRES: string | null = programs();
if (POSTGRES === null)
  console.log("skipped: a database behind a stream needs postgresql (Debian: apt install postgresql)");

function programs(): string | null {
  const version = existsSync(VERSIONS) ? readdirSync(VERSIONS).at(-1) : undefined;
  const folder = version === undefined ? "" : join(VERSIONS, version, "bin");
  const mayRun = process.getuid?.() !== 0 || Bun.which("setpriv") !== null;
  return folder !== "" && existsSync(join(folder, "initdb")) && mayRun ? folder : null;
}

/** A PostgreSQL of the test's own, of an unprivileged user where the test is root's. */
export class PostgresServer {
  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  static async start(): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), "edge-postgres-"));
    chmodSync(folder, 0o777);
    const data = join(folder, "data");
    const port = freePort();
    const made = Bun.spawnSync([
      ...AS_USER,
      join(POSTGRES!, "initdb"),
      "-D",
      data,
      "-A",
      "trust",
      "-U",
      "edge",
      "--no-sync",
    ]);
    if (made.exitCode !== 0) throw new Error(made.stderr.toString());
    const options = ["-p", String(port), "-h", "127.0.0.1", "-k", folder, "-c", "fsync=off"];
    const child = Bun.spawn([...AS_USER, join(POSTGRES!, "postgres"), "-D", data, ...options], {
      stdout: "ignore",
      stderr: "ignore",
    });
    process.on("exit", () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    });
    const server = new PostgresServer(port, folder, child);
    await eventually(async () => {
      const sql = new Bun.SQL(server.url(port));
      await sql`SELECT 1`;
      await sql.close();
    });
    return server;
  }

  /** For a client that comes by this port. */
  url(port: number): string {
    return `postgres://edge@127.0.0.1:${port}/postgres`;
  }

  async stop(): Promise<void> {
    this.child.kill("SIGQUIT");
    await this.child.exited;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const AS_USER = process.getuid?.() === 0 ? ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] : [];
