import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../../../config/atomic-file.ts";

/**
 * Certificates and keys of Secrets, as the gateway reads them: files that the owner alone may read, each named by its content. They go with
 * the process, and those of a process that was killed with the next one.
 */
export class CertificateFolder {
  private readonly parent: string;
  private readonly folder: string;
  private isMade = false;

  /** @param stateFolder in which the folder is made as soon as there is something to keep */
  constructor(stateFolder: string) {
    this.parent = join(stateFolder, "kubernetes");
    this.folder = join(this.parent, String(process.pid));
  }

  /** The path of a file with this text. */
  fileOf(pem: string): string {
    const path = join(this.folder, `${createHash("sha256").update(pem).digest("hex").slice(0, 40)}.pem`);
    if (existsSync(path)) return path;
    this.make();
    writeWhole(path, pem);
    return path;
  }

  /** Takes the other files away. */
  keepOnly(paths: ReadonlySet<string>): void {
    if (!this.isMade) return;
    for (const name of readdirSync(this.folder)) {
      const path = join(this.folder, name);
      if (!paths.has(path)) rmSync(path, { force: true });
    }
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
    this.isMade = false;
  }

  private make(): void {
    if (this.isMade) return;
    mkdirSync(this.folder, { recursive: true, mode: 0o700 });
    this.isMade = true;
    for (const name of readdirSync(this.parent))
      if (/^\d+$/.test(name) && name !== String(process.pid) && !isAlive(Number(name)))
        rmSync(join(this.parent, name), { recursive: true, force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as { readonly code?: string }).code === "EPERM";
  }
}
