import { readlinkSync } from "node:fs";
import { basename } from "node:path";

/** The number of a thread where the system does not tell: other than Linux. */
export const UNKNOWN_THREAD = -1;

/** The kernel's number of this thread; UNKNOWN_THREAD if it does not tell. */
export function ownThreadId(): number {
  try {
    return Number(basename(readlinkSync("/proc/thread-self"))) || UNKNOWN_THREAD;
  } catch {
    return UNKNOWN_THREAD;
  }
}
