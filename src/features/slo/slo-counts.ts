import { faultRow } from "../../core/fault-rows.ts";
import type { WorkerService } from "../../core/worker-service.ts";

import type { Exchange, ResponseTap } from "../../message/exchange.ts";
import { endsBadly, hasLeftHttp } from "../../message/exchange-end.ts";

/** The counters of all routes with objectives, by the keys of these. */
export interface SharedSlos {
  readonly slos: readonly (readonly [key: string, counts: SharedArrayBuffer])[];
}

const ALL = 0;
const FAILED = 1;
const SLOW = 2;
/** Numbers of a worker. */
export const SLO_NUMBERS = 3;

/** What all workers have counted. */
export function sloTotals(buffer: SharedArrayBuffer): { all: number; failed: number; slow: number } {
  const numbers = new Float64Array(buffer);
  const totals = { all: 0, failed: 0, slow: 0 };
  for (let at = 0; at < numbers.length; at += SLO_NUMBERS) {
    totals.all += numbers[at + ALL]!;
    totals.failed += numbers[at + FAILED]!;
    totals.slow += numbers[at + SLOW]!;
  }
  return totals;
}

/** One route's counters in one worker; its own alone until the control thread gives it the shared ones. */
class SloCounter {
  private numbers: Float64Array = new Float64Array(SLO_NUMBERS);
  private at = 0;

  share(buffer: SharedArrayBuffer, worker: number): void {
    this.numbers = new Float64Array(buffer);
    this.at = worker * SLO_NUMBERS;
  }

  count(isFailed: boolean, isSlow: boolean): void {
    this.numbers[this.at + ALL]!++;
    if (isFailed) this.numbers[this.at + FAILED]!++;
    if (isSlow) this.numbers[this.at + SLOW]!++;
  }
}

/** The counters of objectives in one worker; they outlive configurations. docs/pressure.md#objectives */
export class SloCounts implements WorkerService<never> {
  private readonly worker: number;
  private readonly keysOf: (config: never) => ReadonlySet<string>;
  private readonly all: Map<string, SloCounter> = new Map();
  private buffers: ReadonlyMap<string, SharedArrayBuffer> = new Map();

  /** @param keysOf the keys of a configuration's objectives */
  constructor(worker: number, keysOf: (config: never) => ReadonlySet<string>) {
    this.worker = worker;
    this.keysOf = keysOf;
  }

  share({ slos }: SharedSlos): void {
    this.buffers = new Map(slos);
    for (const [key, counter] of this.all) {
      const buffer = this.buffers.get(key);
      if (buffer !== undefined) counter.share(buffer, this.worker);
    }
  }

  of(key: string): SloCounter {
    const known = this.all.get(key);
    if (known !== undefined) return known;
    const counter = new SloCounter();
    const buffer = this.buffers.get(key);
    if (buffer !== undefined) counter.share(buffer, this.worker);
    this.all.set(key, counter);
    return counter;
  }

  use(config: never): void {
    const keys = this.keysOf(config);
    for (const key of this.all.keys()) if (!keys.has(key)) this.all.delete(key);
  }
}

/** A route with objectives. */
interface SloRoute {
  readonly counter: SloCounter;
  /** A response that takes longer is slow; infinite without such an objective. */
  readonly underMs: number;
}

/** Counts how the requests of routes with objectives have gone. */
export class SloTap implements ResponseTap {
  readonly name = "slo";
  private readonly routes: readonly (SloRoute | null)[];

  /** @param routes by their numbers */
  constructor(routes: readonly (SloRoute | null)[]) {
    this.routes = routes;
  }

  onHead(_ex: Exchange): void {}

  onEnd(ex: Exchange): void {
    const route = ex.route === null ? null : this.routes[ex.route.index]!;
    if (route === null) return;
    const { status } = ex.response;
    // A connection for a WebSocket may last for days.
    const isSlow = !hasLeftHttp(ex) && ex.endedMs - ex.startedMs > route.underMs;
    route.counter.count(hasFailed(ex, status), isSlow);
  }
}

/** 5xx, the gateway's own too, and responses that end badly. A client that leaves is none. */
function hasFailed(ex: Exchange, status: number): boolean {
  return status >= 100 ? status >= 500 || endsBadly(ex) : faultRow(ex.fault).status >= 500;
}
