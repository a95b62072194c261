import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { RawClient } from "./raw-client.ts";

const PATH = `${process.env.PATH ?? ""}:/usr/sbin`;

/** How a gateway that others make is started with a file. */
const COMMANDS = {
  caddy: (program: string, file: string) => [program, "run", "--config", file, "--adapter", "caddyfile"],
  haproxy: (program: string, file: string) => [program, "-db", "-f", file],
} as const;

/** A Caddy or an HAProxy of the test's own. */
export class PeerServer {
  private constructor(
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  /** Where the program is; null without it. */
  static find(name: keyof typeof COMMANDS): string | null {
    return Bun.which(name, { PATH });
  }

  /** Starts it and waits until it accepts. @param ports on loopback, that it listens at */
  static async start(name: keyof typeof COMMANDS, text: string, ports: readonly number[]): Promise<PeerServer> {
    const folder = mkdtempSync(join(tmpdir(), `edge-${name}-`));
    const file = join(folder, "configuration");
    writeFileSync(file, text);
    const child = Bun.spawn(COMMANDS[name](PeerServer.find(name)!, file), {
      cwd: folder,
      env: { PATH, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
      stdout: "ignore",
      stderr: Bun.file(join(folder, "errors")),
    });
    process.on("exit", () => child.kill("SIGKILL"));
    const server = new PeerServer(folder, child);
    for (const port of ports)
      await eventually(async () => {
        if (child.exitCode !== null)
          throw new Error(`${name}: ${readFileSync(join(folder, "errors"), "utf8")}\n${text}`);
        (await RawClient.connect(port)).close();
      });
    return server;
  }

  stop(): void {
    this.child.kill("SIGKILL");
    rmSync(this.folder, { recursive: true, force: true });
  }
}
