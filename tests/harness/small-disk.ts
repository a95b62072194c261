import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder on a small disk of its own, where the system lets this process mount one. */
export class SmallDisk {
  readonly folder: string = mkdtempSync(join(tmpdir(), "edge-disk-"));
  /** Whether it is one: without the right to mount it is an ordinary folder. */
  readonly isSmall: boolean;

  /** @param bytes how much it holds */
  constructor(private readonly bytes: number) {
    const size = `size=${bytes}`;
    this.isSmall = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", size, "tmpfs", this.folder]).exitCode === 0;
  }

  /** Leaves no byte free. */
  fill(): void {
    if (!this.isSmall) return;
    const fd = openSync(join(this.folder, "filler"), "w");
    const block = Buffer.alloc(64 * 1024);
    try {
      for (let n = 0; n * block.length <= this.bytes; n++) writeSync(fd, block);
    } catch {
      // It is full.
    }
    closeSync(fd);
  }

  /** What `fill` has written is gone. */
  empty(): void {
    rmSync(join(this.folder, "filler"), { force: true });
  }

  remove(): void {
    if (this.isSmall) Bun.spawnSync(["umount", "-l", this.folder]);
    rmSync(this.folder, { recursive: true, force: true });
  }
}
