import { lowestDescriptor } from "./descriptors.ts";
import { hearsSignals } from "./thread-usage.ts";

/** Descriptors that must be free for a thread: its event loop takes two, and others may take some before it has begun. */
const SPARE_DESCRIPTORS = 8;

/** Why there is no thread. */
export const NO_DESCRIPTORS = "no descriptors are left to start its thread with";

/**
 * Starts a thread. All threads are started here: one for whose event loop no descriptor is left would end the process.
 * @param entry of the binary, or of the source tree; resolved against the entry point
 * @param env what the thread has in place of the process's environment
 * @returns null where descriptors run short
 */
export function startThread(entry: string, env?: Readonly<Record<string, string>>): globalThis.Worker | null {
  if (lowestDescriptor(SPARE_DESCRIPTORS) < 0) return null;
  const thread = env === undefined ? new globalThis.Worker(entry) : new globalThis.Worker(entry, { env: { ...env } });
  quiet(thread);
  return thread;
}

/** Keeps the runtime from writing what ends a thread to the standard error: its owner learns of it, and writes the log. */
export function quiet(thread: globalThis.Worker): void {
  thread.addEventListener("error", (event) => event.preventDefault());
}

/** A thread that is to end. */
interface Ending {
  readonly worker: globalThis.Worker;
  /** As the kernel numbers threads; 0 or less if it is not known. */
  readonly tid: number;
}

/** How often it is looked whether a thread that the system has held moves again. */
const HELD_LOOK_MS = 100;

/**
 * Ends threads. One that the system holds (see `hearsSignals`) is ended when it moves again: the runtime would hold locks that all threads of the
 * process need until then.
 */
export class ThreadEnds {
  private readonly held: Set<Ending> = new Set();

  /** @returns whether the thread ends now */
  end(ending: Ending): boolean {
    if (hearsSignals(ending.tid)) ending.worker.terminate();
    else this.held.add(ending);
    return !this.held.has(ending);
  }

  /** Whether no thread is held. */
  get isEmpty(): boolean {
    return this.held.size === 0;
  }

  /** To be called now and then: ends those that move again. */
  look(): void {
    for (const ending of this.held) if (hearsSignals(ending.tid) && this.held.delete(ending)) ending.worker.terminate();
  }
}

const ends = new ThreadEnds();
let looking: Timer | null = null;

/** Ends a thread that has no owner which would look after those that the system holds. */
export function endThread(ending: Ending): void {
  if (ends.end(ending)) return;
  looking ??= setInterval(() => {
    ends.look();
    if (!ends.isEmpty) return;
    if (looking !== null) clearInterval(looking);
    looking = null;
  }, HELD_LOOK_MS);
}
