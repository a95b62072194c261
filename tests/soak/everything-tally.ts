// What the clients of the run of everything have seen.

/** How one attempt at a request ended. */
export interface Attempt {
  /** "ok", or the reason in a few words. */
  readonly outcome: string;
  /**
   * Whether any client would send it once more by itself: the gateway has told that it did not process the request, or closed a
   * connection that it had kept, in order, before any byte of an answer (RFC 9110 §9.2.2, RFC 9113 §6.8).
   */
  readonly mayRepeat: boolean;
}

export const OK: Attempt = { outcome: "ok", mayRepeat: false };

/** An attempt that failed for good. */
export function failed(outcome: string): Attempt {
  return { outcome, mayRepeat: false };
}

/** The counts of one kind of request. */
export interface KindTally {
  requests: number;
  succeeded: number;
  /** Requests that were sent once more by the client. */
  repeated: number;
  slowestMs: number;
}

/** A request without the answer that it should have had. */
export interface Loss {
  readonly kind: string;
  readonly reason: string;
  readonly isIdempotent: boolean;
  readonly fromMs: number;
  readonly toMs: number;
}

/** Counts of all clients. */
export class Tally {
  readonly kinds: Map<string, KindTally> = new Map();
  readonly losses: Loss[] = [];
  /** Why clients sent a request once more. */
  readonly repeats: Map<string, number> = new Map();
  /** Ids of the requests with side effects that were sent. */
  readonly posts: Set<string> = new Set();
  /** Bodies of answers and echoes that were compared byte by byte. */
  bodies = 0;
  idempotent = 0;
  /** What belongs to another request, or came where nothing was due. */
  readonly foreign: string[] = [];
  private lastId = 0;

  /** An id that no other request has. */
  newId(kind: string): string {
    return `${kind}-${++this.lastId}`;
  }

  /** Compares the body of an answer with what it must be. */
  isSame(what: string, body: Buffer, expected: Buffer): boolean {
    this.bodies++;
    if (body.equals(expected)) return true;
    this.foreign.push(`${what}: ${body.length} of ${expected.length} bytes, ${body.toString("latin1", 0, 60)}`);
    return false;
  }

  /** Makes a request and counts it; once more where the client may. */
  async request(kind: string, isIdempotent: boolean, attempt: () => Promise<Attempt>): Promise<boolean> {
    const tally = this.kindOf(kind);
    const fromMs = performance.now();
    tally.requests++;
    if (isIdempotent) this.idempotent++;
    let { outcome, mayRepeat } = await attempt();
    if (outcome !== "ok" && mayRepeat) {
      tally.repeated++;
      this.repeats.set(`${kind}: ${outcome}`, (this.repeats.get(`${kind}: ${outcome}`) ?? 0) + 1);
      ({ outcome, mayRepeat } = await attempt());
    }
    const toMs = performance.now();
    tally.slowestMs = Math.max(tally.slowestMs, toMs - fromMs);
    if (outcome === "ok") tally.succeeded++;
    else this.losses.push({ kind, reason: outcome, isIdempotent, fromMs, toMs });
    return outcome === "ok";
  }

  private kindOf(kind: string): KindTally {
    let tally = this.kinds.get(kind);
    if (tally === undefined) {
      tally = { requests: 0, succeeded: 0, repeated: 0, slowestMs: 0 };
      this.kinds.set(kind, tally);
    }
    return tally;
  }
}
