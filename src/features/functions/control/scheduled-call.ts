import { pathToFileURL } from "node:url";
import { exportedFunction, exportFault } from "../module-exports.ts";
import { moduleFaults } from "../module-fault.ts";
import { lineOf } from "../thread/context.ts";
import { problemOf } from "../thread/problem.ts";
import type { FunctionLine, ModuleProblem } from "../wire.ts";
import type { RunOutcome, ScheduledEvent } from "./scheduled-functions.ts";

/** One run. */
export interface RunOrder {
  readonly module: string;
  readonly event: ScheduledEvent;
  readonly env: Readonly<Record<string, string>>;
  /** For the descriptors that it opens: see FileCells. */
  readonly files: SharedArrayBuffer;
  /** Whether what belongs to the whole process may be changed. */
  readonly mayChangeProcess: boolean;
}

/** What its thread says: lines of the log, and at the end how the run has ended. */
export type FromRun =
  | { readonly kind: "log"; readonly level: FunctionLine["level"]; readonly line: ReturnType<typeof lineOf> }
  | { readonly kind: "done"; readonly outcome: RunOutcome };

/** Loads the module, calls `scheduled`, and waits for it and for what it was told to wait for. @param tell takes lines of the log */
export async function runOutcome(order: RunOrder, tell: (message: FromRun) => void): Promise<RunOutcome> {
  const { module, event, env } = order;
  let scheduled: ReturnType<typeof exportedFunction>;
  try {
    const loaded = (await import(pathToFileURL(module).href)) as Readonly<Record<string, unknown>>;
    const wrong = exportFault(loaded, "scheduled");
    if (wrong !== "") return { result: "error", error: wrong, stack: "" };
    scheduled = exportedFunction(loaded, "scheduled");
  } catch (error) {
    const [{ file, line, column, message }] = moduleFaults(error, module);
    return {
      result: "error",
      error: message,
      stack: `${message}\n    at ${line === 0 ? file : `${file}:${line}:${column}`}`,
    };
  }
  const pending: Promise<unknown>[] = [];
  try {
    const ctx = contextOf(env, pending, tell);
    // The context is the second and the third: modules for Cloudflare Workers take (event, env, ctx).
    await scheduled?.run.call(scheduled.on, event, ctx, ctx);
    // What is waited for may ask to wait for more.
    for (const work of pending) await work;
    return { result: "ok", error: "", stack: "" };
  } catch (error) {
    return failed(problemOf(error, module));
  }
}

/** The end of a run that has failed. */
export function failed({ error, stack }: ModuleProblem): RunOutcome {
  return { result: "error", error, stack };
}

/** As functions have it, without what belongs to a request. Variables are read by their names as well. */
function contextOf(
  env: Readonly<Record<string, string>>,
  pending: Promise<unknown>[],
  tell: (message: FromRun) => void,
): object {
  const writer =
    (level: FunctionLine["level"]) =>
    (...values: readonly unknown[]): void =>
      tell({ kind: "log", level, line: lineOf(values) });
  return Object.assign(Object.create({ ...env }) as object, {
    env: process.env,
    log: { debug: writer("debug"), info: writer("info"), warn: writer("warn"), error: writer("error") },
    waitUntil: (work: Promise<unknown>) => void pending.push(work),
    passThroughOnException: () => {},
  });
}
