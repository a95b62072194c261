import { pathToFileURL } from "node:url";
import { exportFault, type ModuleUse } from "../features/functions/module-exports.ts";
import { faultAt, type ModuleFault, moduleFaults, textOf } from "../features/functions/module-fault.ts";

/** What the thread is asked: one module, and what it is for. */
export interface ModuleQuestion {
  /** Absolute path. */
  readonly module: string;
  readonly use: ModuleUse;
}

declare const self: {
  onmessage: ((event: MessageEvent<ModuleQuestion>) => void) | null;
  postMessage(faults: readonly ModuleFault[]): void;
};

/** The thread of `checkModules`: loads the module that the first message names, and answers with what is wrong with it. */
export function runModuleCheck(): void {
  self.onmessage = async ({ data: { module, use } }) => {
    const answer = self.postMessage.bind(self);
    try {
      const loaded = (await import(pathToFileURL(module).href)) as Readonly<Record<string, unknown>>;
      const fault = exportFault(loaded, use);
      answer(fault === "" ? [] : [atExport(module, fault)]);
    } catch (error) {
      answer(moduleFaults(error, module));
    }
  };
}

/** At the default export, or at the beginning of the file where there is none. */
function atExport(module: string, message: string): ModuleFault {
  const lines = textOf(module).split("\n");
  const index = lines.findIndex((line) => /^\s*export\s+default\b|\bas\s+default\b/.test(line));
  return faultAt(module, Math.max(0, index) + 1, 1, message);
}
