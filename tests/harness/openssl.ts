import { closeSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openNameless, textOf } from "./run-process.ts";

/** Where openssl is, or null: what needs it skips itself. */
export const OPENSSL = Bun.which("openssl");

/** What `openssl s_client` said and was told. */
export interface ClientRun {
  readonly code: number;
  readonly text: string;
}

/**
 * Runs `openssl s_client` against a loopback port.
 * @param input what it sends once the handshake is over; it ends then, unless the server does before
 */
export async function openssl(port: number, args: readonly string[], input = ""): Promise<ClientRun> {
  const output = openNameless();
  const child = Bun.spawn([OPENSSL!, "s_client", "-connect", `127.0.0.1:${port}`, ...args], {
    stdin: "pipe",
    stdout: output,
    stderr: output,
    timeout: TIME_MS,
    killSignal: "SIGKILL",
  });
  await unlessGone(async () => {
    child.stdin.write(input);
    await child.stdin.flush();
  });
  // It reads what comes until its input ends.
  if (input !== "") await Promise.race([child.exited, Bun.sleep(READING_MS)]);
  await unlessGone(async () => void (await child.stdin.end()));
  const code = await child.exited;
  const text = textOf(output);
  closeSync(output);
  return { code, text };
}

/** Feeds a child that may have ended before it has read all, as where it is told at once that it may not come in. */
async function unlessGone(feed: () => Promise<void>): Promise<void> {
  try {
    await feed();
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EPIPE") throw error;
  }
}

/** A folder for session files and certificates, removed when it is disposed of. */
export class Scratch implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "edge-openssl-"));

  path(name: string): string {
    return join(this.folder, name);
  }

  /** Writes a file and gives its path. */
  write(name: string, text: string): string {
    writeFileSync(this.path(name), text);
    return this.path(name);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const TIME_MS = 30_000;
/** Whoever asks for the end of the connection gets it sooner. */
const READING_MS = 25_000;
