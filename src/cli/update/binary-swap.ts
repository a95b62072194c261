import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";
import { ReleaseFault } from "./release-folder.ts";

/** The program on disk: a new one takes its place by one rename, and the one before stays beside it. */
export class BinarySwap {
  /** @param path of the program, absolute */
  constructor(readonly path: string) {}

  /** The program before. */
  get previous(): string {
    return `${this.path}.previous`;
  }

  /**
   * Says why the program cannot be replaced here.
   * @throws ReleaseFault if a package owns it, or its folder cannot be written
   */
  ensureReplaceable(): void {
    if (ownedByPackage(this.path))
      throw new ReleaseFault(`${this.path} belongs to a package: upgrade it with apt or dnf`);
    try {
      accessSync(dirname(this.path), constants.W_OK);
    } catch {
      throw new ReleaseFault(`${dirname(this.path)} cannot be written by this user: run the command with sudo`);
    }
  }

  /**
   * Writes the new program beside the old one, and runs its version and its check of the files.
   * @param configPath "" if there is no configuration
   * @throws ReleaseFault if it does not run, is another version, or refuses the configuration
   */
  stage(program: Uint8Array, version: string, configPath: string): void {
    const staged = this.staged;
    rmSync(staged, { force: true });
    const file = openSync(staged, "wx", 0o755);
    for (let at = 0; at < program.length; ) at += writeSync(file, program, at);
    fsyncSync(file);
    closeSync(file);
    const said = answerOf([staged, "version"]);
    if (said.text.trim() !== `edge ${version}`) throw this.discarded(`the new program does not run: ${said.text}`);
    if (configPath === "" || !existsSync(configPath)) return;
    const checked = answerOf([staged, "check", "--config", configPath]);
    if (!checked.isOk) throw this.discarded(`version ${version} refuses ${configPath}:\n${checked.text}`);
  }

  /** Puts the staged program in its place. */
  commit(): void {
    rmSync(this.previous, { force: true });
    linkSync(this.path, this.previous);
    renameSync(this.staged, this.path);
  }

  /** Puts the program before back. */
  rollBack(): void {
    renameSync(this.previous, this.path);
  }

  private get staged(): string {
    return `${this.path}.new`;
  }

  private discarded(message: string): ReleaseFault {
    rmSync(this.staged, { force: true });
    return new ReleaseFault(message);
  }
}

function answerOf(command: string[]): { readonly isOk: boolean; readonly text: string } {
  try {
    const { exitCode, stdout, stderr } = Bun.spawnSync(command, { stdin: "ignore", timeout: ANSWER_MS });
    return { isOk: exitCode === 0, text: `${stdout.toString()}${stderr.toString()}`.trim().slice(0, MAX_TEXT) };
  } catch (error) {
    return { isOk: false, text: (error as Error).message };
  }
}

/** As dpkg and rpm have it on record. */
function ownedByPackage(path: string): boolean {
  try {
    if (readFileSync(DEBIAN_LIST, "utf8").split("\n").includes(path)) return true;
  } catch {
    // No package of Debian.
  }
  if (Bun.which("rpm") === null) return false;
  return Bun.spawnSync(["rpm", "-qf", path], { stdin: "ignore", timeout: ANSWER_MS }).exitCode === 0;
}

const DEBIAN_LIST = "/var/lib/dpkg/info/edge.list";
const ANSWER_MS = 30_000;
const MAX_TEXT = 4000;
