import { pathToFileURL } from "node:url";
import { ownThreadId } from "../../../memory/thread-id.ts";
import { FILE_CELLS } from "../file-cells.ts";
import { exportFault, type ModuleUse } from "../module-exports.ts";
import { faultAt, type ModuleFault, moduleFaults, moduleText } from "../module-fault.ts";
import { contain, withRefusal } from "../thread/contain.ts";
import { lineOf } from "../thread/context.ts";
import { useJsxSettings } from "../thread/jsx-settings.ts";
import { openedFiles } from "../thread/opened-files.ts";
import { problemOf } from "../thread/problem.ts";
import { type FromRun, failed, type RunOrder, runOutcome } from "./scheduled-call.ts";

/** What the thread is asked, once: to load a module and name the fault in it, or to make a run of a schedule. */
export type ModuleOrder = ({ readonly kind: "check" } & ModuleQuestion) | ({ readonly kind: "run" } & RunOrder);

/** One module, and what it is for. */
interface ModuleQuestion {
  /** Absolute path. */
  readonly module: string;
  readonly use: ModuleUse;
  /** For the descriptors that it opens: see FileCells. */
  readonly files: SharedArrayBuffer;
  /** Whether `functions.allow` has `process`. */
  readonly mayChangeProcess: boolean;
}

declare const self: {
  onmessage: ((event: MessageEvent<ModuleOrder>) => void) | null;
  postMessage(message: readonly ModuleFault[] | FromRun): void;
};

/** The thread of one check, or of one run: what has started it ends it. */
export function runModuleThread(): void {
  const tell = self.postMessage.bind(self);
  self.onmessage = async ({ data: order }) => {
    const stray = (thrown: unknown) => {
      if (order.kind === "check") tell(moduleFaults(thrown, order.module));
      else tell({ kind: "done", outcome: failed(problemOf(thrown, order.module)) });
    };
    const files = new Int32Array(order.files);
    Atomics.store(files, FILE_CELLS.thread, ownThreadId());
    openedFiles.share(files, () => {});
    process.on("unhandledRejection", stray);
    process.on("uncaughtException", stray);
    useJsxSettings();
    contain(order.mayChangeProcess, (level, values) => {
      if (order.kind === "run") tell({ kind: "log", level, line: lineOf(values) });
    });
    if (order.kind === "check") tell(await faultsOf(order));
    else tell({ kind: "done", outcome: await runOutcome(order, tell) });
  };
}

async function faultsOf({ module, use }: ModuleQuestion): Promise<readonly ModuleFault[]> {
  try {
    const loaded = (await import(pathToFileURL(module).href)) as Readonly<Record<string, unknown>>;
    const fault = exportFault(loaded, use);
    return fault === "" ? [] : [atExport(module, fault)];
  } catch (error) {
    return moduleFaults(error, module).map((fault) => ({ ...fault, message: withRefusal(fault.message) }));
  }
}

/** At the default export, or at the beginning of the file if there is none. */
function atExport(module: string, message: string): ModuleFault {
  const lines = moduleText(module).split("\n");
  const index = lines.findIndex((line) => /^\s*export\s+default\b|\bas\s+default\b/.test(line));
  return faultAt(module, Math.max(0, index) + 1, 1, message);
}
