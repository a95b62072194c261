import { lstatSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type FinishedRun, runProcess } from "./run-process.ts";

/** A root of its own over that of this machine: what is changed in it is seen by no one else, and is gone with it. */
export class OwnRoot {
  readonly path: string;
  private readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.path = join(folder, "root");
  }

  /** Null where this user may not make one. */
  static make(): OwnRoot | null {
    if (process.getuid?.() !== 0) return null;
    const folder = mkdtempSync(join(tmpdir(), "edge-root-"));
    const own = new OwnRoot(folder);
    const made = mount("tmpfs", folder, []) && own.cover();
    if (made) return own;
    own.remove();
    return null;
  }

  /** Runs a command in it, as root and without a network of its own. */
  run(...command: string[]): Promise<FinishedRun> {
    return runProcess(["chroot", this.path, ...command], { timeout: 60_000 });
  }

  /** A link counts wherever it leads: from here it would be followed in this machine's root. */
  has(path: string): boolean {
    return lstatSync(join(this.path, path), { throwIfNoEntry: false }) !== undefined;
  }

  remove(): void {
    for (const at of [join(this.path, "proc"), this.path, this.folder]) Bun.spawnSync(["umount", "-l", at]);
    rmSync(this.folder, { recursive: true, force: true });
  }

  private cover(): boolean {
    const [upper, work] = [join(this.folder, "upper"), join(this.folder, "work")];
    for (const one of [upper, work, this.path]) mkdirSync(one);
    const options = ["-o", `lowerdir=/,upperdir=${upper},workdir=${work}`];
    return mount("overlay", this.path, options) && mount("proc", join(this.path, "proc"), []);
  }
}

function mount(kind: string, at: string, options: readonly string[]): boolean {
  return Bun.spawnSync(["mount", "-t", kind, ...options, kind, at]).exitCode === 0;
}
