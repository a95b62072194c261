import { mkdirSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { isBelow } from "../core/folder-path.ts";

/**
 * Makes a folder with all above it that are missing, but not the process's working folder, if that was deleted: an empty one in its place would be in
 * the way of the one that its owner brings back. @throws if it cannot be made
 */
export function makeFolder(folder: string, mode: number): void {
  const working = process.cwd();
  if (isBelow(working, `${resolve(folder)}/`) && isWorkingFolderDeleted())
    throw new Error(`ENOENT: the working folder ${working} is gone`);
  mkdirSync(folder, { recursive: true, mode });
}

/** A folder that has been deleted has no name any more, not even its own. */
export function isWorkingFolderDeleted(): boolean {
  try {
    return statSync(".").nlink === 0;
  } catch {
    return true;
  }
}
