// What the steps of a release have in common.
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The top of the repository. */
export const ROOT: string = join(import.meta.dir, "../..");

/** What all files of a release are made with. */
export interface Release {
  readonly version: string;
  /** Seconds since 1970: the time of all files, so that the same source gives the same bytes. */
  readonly epoch: number;
  /** Where files are prepared. */
  readonly work: string;
  /** Where files go. */
  readonly out: string;
}

/** A step that failed, with what its program said. */
export class ReleaseFault extends Error {}

/**
 * Runs a program.
 * @returns what it wrote to its standard output
 * @throws ReleaseFault if it fails, or is not there
 */
export function run(command: readonly string[], cwd: string = ROOT, env: Record<string, string> = {}): Buffer {
  const [program, ...args] = command;
  if (Bun.which(program!) === null) throw new ReleaseFault(`${program} is needed and not there`);
  const done = Bun.spawnSync([program!, ...args], { cwd, env: { ...process.env, ...env }, stdin: "ignore" });
  if (done.exitCode === 0) return done.stdout;
  throw new ReleaseFault(`${command.join(" ")}: ${done.stderr.toString().trim() || done.stdout.toString().trim()}`);
}

/** A folder as a tar file whose bytes depend on names, modes and contents alone; it belongs to root. */
export function tarOf(folder: string, epoch: number, entries: readonly string[] = ["."]): Buffer {
  const same = ["--sort=name", `--mtime=@${epoch}`, "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"];
  return run(["tar", ...same, "-C", folder, "-cf", "-", ...entries]);
}

/** gzip without the time and the name of a file. */
export function gzipOf(bytes: Uint8Array): Uint8Array {
  return Bun.gzipSync(Buffer.from(bytes), { level: 9 });
}

/** In hex. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** A time as ISO 8601 in UTC, to the second. */
export function isoOf(epoch: number): string {
  return new Date(epoch * 1000).toISOString().replace(".000Z", "Z");
}

/** The seconds of the last commit, or of SOURCE_DATE_EPOCH. https://reproducible-builds.org/specs/source-date-epoch/ */
export function epochOf(): number {
  const told = process.env.SOURCE_DATE_EPOCH ?? run(["git", "log", "-1", "--format=%ct"]).toString().trim();
  if (!/^\d{1,11}$/.test(told))
    throw new ReleaseFault(`SOURCE_DATE_EPOCH: expected seconds since 1970, found "${told}"`);
  return Number(told);
}

/** The text of a file of the project. */
export function projectFile(path: string): string {
  return readFileSync(join(ROOT, path), "utf8");
}
