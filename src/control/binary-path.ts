import { accessSync, constants, lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { delimiter, dirname, isAbsolute, join } from "node:path";

/** How this process was started, as far as it tells where its binary lies. */
interface StartFacts {
  /** The name that the process was started by: an absolute or relative path, or a word that was looked up in `path`. */
  readonly name: string;
  /** The working folder, absolute; links in it are kept where that is known. */
  readonly cwd: string;
  /** The folders of PATH. */
  readonly path: string;
  /** What the process runs, links resolved. */
  readonly running: string;
  /** When it was started, in milliseconds since the epoch. */
  readonly startedMs: number;
}

/**
 * The path by which this process's binary was started: absolute, links unresolved, so that what a link points at or an
 * installer puts there later is found. If the name says nothing true (a wrapper has changed it), it is the file that
 * runs. A release that was put there since the start, while this process loaded, does not make the name untrue.
 * docs/operations.md#replacing-the-binary
 */
export function binaryPathOf({ name, cwd, path, running, startedMs }: StartFacts): string {
  const candidates = name.includes("/")
    ? [isAbsolute(name) ? name : join(cwd, name)]
    : path.split(delimiter).map((folder) => join(isAbsolute(folder) ? folder : join(cwd, folder), name));
  return (
    candidates.find((candidate) => isSameFile(candidate, running)) ??
    candidates.find((candidate) => startFault(candidate) === "" && hasChangedSince(candidate, startedMs)) ??
    running
  );
}

/** Whether the file, or a link on the way to it, is newer than that. */
function hasChangedSince(path: string, sinceMs: number): boolean {
  for (let part = path; part !== dirname(part); part = dirname(part)) {
    const { ctimeMs } = lstatSync(part);
    if (ctimeMs >= sinceMs && (part === path || lstatSync(part).isSymbolicLink())) return true;
  }
  return false;
}

/** What the operating system tells of how this process was started. Ask early: a later response may name a replaced file. */
export function startFacts(): StartFacts {
  const running = readLink("/proc/self/exe") ?? process.execPath;
  const startedMs = performance.timeOrigin - LOAD_MS;
  return { name: nameOfThisProcess(), cwd: workingFolder(), path: process.env.PATH ?? "", running, startedMs };
}

/** The runtime takes so long at most until its clock begins; the clocks of file systems are behind by a few milliseconds. */
const LOAD_MS = 100;

/** Why this file cannot be started now, or "". */
export function startFault(path: string): string {
  try {
    if (!statSync(path).isFile()) return "not a file";
    accessSync(path, constants.X_OK);
    return "";
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === "ENOENT" || code === "ENOTDIR") return "no such file";
    return code === "EACCES" ? "not executable" : String(code);
  }
}

// The runtime replaces the first argument by a name of its own.
function nameOfThisProcess(): string {
  try {
    return readFileSync("/proc/self/cmdline", "utf8").split("\0")[0] ?? "";
  } catch {
    return process.execPath;
  }
}

// The shell's PWD keeps links that getcwd(3) resolves; it counts only if it is the same folder.
function workingFolder(): string {
  const { PWD } = process.env;
  const cwd = currentFolder();
  return PWD !== undefined && isAbsolute(PWD) && isSameFile(PWD, cwd) ? PWD : cwd;
}

/** It may have been removed. */
function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    return "/";
  }
}

function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}
