import { closeSync, lstatSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { type ContainedRoot, FileLookup } from "../contained-root.ts";

/** A file or a folder in a listing. */
export interface ListedEntry {
  /** One character a byte. */
  readonly name: string;
  readonly isFolder: boolean;
  /** In bytes; 0 for a folder. */
  readonly size: number;
  /** Milliseconds since the epoch. */
  readonly modifiedMs: number;
}

/** The files and folders of a folder that a client may get. */
export interface FolderListing {
  readonly entries: readonly ListedEntry[];
  /** So many names were not looked at, because the folder has more than MAX_LISTED. */
  readonly omitted: number;
}

/** Names that a list has at most. */
const MAX_LISTED = 2000;
/** A folder with more names is listed as the disk has them: to sort them would keep other requests waiting. */
const MAX_SORTED = 100_000;
const DOT = 0x2e;

/**
 * Reads a folder below the root. The folder is opened once and read through its descriptor, so a link that takes its place meanwhile changes nothing.
 * @param relative cleaned: no dot segments, no NUL
 * @returns null if there is no such folder within the root, or the system does not let us read it
 */
export async function readFolder(root: ContainedRoot, relative: string): Promise<FolderListing | null> {
  if (root.openFolder(relative) !== FileLookup.Directory) return null;
  const { fd, realPath } = root;
  try {
    const path = root.pathOfOpen(fd, realPath);
    const names = (await readdir(path, { encoding: "buffer" })).filter((name) => name[0] !== DOT);
    if (names.length <= MAX_SORTED) names.sort(Buffer.compare);
    const folder = Buffer.concat([path, Buffer.from("/")]);
    const entries = names.slice(0, MAX_LISTED).flatMap((bytes) => {
      const name = bytes.latin1Slice();
      const below = relative === "" ? name : `${relative}/${name}`;
      return entryAt(root, Buffer.concat([folder, bytes]), name, below) ?? [];
    });
    return { entries, omitted: Math.max(0, names.length - MAX_LISTED) };
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}

/** Null for an entry that no request gets: a device, or a link that leads out of the root or nowhere. */
function entryAt(root: ContainedRoot, path: Buffer, name: string, below: string): ListedEntry | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return null;
  if (!stat.isSymbolicLink()) {
    if (!stat.isFile() && !stat.isDirectory()) return null;
    return { name, isFolder: stat.isDirectory(), size: stat.isFile() ? stat.size : 0, modifiedMs: stat.mtimeMs };
  }
  const found = root.open(below);
  if (found === FileLookup.Directory) return { name, isFolder: true, size: 0, modifiedMs: stat.mtimeMs };
  if (found !== FileLookup.File) return null;
  const identity = root.identity!;
  closeSync(root.fd);
  return { name, isFolder: false, size: identity.sizeBytes, modifiedMs: Number(identity.mtimeNs / 1_000_000n) };
}
