import { existsSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { LogFile } from "../harness/log-file.ts";
import { type JunitReport, readJunit } from "./junit-report.ts";
import type { TestConsole } from "./test-console.ts";

/** What is left of a `bun test` that has ended. */
export interface BunRun {
  readonly files: readonly string[];
  /** The exit status; 128 + n after signal n. */
  readonly status: number;
  /** Null where Bun has written none: it was killed, or has crashed. */
  readonly report: JunitReport | null;
  readonly console: TestConsole;
}

/** How files are run. */
export interface RunSettings {
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Ends the run. */
  readonly stop: AbortSignal;
}

/** Runs files in one `bun test` to its end; `console` reads along. */
export async function runFiles(files: readonly string[], settings: RunSettings, console: TestConsole): Promise<BunRun> {
  const reportFile = join(tmpdir(), `edge-junit-${crypto.randomUUID()}.xml`);
  const output = new LogFile();
  const flags = ["--timeout=60000", "--reporter=junit", `--reporter-outfile=${reportFile}`, ...settings.flags];
  const paths = files.map((file) => resolve(file));
  // A process group of its own: whatever the tests have left running ends with it.
  const child = Bun.spawn([process.execPath, "test", ...flags, ...paths], {
    env: { ...settings.env, NO_COLOR: "1" },
    detached: true,
    stdin: "ignore",
    stdout: output.fd,
    stderr: output.fd,
  });
  const stop = (): void => killGroup(child.pid);
  settings.stop.addEventListener("abort", stop);
  if (settings.stop.aborted) stop();
  try {
    const status = await follow(child, output, console);
    const report = existsSync(reportFile) ? readJunit(readFileSync(reportFile, "utf8")) : null;
    return { files, status, report, console };
  } finally {
    settings.stop.removeEventListener("abort", stop);
    killGroup(child.pid);
    output.close();
    rmSync(reportFile, { force: true });
  }
}

async function follow(
  child: Bun.Subprocess<"ignore", number, number>,
  output: LogFile,
  console: TestConsole,
): Promise<number> {
  let taken = 0;
  const takeLines = (): void => {
    for (const line of output.lines.slice(taken)) {
      console.take(line);
      taken++;
    }
  };
  const timer = setInterval(takeLines, LOOK_MS);
  const status = await child.exited;
  clearInterval(timer);
  takeLines();
  console.flush();
  return status;
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It was empty.
  }
}

const LOOK_MS = 100;
