import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../harness/ports.ts";
import { openNameless, textOf } from "../../harness/run-process.ts";

/** The interpreter of the folder in which scripts/install-peers puts applications from PyPI; null where it has not. */
export const PYTHON: string | null = found(join(import.meta.dir, "../../../.bun/apps/bin/python"));

/** How an application is started. */
export interface ApplicationPlan {
  /** The whole command line. */
  command(port: number, folder: string): readonly string[];
  /** A path that is answered, with whatever status, once it serves. */
  readonly path: string;
  /** Done in the application's folder before it starts. */
  prepare?(folder: string): void;
}

/** An application as a process on a loopback port of its own, with a folder that goes with it. */
export class Application {
  private constructor(
    readonly url: string,
    readonly folder: string,
    private readonly child: Bun.Subprocess<"ignore", number, number>,
    private readonly output: number,
  ) {}

  /** Starts it and waits until it answers. */
  static async start(plan: ApplicationPlan): Promise<Application> {
    const [port, folder, output] = [freePort(), mkdtempSync(join(tmpdir(), "edge-app-")), openNameless()];
    plan.prepare?.(folder);
    const child = Bun.spawn([...plan.command(port, folder)], {
      cwd: folder,
      // Its settings, and what it remembers, are in its folder too.
      env: { PATH: process.env.PATH ?? "", HOME: folder, PYTHONUNBUFFERED: "1" },
      stdin: "ignore",
      stdout: output,
      stderr: output,
    });
    const application = new Application(`http://127.0.0.1:${port}`, folder, child, output);
    running.add(application);
    await application.untilServing(plan.path);
    return application;
  }

  /** What it has written. */
  get log(): string {
    return textOf(this.output);
  }

  async stop(): Promise<void> {
    this.child.kill("SIGTERM");
    await Promise.race([this.child.exited, Bun.sleep(STOP_MS)]);
    this.kill();
  }

  /** Ends it at once, and removes its folder. */
  kill(): void {
    this.child.kill("SIGKILL");
    running.delete(this);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async untilServing(path: string): Promise<void> {
    const deadline = performance.now() + START_MS;
    while (performance.now() < deadline && this.child.exitCode === null) {
      const isThere = await fetch(this.url + path, { redirect: "manual" }).then(
        (response) => response.bytes().then(() => true),
        () => false,
      );
      if (isThere) return;
      await Bun.sleep(50);
    }
    const said = this.log.slice(-2000);
    this.kill();
    throw new Error(`the application did not start: ${said}`);
  }
}

const START_MS = 60_000;
const STOP_MS = 5000;
const running = new Set<Application>();

// Nothing outlives the test process, however it ends.
process.on("exit", () => {
  for (const application of running) application.kill();
});

function found(path: string): string | null {
  return existsSync(path) ? path : null;
}
