import { runFunctionThread } from "./function-thread.ts";
import { verifyTls } from "./verified-tls.ts";

/** Runs the thread of a module, with certificates verified. */
export function startFunctionThread(): void {
  verifyTls();
  runFunctionThread();
}
