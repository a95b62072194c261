import { descriptorLimit } from "../../../net/descriptor-watch.ts";
import { endThread, startThread } from "../../../net/threads.ts";
import { createFileCells, FILE_CELLS } from "../file-cells.ts";
import { closeLeftFiles, filesOfThread } from "./left-files.ts";

/** Threads of this kind that may be there at once, as the share of each in the descriptors counts them. */
const AT_ONCE = 16;

/** A thread that loads one module, once. */
interface ModuleRun {
  readonly worker: globalThis.Worker;
  /** For the descriptors that it opens. */
  readonly files: SharedArrayBuffer;
  /** Ends it, as soon as the system lets it end. What it has left open closes with it. */
  end(): void;
}

let runs = 0;

/** Starts a thread for one module. @returns null where descriptors run short */
export function startModuleRun(env: Readonly<Record<string, string>>): ModuleRun | null {
  const worker = startThread(MODULE_ENTRY, env);
  if (worker === null) return null;
  const files = createFileCells(filesOfThread(descriptorLimit(), AT_ONCE), ++runs);
  const cells = new Int32Array(files);
  worker.addEventListener("close", () => closeLeftFiles(cells));
  return { worker, files, end: () => endThread({ worker, tid: Atomics.load(cells, FILE_CELLS.thread) }) };
}

/** Resolved against the entry point, in the source tree as in the compiled binary. */
const MODULE_ENTRY = "./module-worker.ts";
