import { NO_DESCRIPTORS } from "../../../net/threads.ts";
import { faultAt, type ModuleFault } from "../module-fault.ts";
import type { ModuleSettings, UsedModule } from "./configured-modules.ts";
import { startModuleRun } from "./module-run.ts";
import type { ModuleOrder } from "./module-thread.ts";

/**
 * Loads each module in a thread of its own, as the gateway would, and names the fault in it. Nothing of it reaches this thread:
 * neither its globals nor its end. docs/functions.md#edge-check
 * @param settings what the modules have
 * @param limitMs how long one may take to load, in milliseconds, from 1
 * @returns the faults in the order of the modules, each module and use once
 */
export async function checkModules(
  modules: readonly UsedModule[],
  settings: ModuleSettings,
  limitMs: number = LOAD_LIMIT_MS,
): Promise<readonly ModuleFault[]> {
  const wanted = [...new Map(modules.map((one) => [`${one.use} ${one.module}`, one])).values()];
  const faults: (readonly ModuleFault[])[] = wanted.map(() => []);
  const places = wanted.keys();
  const next = async (): Promise<void> => {
    for (const at of places) faults[at] = await checkOne(wanted[at]!, settings, limitMs);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, next));
  return faults.flat();
}

function checkOne(
  { module, use }: UsedModule,
  { env, mayChangeProcess }: ModuleSettings,
  limitMs: number,
): Promise<readonly ModuleFault[]> {
  const run = startModuleRun(env);
  if (run === null) return Promise.resolve([faultAt(module, 0, 0, NO_DESCRIPTORS)]);
  const { worker: thread, files } = run;
  const { promise, resolve } = Promise.withResolvers<readonly ModuleFault[]>();
  const tell = (message: string) => resolve([faultAt(module, 0, 0, message)]);
  const late = setTimeout(
    () => tell(`is not loaded after ${limitMs / 1000} s: it loops, or awaits what does not come`),
    limitMs,
  );
  thread.onmessage = ({ data }: MessageEvent<readonly ModuleFault[]>) => resolve(data);
  thread.onerror = ({ message }) => tell(`fails while it is loaded: ${message}`);
  thread.addEventListener("close", (event) => tell(`ends its thread while it is loaded, ${endOf(event)}`));
  const order: ModuleOrder = { kind: "check", module, use, files, mayChangeProcess };
  thread.postMessage(order);
  return promise.finally(() => {
    clearTimeout(late);
    run.end();
  });
}

function endOf(event: unknown): string {
  return `with the exit code ${(event as { readonly code?: number }).code ?? 0}`;
}

const LOAD_LIMIT_MS = 5000;
const AT_ONCE = 4;
