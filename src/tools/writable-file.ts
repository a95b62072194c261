import { closeSync, existsSync, openSync, rmSync } from "node:fs";
import { errorReason } from "./loadgen/error-reason.ts";

/**
 * Looks whether a file can be written, before work is done whose result goes there, and leaves no trace.
 * @returns a text that says why it cannot be, or ""
 */
export function writeFault(path: string): string {
  const isNew = !existsSync(path);
  try {
    closeSync(openSync(path, "a"));
    if (isNew) rmSync(path);
    return "";
  } catch (error) {
    return `cannot write ${path}: ${errorReason(error)}`;
  }
}
