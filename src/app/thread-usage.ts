import { readFileSync } from "node:fs";
import { UNKNOWN_THREAD } from "../features/functions/wire.ts";

/** Fields of `/proc/PID/task/TID/stat` after the name, which may hold blanks and parentheses. proc_pid_stat(5) */
const MINOR_FAULTS = 7;
const USER_TICKS = 11;
const SYSTEM_TICKS = 12;
/** Linux tells programs of hundredths of a second, whatever it counts itself. */
const TICK_MS = 10;

/** What a thread has taken since it began, and all of the process since that did: what tells of several threads which one takes what. */
export interface Taken {
  /** Pages that were touched first. */
  readonly pages: number;
  readonly pagesOfAll: number;
  readonly cpuMs: number;
}

/**
 * @param tid as the kernel numbers threads
 * @returns null where the system does not tell
 */
export function takenBy(tid: number): Taken | null {
  if (tid === UNKNOWN_THREAD) return null;
  try {
    const own = fieldsOf(`/proc/self/task/${tid}/stat`);
    const cpuMs = (own(USER_TICKS) + own(SYSTEM_TICKS)) * TICK_MS;
    return { pages: own(MINOR_FAULTS), pagesOfAll: fieldsOf("/proc/self/stat")(MINOR_FAULTS), cpuMs };
  } catch {
    return null;
  }
}

function fieldsOf(path: string): (field: number) => number {
  const stat = readFileSync(path, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (field) => Number(fields[field]);
}
