import type { CallOutcome } from "./function-call.ts";

/** What one data worker has counted of a module's calls since the last time, hooks among them. */
export interface CallCounts {
  readonly module: string;
  readonly outcomes: Readonly<Partial<Record<CallOutcome, number>>>;
  /** Seconds from requests to the heads of their responses, added up. */
  readonly seconds: number;
  /** Calls that wait for a place in a thread now. */
  readonly queued: number;
}

/** Counts calls by module, until they are taken. */
export class CallCounter {
  private readonly counts: Map<string, { outcomes: Partial<Record<CallOutcome, number>>; seconds: number }> = new Map();
  private readonly queued: Map<string, number> = new Map();

  add(module: string, outcome: CallOutcome, ms: number): void {
    let own = this.counts.get(module);
    if (own === undefined) {
      own = { outcomes: {}, seconds: 0 };
      this.counts.set(module, own);
    }
    own.outcomes[outcome] = (own.outcomes[outcome] ?? 0) + 1;
    own.seconds += ms / 1000;
  }

  /** Gives what has been counted, and begins anew. @param queuedOf calls that wait for a module now */
  take(queuedOf: (module: string) => number): CallCounts[] {
    const taken: CallCounts[] = [];
    for (const [module, { outcomes, seconds }] of this.counts) {
      const queued = queuedOf(module);
      const isNew = Object.keys(outcomes).length > 0 || queued !== this.queued.get(module);
      if (isNew) taken.push({ module, outcomes, seconds, queued });
      this.queued.set(module, queued);
      this.counts.set(module, { outcomes: {}, seconds: 0 });
    }
    return taken;
  }
}
