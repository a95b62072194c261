import { readFileSync } from "node:fs";

/**
 * Resident memory of the process that no file backs, in bytes: the heaps of all its threads, and what they hold beside these. proc_pid_status(5),
 * RssAnon. What the engine says of its heap is of one thread, and counts addresses that it has only reserved.
 * @returns -1 if the system does not tell
 */
export function heapBytes(): number {
  try {
    const status = readFileSync("/proc/self/status", "latin1");
    const at = status.indexOf("\nRssAnon:");
    return at < 0 ? -1 : Number.parseInt(status.slice(at + "\nRssAnon:".length), 10) * 1024;
  } catch {
    return -1;
  }
}

let lastResidentBytes = 0;

/** Bytes of memory that the process has; what they were last, if there is no descriptor to ask the system with. */
export function residentBytes(): number {
  try {
    lastResidentBytes = process.memoryUsage.rss();
  } catch {
    // The watch of threads goes on without it.
  }
  return lastResidentBytes;
}
