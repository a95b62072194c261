import { noteOpenedFiles } from "../thread/opened-files.ts";

/** Runs the thread of one check or one scheduled run. Nothing that imports `node:fs` may be imported before; see `startFunctionThread`. */
export async function startModuleThread(): Promise<void> {
  noteOpenedFiles();
  const { runModuleThread } = await import("./module-thread.ts");
  runModuleThread();
}
