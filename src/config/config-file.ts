import { closeSync, constants, fstatSync, openSync, readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { ConfigFault } from "./config-fault.ts";

/** A configuration file that was searched for: `name` is for messages, `path` is absolute. */
export interface FoundFile {
  readonly name: string;
  readonly path: string;
  /** What it holds, where that did not come from this path. */
  readonly bytes?: Uint8Array;
}

/** Looked at after `./config.yaml` when no file is named. docs/configuration.md#files */
export const SYSTEM_CONFIG = "/etc/edge/config.yaml";

/** The configuration file: the named one, else `./config.yaml`, else the system's, else null. */
export function findConfig(named: string | null, cwd: string, system: string): FoundFile | null {
  if (named !== null) return { name: named, path: resolve(cwd, named) };
  const candidates = ["config.yaml", system].map((name) => ({ name, path: resolve(cwd, name) }));
  return candidates.find((file) => isThere(file.path)) ?? null;
}

/** The routes file: the named one, else `routes.yaml` beside the configuration (or in `cwd` without one), else null. */
export function findRoutes(named: string | null, config: FoundFile | null, cwd: string): FoundFile | null {
  if (named !== null) return { name: named, path: resolve(cwd, named) };
  const name = config === null ? "routes.yaml" : join(dirname(config.name), "routes.yaml");
  const path = config === null ? resolve(cwd, name) : join(dirname(config.path), "routes.yaml");
  return isThere(path) ? { name, path } : null;
}

/**
 * The text of a file, or the fault that keeps it from being read: also if it is being written meanwhile.
 * docs/operations.md#configuration-files
 */
export function readConfigText(file: FoundFile): string | ConfigFault {
  const fault = (message: string): ConfigFault => ({ file: file.name, line: 0, col: 0, path: "", message });
  if (URL_LIKE.test(file.name) && file.bytes === undefined) return fault("a URL, which edge serve alone reads");
  let bytes: Uint8Array;
  if (file.bytes !== undefined) return decoded(file.bytes) ?? fault(NOT_TEXT);
  let descriptor = -1;
  try {
    // A pipe that is put in the file's place would hold the thread, until someone writes to it.
    descriptor = openSync(file.path, constants.O_RDONLY | constants.O_NONBLOCK);
    const before = fstatSync(descriptor, { bigint: true });
    if (before.isDirectory()) return fault("this is a folder: name the file in it");
    if (!before.isFile()) return fault("a pipe or a device, and no file");
    if (before.size > MAX_CONFIG_FILE_BYTES) return fault("larger than 16 MiB: this is not a configuration file");
    bytes = readFileSync(descriptor);
    const after = statSync(file.path, { bigint: true });
    const isSame = before.ino === after.ino && before.mtimeNs === after.mtimeNs && before.ctimeNs === after.ctimeNs;
    if (!isSame || BigInt(bytes.byteLength) !== after.size) {
      return fault("the file changed while it was read: write a new file and rename it into place, then try again");
    }
  } catch (error) {
    const code = (error as { code?: string }).code;
    if (code === "ENOENT" || code === "ENOTDIR") return fault("no such file (edge init writes one to start from)");
    if (code === "EACCES") return fault("no permission to read this file");
    return fault("this file cannot be read");
  } finally {
    if (descriptor >= 0) closeSync(descriptor);
  }
  return decoded(bytes) ?? fault(NOT_TEXT);
}

/** Null if it is no text. */
function decoded(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/**
 * Whether a text ends with YAML's document end marker, `...` on a line of its own: then it has been written to its end.
 * YAML 1.2.2 §9.1.2
 */
export function endsDocument(text: string): boolean {
  return /(?:^|\n)\.\.\.[ \t]*(?:#[^\n]*)?$/.test(text.slice(-MAX_END_LINE).trimEnd());
}

/** A path that the system does not let edge look at is there: reading it names the fault. */
function isThere(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return true;
  }
}

const NOT_TEXT = "not a text file in UTF-8";
const URL_LIKE = /^[a-z][a-z0-9+.-]*:\/\//i;
/** What either file may have, in bytes. */
export const MAX_CONFIG_FILE_BYTES = 16_777_216;
/** Characters of the last line that edge reads, with the blank lines after it. */
const MAX_END_LINE = 1024;
