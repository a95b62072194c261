import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";
import { freePort } from "./ports.ts";

/** Where Redis is; null without it. */
export const REDIS: string | null = Bun.which("redis-server");
if (REDIS === null) console.log("skipped: the store of a fleet needs redis-server (Debian: apt install redis-server)");

/** A Redis of the test's own, which keeps nothing. */
export class RedisServer {
  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly child: Bun.Subprocess,
  ) {}

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts a sentinel, which knows no master yet. */
  static async startSentinel(): Promise<RedisServer> {
    const file = join(mkdtempSync(join(tmpdir(), "edge-sentinel-")), "sentinel.conf");
    writeFileSync(file, "sentinel resolve-hostnames no\n");
    return RedisServer.start([], 0, [file, "--sentinel"]);
  }

  /** Starts it. @param options of the command line @param port a free one without it */
  static async start(
    options: readonly string[] = [],
    port = 0,
    mode: readonly string[] = ["--save", ""],
    tries = 3,
  ): Promise<RedisServer> {
    const folder = mkdtempSync(join(tmpdir(), "edge-redis-"));
    const own = port || (await freePort());
    const child = Bun.spawn(
      [REDIS!, ...mode, "--port", String(own), "--bind", "127.0.0.1", "--dir", folder, ...options],
      { stdout: "ignore", stderr: "ignore" },
    );
    const server = new RedisServer(own, folder, child);
    // It does not outlive the test process, however that ends.
    process.on("exit", () => {
      child.kill("SIGKILL");
      rmSync(folder, { recursive: true, force: true });
    });
    await eventually(async () => {
      if (child.exitCode === null) expectPong(await server.command("PING"));
    });
    // Another port of it, such as that of a cluster's members among themselves, was taken.
    if (child.exitCode !== null && port === 0 && tries > 1) return RedisServer.start(options, port, mode, tries - 1);
    return server;
  }

  /** One command by the client of Redis. */
  async command(...words: readonly string[]): Promise<string> {
    const run = Bun.spawn(["redis-cli", "-p", String(this.port), ...words], { stdout: "pipe", stderr: "ignore" });
    return (await new Response(run.stdout).text()).trim();
  }

  async stop(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function expectPong(reply: string): void {
  if (!/PONG|NOAUTH/.test(reply)) throw new Error("Redis does not answer yet");
}
