// Which of the gateway's threads runs first if there are fewer processors than threads with work. docs/functions.md#what-it-costs
import { dlopen, FFIType } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";
import { getPriority, setPriority } from "node:os";

/**
 * Longest turns of a data worker, in microseconds, if another thread waits for the processor: the shortest that the kernel gives, so that
 * it runs as soon as it wakes, whatever functions and the collector do with their memory.
 */
export const WORKER_SLICE_US = 100;

/**
 * Asks the kernel to let this thread run for so long at a time. A thread that has work for less, and asks for less than those that run,
 * runs as soon as it wakes: it need not wait until one of them has had its own slice, which may be 4 ms. Its share of the processors
 * stays what it was. Threads and processes that it starts do not inherit that. sched_setattr(2), `sched_runtime`: Linux 6.12, without
 * any right; elsewhere nothing changes.
 * @param sliceUs from 100 to 100,000 µs
 * @returns whether the kernel has taken it
 */
export function askForTimeSlice(sliceUs: number): boolean {
  const numbers = process.platform === "linux" ? SYSTEM_CALLS[process.arch] : undefined;
  if (numbers === undefined) return false;
  const { i64_fast, i32, u32, ptr } = FFIType;
  try {
    const { syscall } = dlopen("libc.so.6", {
      syscall: { args: [i64_fast, i32, ptr, u32, u32], returns: i64_fast },
    }).symbols;
    const call = (number: number, length: number): boolean =>
      Number(syscall(number, THIS_THREAD, bytes, length, 0)) === 0;
    const bytes = new Uint8Array(ATTRIBUTE_BYTES);
    const view = new DataView(bytes.buffer);
    // The nice value stays. A class of its own, such as SCHED_FIFO, is the administrator's.
    if (!call(numbers.getAttributes, ATTRIBUTE_BYTES) || view.getUint32(POLICY_AT, true) !== SCHED_NORMAL) return false;
    view.setBigUint64(FLAGS_AT, view.getBigUint64(FLAGS_AT, true) | RESET_ON_FORK, true);
    view.setBigUint64(RUNTIME_AT, BigInt(sliceUs) * 1000n, true);
    return call(numbers.setAttributes, 0);
  } catch {
    return false;
  }
}

/**
 * Lowers the priority of a thread below that of the main one, for good. sched(7): the nice value is a thread's on Linux, and the process's
 * elsewhere, if nothing changes.
 * @param tid as the kernel numbers threads
 * @param by how much higher its nice value is to be, 1 to 19
 */
export function stepBack(tid: number, by: number): void {
  if (process.platform !== "linux") return;
  try {
    const wanted = Math.min(LOWEST_PRIORITY, getPriority(process.pid) + by);
    if (getPriority(tid) < wanted) setPriority(tid, wanted);
  } catch {
    // It has ended meanwhile.
  }
}

/** The same for those threads of the runtime that collect garbage for all others. Called again, it finds those that have begun since. */
export function stepCollectorsBack(by: number): void {
  if (process.platform !== "linux") return;
  try {
    for (const tid of readdirSync(TASKS)) {
      if (COLLECTORS.has(readFileSync(`${TASKS}/${tid}/comm`, "latin1").trimEnd())) stepBack(Number(tid), by);
    }
  } catch {
    // One has ended meanwhile, or the system does not tell.
  }
}

const TASKS = "/proc/self/task";
/** One helps to mark what lives, the other touches memory before it is wanted. */
const COLLECTORS: ReadonlySet<string> = new Set(["HeapHelper", "JSCWarmUp"]);
const LOWEST_PRIORITY = 19;

/** By processor. */
const SYSTEM_CALLS: Readonly<Record<string, { readonly setAttributes: number; readonly getAttributes: number }>> = {
  x64: { setAttributes: 314, getAttributes: 315 },
  arm64: { setAttributes: 274, getAttributes: 275 },
};

/** `struct sched_attr` in its first version: size, policy, flags, nice, priority, runtime, deadline, period. */
const ATTRIBUTE_BYTES = 48;
const POLICY_AT = 4;
const FLAGS_AT = 8;
const RUNTIME_AT = 24;
const THIS_THREAD = 0;
const SCHED_NORMAL = 0;
const RESET_ON_FORK = 1n;
