import type { LiveLabel, LiveModule, LiveRow, LiveState } from "../../features/dashboard/live-state.ts";

/** What a label has had a second, between two events of the stream. */
export interface LabelRate {
  readonly perSecond: number;
  readonly failedPerSecond: number;
  readonly refusedPerSecond: number;
}

/** A client, by what was seen of it of late. */
export interface SeenClient {
  readonly address: string;
  /** Of the requests that the stream has shown in the last CLIENT_SECONDS. */
  readonly requests: number;
  readonly failed: number;
  readonly bytesOut: number;
  /** Of the last 15 minutes. */
  readonly refusals: number;
  readonly why: string;
  readonly path: string;
}

/** What two or more events of the stream say together. */
export class LiveRates {
  private before: LiveState | null = null;
  private elapsed = 0;
  private latest: LiveState | null = null;
  private readonly rows: LiveRow[][] = [];
  /** Requests a second, the newest last. */
  readonly past: number[] = [];

  /** Takes the next event. */
  add(state: LiveState): void {
    this.before = this.latest;
    this.latest = state;
    this.elapsed = this.before === null ? 0 : Math.max(1, state.at - this.before.at) / 1000;
    this.rows.push([...state.rows]);
    if (this.rows.length > CLIENT_SECONDS) this.rows.shift();
    if (this.before === null) for (const value of pastOf(state)) this.past.push(value);
    else this.past.push(this.total);
    if (this.past.length > MAX_PAST) this.past.splice(0, this.past.length - MAX_PAST);
  }

  /** Requests a second of all routes. */
  get total(): number {
    return this.perSecond(({ totals }) => totals.requests);
  }

  /** Of a counter of the stream, a second; 0 at the first event. */
  perSecond(value: (state: LiveState) => number): number {
    if (this.latest === null || this.before === null) return 0;
    return Math.max(0, value(this.latest) - value(this.before)) / this.elapsed;
  }

  /** Of a route or an upstream. @param kind the list of the stream where it is */
  ofLabel(one: LiveLabel, kind: "routes" | "upstreams"): LabelRate {
    const before = this.before?.[kind].find(({ label }) => label === one.label);
    if (before === undefined) return NOTHING;
    const of = (now: number, then: number): number => Math.max(0, now - then) / this.elapsed;
    return {
      perSecond: of(one.requests, before.requests),
      failedPerSecond: of(one.classes[5]!, before.classes[5]!),
      refusedPerSecond: of(one.classes[4]!, before.classes[4]!),
    };
  }

  /** Of a module's calls. */
  ofModule(one: LiveModule): LabelRate {
    const before = this.before?.modules.find(({ name }) => name === one.name);
    if (before === undefined) return NOTHING;
    const of = (now: number, then: number): number => Math.max(0, now - then) / this.elapsed;
    return {
      perSecond: of(one.calls, before.calls),
      failedPerSecond: of(one.failed, before.failed),
      refusedPerSecond: 0,
    };
  }

  /** The clients that were seen of late, and the ones that were refused most. */
  clients(): SeenClient[] {
    const found = new Map<string, SeenClient>();
    for (const row of this.rows.flat()) {
      const one = found.get(row.address) ?? { address: row.address, ...UNSEEN };
      found.set(row.address, {
        ...one,
        requests: one.requests + 1,
        failed: one.failed + (row.status >= FIRST_FAILURE ? 1 : 0),
        bytesOut: one.bytesOut + row.bytesOut,
        path: row.path,
      });
    }
    for (const { address, refusals, reasons, path } of this.latest?.attackers ?? []) {
      const one = found.get(address) ?? { address, ...UNSEEN, path };
      found.set(address, { ...one, refusals, why: reasons.map(([reason]) => reason).join(", ") });
    }
    return [...found.values()];
  }

  /** Whether there were more requests than the stream shows. */
  get isSampled(): boolean {
    return (this.latest?.rowsLeftOut ?? 0) > 0;
  }
}

/** The history has a point every few seconds. */
function pastOf({ history = [] }: LiveState): number[] {
  const counts = history.map(([at, classes]) => [at, classes.reduce((sum, value) => sum + value, 0)] as const);
  return counts.slice(1).flatMap(([at, requests], i) => {
    const [from, before] = counts[i]!;
    const seconds = Math.max(1, Math.round((at - from) / 1000));
    return Array.from({ length: Math.min(seconds, MAX_GAP_S) }, () => Math.max(0, requests - before) / seconds);
  });
}

const NOTHING: LabelRate = { perSecond: 0, failedPerSecond: 0, refusedPerSecond: 0 };
const UNSEEN = { requests: 0, failed: 0, bytesOut: 0, refusals: 0, why: "", path: "" };
const FIRST_FAILURE = 400;
/** For how long a client is shown. */
export const CLIENT_SECONDS = 10;
const MAX_PAST = 300;
const MAX_GAP_S = 10;
