import { readFileSync } from "node:fs";
import { UNKNOWN_THREAD } from "../features/functions/wire.ts";

/** Fields of `/proc/PID/task/TID/stat` after the name, which may hold blanks and parentheses. proc_pid_stat(5) */
const MINOR_FAULTS = 7;

/** Pages that were touched first, since the process, or one of its threads, began: what tells of several threads which one takes memory. */
export interface PageFaults {
  readonly ofThread: number;
  readonly ofAll: number;
}

/**
 * @param tid as the kernel numbers threads
 * @returns null where the system does not tell
 */
export function pageFaults(tid: number): PageFaults | null {
  if (tid === UNKNOWN_THREAD) return null;
  try {
    return { ofThread: faultsIn(`/proc/self/task/${tid}/stat`), ofAll: faultsIn("/proc/self/stat") };
  } catch {
    return null;
  }
}

function faultsIn(path: string): number {
  const stat = readFileSync(path, "latin1");
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[MINOR_FAULTS]);
}
