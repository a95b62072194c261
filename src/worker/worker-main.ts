import { stackOf } from "../core/error-text.ts";
import { catchStrays } from "../net/strays.ts";
import type { FromWorker, ToWorker } from "./messages.ts";
import { Worker } from "./worker.ts";

/** The slice of a worker thread's global scope that is used here. */
interface WorkerScope {
  postMessage(message: FromWorker): void;
  onmessage: ((event: { data: ToWorker }) => void) | null;
}

/** Runs a data worker on this thread: the first message starts it. */
export function runWorker(): void {
  const scope = globalThis as unknown as WorkerScope;
  const post = (message: FromWorker) => scope.postMessage(message);
  catchStrays((what, error) => post({ kind: "exception", message: `${what}: ${stackOf(error)}` }));
  let worker: Worker | null = null;
  scope.onmessage = ({ data }) => {
    if (worker !== null) {
      worker.receive(data);
      return;
    }
    if (data.kind !== "start") return;
    const failed = (error: unknown): void => {
      const { code = "", message = String(error) } = error as { code?: string; message?: string };
      post({ kind: "failed", code, message, listener: worker?.opening ?? "http" });
    };
    try {
      worker = new Worker(data, post);
      worker.listen().catch(failed);
    } catch (error) {
      failed(error);
    }
  };
  post({ kind: "ready" });
}
