// What the kernel says about a process and everything that it started (Linux, /proc).
import { readdirSync, readFileSync } from "node:fs";

const CLOCK_TICKS_PER_SECOND = Number(Bun.spawnSync(["getconf", "CLK_TCK"]).stdout.toString()) || 100;
const PROC_FIELD_PPID = 1;
const PROC_FIELD_UTIME = 11;
const PROC_FIELD_STIME = 12;
const STAT_FIELD_STEAL = 7;

/** The process and all its descendants, parents before children. */
export function processTree(root: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const parent = Number(statFields(pid)?.[PROC_FIELD_PPID] ?? Number.NaN);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const tree = [root];
  for (let i = 0; i < tree.length; i++) tree.push(...(children.get(tree[i]!) ?? []));
  return tree;
}

/** User and system time of these processes, all their threads, in seconds. */
export function cpuSeconds(pids: readonly number[]): number {
  let ticks = 0;
  for (const pid of pids) {
    const fields = statFields(pid);
    if (fields) ticks += Number(fields[PROC_FIELD_UTIME]) + Number(fields[PROC_FIELD_STIME]);
  }
  return ticks / CLOCK_TICKS_PER_SECOND;
}

/** The threads of a process that carry this name. */
export function threadsNamed(pid: number, name: string): number[] {
  const threads = readdirSync(`/proc/${pid}/task`).map(Number);
  return threads.filter((thread) => readProc(`${pid}/task/${thread}/comm`).trim() === name);
}

/** CPU time of one thread in microseconds, counted by the kernel in nanoseconds. */
export function threadCpuMicros(pid: number, thread: number): number {
  return Number(readProc(`${pid}/task/${thread}/schedstat`).split(" ")[0]) / 1000;
}

/** CPU time that the machine's host has given to others since it was started, all processors, in seconds. */
export function stolenSeconds(): number {
  const ticks = /^cpu\s+(.*)$/m.exec(readProc("stat"))?.[1]?.split(" ")[STAT_FIELD_STEAL];
  return Number(ticks ?? 0) / CLOCK_TICKS_PER_SECOND;
}

/** Resident memory of these processes in MiB; pages that they share count in each. */
export function residentMb(pids: readonly number[]): number {
  let kib = 0;
  for (const pid of pids) kib += Number(/VmRSS:\s+(\d+)/.exec(readProc(`${pid}/status`))?.[1] ?? 0);
  return kib / 1024;
}

/** How many file descriptors these processes hold. */
export function openFiles(pids: readonly number[]): number {
  let count = 0;
  for (const pid of pids) {
    try {
      count += readdirSync(`/proc/${pid}/fd`).length;
    } catch {
      // The process has ended: it holds nothing.
    }
  }
  return count;
}

/** How many files a child may open at most: the hard limit. */
export function openFileLimit(): number {
  const hard = /Max open files\s+\S+\s+(\S+)/.exec(readProc("self/limits"))?.[1];
  return hard === "unlimited" ? Number.MAX_SAFE_INTEGER : Number(hard ?? 1024);
}

/** How many ports the kernel hands out to clients of one address. */
export function clientPorts(): number {
  const [low, high] = readProc("sys/net/ipv4/ip_local_port_range").split(/\s+/).map(Number);
  return low && high ? high - low + 1 : 28_232;
}

// The fields after the command's name, which may itself hold spaces and parentheses.
function statFields(pid: number): string[] | null {
  const stat = readProc(`${pid}/stat`);
  return stat === "" ? null : stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

function readProc(path: string): string {
  try {
    return readFileSync(`/proc/${path}`, "latin1");
  } catch {
    return "";
  }
}
