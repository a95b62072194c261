import { closeSync } from "node:fs";
import { cellMark, FILE_CELLS, type FileCells } from "../file-cells.ts";
import { FileMarks } from "../file-marks.ts";

/**
 * Files that a thread of a module may have open: a sixteenth of the process's descriptors, and of all such threads together a quarter, within
 * these.
 */
const MIN_FUNCTION_FILES = 8;
const MAX_FUNCTION_FILES = 256;

/** Files that one thread of a module may have open. @param descriptors the limit of the process @param threads of its kind */
export function filesOfThread(descriptors: number, threads: number): number {
  const share = Math.floor(Math.min(descriptors / 16, descriptors / 4 / threads));
  return Math.max(MIN_FUNCTION_FILES, Math.min(MAX_FUNCTION_FILES, share));
}

/** Closes what a thread that has ended left open. A number that is another file's by now lacks the mark. */
export function closeLeftFiles(cells: FileCells): void {
  const marks = FileMarks.ofSystem();
  if (marks === null) return;
  for (let at = FILE_CELLS.first; at < cells.length; at += FILE_CELLS.each) {
    const fd = Atomics.exchange(cells, at, 0) - 1;
    if (fd >= 0 && marks.has(fd, cellMark(cells))) closeSync(fd);
  }
}
