import { quiet } from "../net/threads.ts";

/** The thread of the first worker, started before there is a configuration, so that both load at the same time. */
export class EarlyThread {
  private thread: globalThis.Worker | null = new globalThis.Worker(WORKER_ENTRY);
  private isReady = false;

  constructor() {
    const { thread } = this;
    quiet(thread!);
    thread!.onmessage = () => {
      this.isReady = true;
    };
    thread!.addEventListener("close", () => {
      this.thread = null;
    });
  }

  /**
   * Gives the thread away, once.
   * @returns the thread, and whether it has said that it is ready; null if it has been taken, or has ended
   */
  take(): { readonly thread: globalThis.Worker; readonly isReady: boolean } | null {
    const { thread, isReady } = this;
    this.thread = null;
    return thread === null ? null : { thread, isReady };
  }
}

/** The path is resolved against the entry point, in the source tree as in the compiled binary. */
export const WORKER_ENTRY = "./worker.ts";
