import { NO_DESCRIPTORS } from "../../../net/threads.ts";
import type { ModuleSettings } from "./configured-modules.ts";
import { startModuleRun } from "./module-run.ts";
import type { ModuleOrder } from "./module-thread.ts";
import type { FromRun } from "./scheduled-call.ts";
import type { RunOutcome, ScheduledEvent, ScheduledJob } from "./scheduled-functions.ts";

type LogOfRun = Extract<FromRun, { readonly kind: "log" }>;

/**
 * Makes one run in a thread of its own, which ends with it: what loops, crashes or takes too long costs nothing but itself.
 * @param log takes what the module writes
 */
export function runScheduled(
  { module, timeoutMs }: ScheduledJob,
  event: ScheduledEvent,
  { env, mayChangeProcess }: ModuleSettings,
  log: (line: LogOfRun) => void,
): Promise<RunOutcome> {
  const run = startModuleRun(env);
  if (run === null) return Promise.resolve({ result: "error", error: NO_DESCRIPTORS, stack: "" });
  const { worker: thread, files } = run;
  const { promise, resolve } = Promise.withResolvers<RunOutcome>();
  const late = setTimeout(
    () => resolve({ result: "timeout", error: `took longer than ${timeoutMs / 1000} s`, stack: "" }),
    timeoutMs,
  );
  thread.onmessage = ({ data }: MessageEvent<FromRun>) => {
    if (data.kind === "log") log(data);
    else resolve(data.outcome);
  };
  thread.onerror = (failure: ErrorEvent) => {
    // Without this it would be written to the standard error.
    failure.preventDefault();
    resolve({ result: "error", error: failure.message, stack: "" });
  };
  thread.addEventListener("close", () => resolve({ result: "died", error: "its thread has ended", stack: "" }));
  const order: ModuleOrder = { kind: "run", module, event, env, files, mayChangeProcess };
  thread.postMessage(order);
  return promise.finally(() => {
    clearTimeout(late);
    run.end();
  });
}
