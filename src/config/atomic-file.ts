import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";

/**
 * Writes a file for its owner alone, so that others see the old content or the new one and nothing between, even after a
 * power cut.
 * @throws when it cannot be written; the old content is then still there
 */
export function writeWhole(file: string, content: string): void {
  const next = `${file}.${process.pid}.tmp`;
  try {
    const fd = openSync(next, "w", 0o600);
    try {
      writeSync(fd, content);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
    renameSync(next, file);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}
