import { LatencySketch } from "../../core/latency-sketch.ts";
import type { CallOutcome } from "../../memory/span-ring.ts";

/** What one data worker has counted of a module's calls since the last time, hooks among them. */
export interface CallCounts {
  readonly module: string;
  readonly outcomes: Readonly<Partial<Record<CallOutcome, number>>>;
  /** Seconds from requests to the heads of their responses, added up. */
  readonly seconds: number;
  /** The same times as `LatencySketch.pairs` gives them. */
  readonly latency: readonly number[];
  /** Calls that wait for a place in a thread now. */
  readonly queued: number;
}

/** The counts of one module. */
interface OwnCounts {
  outcomes: Partial<Record<CallOutcome, number>>;
  seconds: number;
  readonly latency: LatencySketch;
  /** As it was told last. */
  queued: number;
}

/** Counts calls by module, until they are taken. */
export class CallCounter {
  private readonly counts: Map<string, OwnCounts> = new Map();

  add(module: string, outcome: CallOutcome, ms: number): void {
    const own = this.of(module);
    own.outcomes[outcome] = (own.outcomes[outcome] ?? 0) + 1;
    own.seconds += ms / 1000;
    own.latency.add(ms);
  }

  /** Gives what has been counted, and begins anew. @param queues calls that wait now, by module */
  take(queues: Iterable<readonly [module: string, queued: number]>): CallCounts[] {
    const taken: CallCounts[] = [];
    for (const [module, queued] of queues) {
      const own = this.of(module);
      const { outcomes, seconds, latency } = own;
      if (latency.count === 0 && queued === own.queued) continue;
      taken.push({ module, outcomes, seconds, latency: latency.pairs(), queued });
      own.outcomes = {};
      own.seconds = 0;
      own.queued = queued;
      latency.clear();
    }
    return taken;
  }

  private of(module: string): OwnCounts {
    let own = this.counts.get(module);
    if (own === undefined) {
      own = { outcomes: {}, seconds: 0, latency: new LatencySketch(), queued: 0 };
      this.counts.set(module, own);
    }
    return own;
  }
}
