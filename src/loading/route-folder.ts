import { lstatSync, readdirSync, type Stats, statSync } from "node:fs";
import { join } from "node:path";
import type { FoundFile } from "../config/config-file.ts";
import { trimmedEnd } from "../core/trimming.ts";
import type { DirectoryConfig } from "../features/providers/settings.ts";
import type { RouteSource } from "../routes/route-source.ts";

/** A list of routes that stands beside routes.yaml: a file, or the text of another source. */
export interface RouteFile {
  readonly source: RouteSource;
  readonly file: FoundFile;
  /** Why its source does not give its text; absent if it does. */
  readonly fault?: string;
  /** Tells the file as it is from as it was; absent or "" if only reading it does. */
  readonly stamp?: string;
  /** The hosts that its routes may have; null for all. */
  readonly hosts: readonly string[] | null;
  /** Whether a fault leaves it out alone; otherwise the configuration has that fault. */
  readonly isLeftOut: boolean;
  /** Whether its routes may name no files, no sockets, no variables and no secrets. */
  readonly isConfined?: boolean;
  /** Whether nothing of it serves once it has a fault: its last good routes may lead to targets that are gone. */
  readonly isNeverKept?: boolean;
  /** Whether its routes may have no hosts that earlier sources name. */
  readonly isGuest?: boolean;
}

/** Files of a folder of routes, and folders below it: more are no folder of routes. */
const MAX_FILES = 20_000;
const MAX_DEPTH = 16;

/** The files of a folder of routes. */
export interface RouteFolder {
  /** In the order of their names. */
  readonly files: readonly RouteFile[];
  /** The folder and those below it. */
  readonly folders: readonly string[];
  /** Why it cannot be read; "" if it can. */
  readonly fault: string;
  /** Tells the files as they are from as they were. */
  readonly stamp: string;
  /** Keys of `hosts` that no file and no folder has as its name. */
  readonly unbound: readonly string[];
}

/** The files of `providers.directory`. Names that begin with a dot or `#`, or end otherwise, are no routes. docs/providers.md#directory */
export function routeFolder({ path, watch, hosts }: DirectoryConfig): RouteFolder {
  if (path === "") return { files: [], folders: [], fault: "", stamp: "", unbound: [] };
  const bounds = new Map(hosts.map(([name, allowed]) => [boundName(name), allowed]));
  const settledBefore = Date.now() - SETTLED_MS;
  try {
    const { found, folders } = walked(path);
    const unbound = new Set(bounds.keys());
    const stamps: string[] = [];
    const files = found.map(({ full, shown, info }) => {
      const own = typeof info === "string" ? info : stampOf(info);
      stamps.push(`${full} ${own}`);
      // Files that have just changed may change again within one step of the file system's clock.
      const isSettled = typeof info !== "string" && Math.max(info.mtimeMs, info.ctimeMs) < settledBefore;
      const bound = bounds.size === 0 ? null : boundOf(shown, bounds, unbound);
      const file = { name: full, path: full };
      return { source: "directory", file, stamp: isSettled ? own : "", hosts: bound, isLeftOut: watch } as const;
    });
    // Those of an empty folder are for files to come.
    if (found.length === 0) unbound.clear();
    return { files, folders, fault: "", stamp: [...folders, ...stamps].join("\n"), unbound: [...unbound] };
  } catch (error) {
    const code = codeOf(error);
    const fault = code === "ENOENT" ? "no such folder" : code;
    return { files: [], folders: [path], fault, stamp: fault, unbound: [] };
  }
}

interface FoundRoutes {
  readonly full: string;
  /** Below the folder. */
  readonly shown: string;
  /** Why the system does not describe it, in place of its description. */
  readonly info: Stats | string;
}

/**
 * Walks a folder, each folder once: folders before links to folders, so that a link of one team cannot take the files of another's.
 * @throws Error if the folder cannot be read, or has too many files
 */
function walked(path: string): { readonly found: readonly FoundRoutes[]; readonly folders: readonly string[] } {
  const found: FoundRoutes[] = [];
  const folders: string[] = [];
  const links: { readonly full: string; readonly shown: string; readonly depth: number }[] = [];
  const known = new Set<string>();
  const add = (one: FoundRoutes): void => {
    if (found.push(one) > MAX_FILES) throw new Error(`more than ${MAX_FILES} files`);
  };
  const walk = (folder: string, below: string, depth: number): void => {
    const { dev, ino } = statSync(folder);
    if (known.has(`${dev} ${ino}`)) return;
    known.add(`${dev} ${ino}`);
    folders.push(folder);
    for (const name of readdirSync(folder).sort()) {
      if (name.startsWith(".") || name.startsWith("#")) continue;
      const full = join(folder, name);
      const shown = below === "" ? name : `${below}/${name}`;
      try {
        const info = statSync(full, { throwIfNoEntry: false });
        if (info?.isDirectory() === true && depth < MAX_DEPTH) {
          if (lstatSync(full).isSymbolicLink()) links.push({ full, shown, depth: depth + 1 });
          else walk(full, shown, depth + 1);
        } else if (info?.isFile() === true && ENDS.test(name)) add({ full, shown, info });
      } catch (error) {
        if (found.length > MAX_FILES) throw error;
        // It is read as a file, whose fault names it, and takes down no other.
        add({ full, shown, info: codeOf(error) });
      }
    }
  };
  walk(path, "", 0);
  for (const { full, shown, depth } of links) walk(full, shown, depth);
  return { found: found.sort((a, b) => (orderName(a.shown) < orderName(b.shown) ? -1 : 1)), folders };
}

/** Names that sort as a walk through folders does. */
function orderName(shown: string): string {
  return shown.replaceAll("/", "\0");
}

/** The hosts of the file, or of the nearest folder above it, that `hosts` names. @param unbound loses the names of both */
function boundOf(
  shown: string,
  bounds: ReadonlyMap<string, readonly string[]>,
  unbound: Set<string>,
): readonly string[] | null {
  for (const name of [shown, ...foldersOf(shown)]) unbound.delete(name);
  return hostsOfNearest(shown, bounds);
}

/** The hosts of a name, or of the nearest folder above it, that has any; null if none has. */
export function hostsOfNearest(
  shown: string,
  bounds: ReadonlyMap<string, readonly string[]>,
): readonly string[] | null {
  const nearest = [shown, ...foldersOf(shown)].find((name) => bounds.has(name));
  return nearest === undefined ? null : bounds.get(nearest)!;
}

/** Folders that a file is in, the nearest first: `a/b/c.yaml` is in `a/b` and `a`. */
function foldersOf(shown: string): readonly string[] {
  const parts = shown.split("/").slice(0, -1);
  return parts.map((_, i) => parts.slice(0, parts.length - i).join("/"));
}

/** `./team-a/` is `team-a`. */
function boundName(name: string): string {
  return trimmedEnd(name.replace(/^\.\//, ""), "/");
}

function stampOf({ ino, size, mtimeMs, ctimeMs }: Stats): string {
  return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
}

const ENDS = /\.ya?ml$/;
const SETTLED_MS = 2000;

/** The code of an error of the system, or the message of another. */
function codeOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  return code ?? message;
}
