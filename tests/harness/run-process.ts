import { closeSync, openSync, readFileSync, readSync, unlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "./eventually.ts";

/** A process that ran to its end. */
export interface FinishedRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How it is run. */
export interface RunOptions {
  readonly cwd?: string;
  readonly env?: Record<string, string | undefined>;
  /** What it reads from its standard input; nothing by default. */
  readonly stdin?: Uint8Array;
  /** After which it is killed. */
  readonly timeout: number;
}

/**
 * Runs a command to its end. It writes to files without names: now and then the runtime misses the end of a pipe while the
 * machine stands still, and waits for it for ever.
 */
export async function runProcess(command: string[], options: RunOptions): Promise<FinishedRun> {
  const [out, err] = [openNameless(), openNameless()];
  try {
    const child = Bun.spawn(command, { stdin: "ignore", ...options, stdout: out, stderr: err, killSignal: "SIGKILL" });
    const code = await child.exited;
    return { code, stdout: textOf(out), stderr: textOf(err) };
  } finally {
    closeSync(out);
    closeSync(err);
  }
}

/** Whether a process has ended; one that nobody has waited for yet has, too. */
export function isGone(pid: number): boolean {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "latin1"));
  } catch {
    return true;
  }
}

/** Waits until a process has ended. */
export function untilGone(pid: number, patienceMs?: number): Promise<void> {
  return eventually(() => {
    if (!isGone(pid)) throw new Error(`process ${pid} does not end`);
  }, patienceMs);
}

/** A file without a name, to be written and read. */
export function openNameless(): number {
  const path = join(tmpdir(), `edge-output-${crypto.randomUUID()}`);
  const fd = openSync(path, "a+", 0o600);
  unlinkSync(path);
  return fd;
}

/** All that a file holds, wherever its writers are. */
export function textOf(fd: number): string {
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const chunk = Buffer.allocUnsafe(65_536);
    const count = readSync(fd, chunk, 0, chunk.byteLength, at);
    if (count === 0) return Buffer.concat(parts).toString("utf8");
    parts.push(chunk.subarray(0, count));
    at += count;
  }
}
