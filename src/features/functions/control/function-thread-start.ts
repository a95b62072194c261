import { noteOpenedFiles } from "../thread/opened-files.ts";

/** Runs the thread of a module. Nothing that imports `node:fs` may be imported before: names of it that a module imports are to be the noted ones. */
export async function startFunctionThread(): Promise<void> {
  noteOpenedFiles();
  const { runFunctionThread } = await import("./function-thread.ts");
  runFunctionThread();
}
