import { readFileSync } from "node:fs";

/** Fields of `/proc/PID/task/TID/stat` after the name, which may hold blanks and parentheses. proc_pid_stat(5) */
const STATE = 0;
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
 * @returns null if the system does not tell
 */
export function takenBy(tid: number): Taken | null {
  if (tid <= 0) return null;
  try {
    const own = fieldsOf(`/proc/self/task/${tid}/stat`);
    const cpuMs = (Number(own[USER_TICKS]) + Number(own[SYSTEM_TICKS])) * TICK_MS;
    const ofAll = fieldsOf("/proc/self/stat");
    return { pages: Number(own[MINOR_FAULTS]), pagesOfAll: Number(ofAll[MINOR_FAULTS]), cpuMs };
  } catch {
    return null;
  }
}

/**
 * Whether a signal reaches a thread now: not while it waits for a device that does not respond, or is stopped by a debugger. The runtime ends
 * a thread by a signal, and holds locks that every other thread of the process needs until the signal has arrived.
 * @param tid as the kernel numbers threads
 * @returns true if the system does not tell, or the thread is gone
 */
export function hearsSignals(tid: number): boolean {
  if (tid <= 0) return true;
  try {
    return !DEAF_STATES.has(fieldsOf(`/proc/self/task/${tid}/stat`)[STATE]!);
  } catch {
    return true;
  }
}

/** Waits without regard to signals, is stopped, is stopped by a debugger. proc_pid_stat(5) */
const DEAF_STATES: ReadonlySet<string> = new Set(["D", "T", "t"]);

function fieldsOf(path: string): readonly string[] {
  const stat = readFileSync(path, "latin1");
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}
