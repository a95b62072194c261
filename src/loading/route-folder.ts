import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { FoundFile } from "../config/config-file.ts";
import type { DirectoryConfig } from "../features/providers/settings.ts";
import type { RouteSource } from "../routes/route-source.ts";

/** A list of routes that stands beside routes.yaml: a file, or the text of another source. */
export interface RouteFile {
  readonly source: RouteSource;
  readonly file: FoundFile;
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
}

/** The files of `providers.directory`. Names that begin with a dot or `#`, or end otherwise, are no routes. docs/providers.md#directory */
export function routeFolder({ path, watch, hosts }: DirectoryConfig): RouteFolder {
  if (path === "") return { files: [], folders: [], fault: "", stamp: "" };
  const bounds = new Map(hosts);
  const files: RouteFile[] = [];
  const folders: string[] = [];
  const stamps: string[] = [];
  try {
    const add = (full: string, shown: string, stamp: string): void => {
      stamps.push(`${full} ${stamp}`);
      if (files.length > MAX_FILES) return;
      const file = { name: full, path: full };
      files.push({ source: "directory", file, hosts: bounds.get(shown) ?? null, isLeftOut: watch });
    };
    // A link may lead back to a folder above it: each is walked once.
    const walked = new Set<string>();
    const walk = (folder: string, below: string, depth: number): void => {
      const { dev, ino } = statSync(folder);
      if (walked.has(`${dev} ${ino}`)) return;
      walked.add(`${dev} ${ino}`);
      folders.push(folder);
      for (const name of readdirSync(folder).sort()) {
        if (name.startsWith(".") || name.startsWith("#")) continue;
        const full = join(folder, name);
        const shown = below === "" ? name : `${below}/${name}`;
        try {
          const info = statSync(full, { throwIfNoEntry: false });
          if (info?.isDirectory() === true && depth < MAX_DEPTH) walk(full, shown, depth + 1);
          else if (info?.isFile() === true && ENDS.test(name))
            add(full, shown, `${info.ino} ${info.size} ${info.mtimeMs} ${info.ctimeMs}`);
        } catch (error) {
          // It is read as a file, whose fault names it, and takes down no other.
          add(full, shown, codeOf(error));
        }
      }
    };
    walk(path, "", 0);
    if (files.length > MAX_FILES) throw new Error(`more than ${MAX_FILES} files`);
    return { files, folders, fault: "", stamp: [...folders, ...stamps].join("\n") };
  } catch (error) {
    const code = codeOf(error);
    const fault = code === "ENOENT" ? "no such folder" : code;
    return { files: [], folders: [path], fault, stamp: fault };
  }
}

const ENDS = /\.ya?ml$/;

/** The code of an error of the system, or the message of another. */
function codeOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  return code ?? message;
}
