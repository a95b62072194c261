import type { Percentiles } from "../../../core/latency-sketch.ts";
import type { LiveLabel, LiveModule, LivePoint, LiveState } from "../live-state.ts";

/** What happened between two looks at the counters. */
export interface Moment {
  readonly at: number;
  /** Requests a second by the first digit of their status. */
  readonly classes: readonly number[];
  readonly latency: Percentiles;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly blocked: number;
}

/** A label with what happened to it in the last seconds. */
export interface BusyLabel extends LiveLabel {
  /** Requests a second. */
  readonly rate: number;
  /** Requests in the last seconds by the first digit of their status. */
  readonly recent: readonly number[];
  readonly errors: number;
}

/** A module with what happened to it in the last seconds. */
export interface BusyModule extends LiveModule {
  /** Calls a second. */
  readonly rate: number;
  /** Share of them that failed. */
  readonly errors: number;
}

/** Seconds over which rates of routes and upstreams are taken. */
const RATE_MS = 10_000;
const HISTORY_MS = 15 * 60_000;
const LEAST_MS = 500;

/** What the page knows: the last event, and what came before it. */
export class Model {
  state: LiveState | null = null;
  readonly moments: Moment[] = [];
  private last: LivePoint | null = null;
  private recent: LiveState[] = [];

  /** Takes an event. */
  take(state: LiveState): void {
    if (this.state?.gateway.startedAt !== state.gateway.startedAt) this.forget();
    if (state.history !== undefined) {
      this.forget();
      for (const point of state.history) this.add(point);
    }
    const { totals, latency } = state;
    this.add([state.at, totals.classes, latency, totals.bytesIn, totals.bytesOut, totals.wafBlocked]);
    this.state = state;
    this.recent.push(state);
    while (this.recent.length > 2 && state.at - this.recent[1]!.at >= RATE_MS) this.recent.shift();
  }

  /** Moments of the last milliseconds. */
  since(ms: number): readonly Moment[] {
    const from = (this.state?.at ?? 0) - ms;
    let first = this.moments.length;
    while (first > 0 && this.moments[first - 1]!.at >= from) first--;
    return this.moments.slice(first);
  }

  /** The growth of a count in the last seconds, per second. */
  rateOf(read: (state: LiveState) => number): number {
    const [from, to] = [this.recent[0], this.recent.at(-1)];
    if (from === undefined || to === undefined || to.at <= from.at) return 0;
    return Math.max(0, (read(to) - read(from)) / ((to.at - from.at) / 1000));
  }

  /** Routes or upstreams with their rates. */
  busy(read: (state: LiveState) => readonly LiveLabel[]): BusyLabel[] {
    const [from, to] = [this.recent[0], this.recent.at(-1)];
    if (from === undefined || to === undefined) return [];
    const before = new Map(read(from).map((one) => [one.label, one]));
    const seconds = Math.max(1, to.at - from.at) / 1000;
    return read(to).map((one) => {
      const then = before.get(one.label)?.classes ?? (from === to ? one.classes : []);
      const recent = one.classes.map((all, i) => Math.max(0, all - (then[i] ?? 0)));
      const sum = total(recent);
      return { ...one, recent, rate: from === to ? 0 : sum / seconds, errors: sum === 0 ? 0 : recent[5]! / sum };
    });
  }

  /** Modules with their rates. */
  busyModules(): BusyModule[] {
    const [from, to] = [this.recent[0], this.recent.at(-1)];
    if (from === undefined || to === undefined) return [];
    const before = new Map(from.modules.map((one) => [one.name, one]));
    const seconds = Math.max(1, to.at - from.at) / 1000;
    return to.modules.map((one) => {
      const then = before.get(one.name) ?? one;
      const calls = Math.max(0, one.calls - then.calls);
      const failed = Math.max(0, one.failed - then.failed);
      return { ...one, rate: calls / seconds, errors: calls === 0 ? 0 : failed / calls };
    });
  }

  private forget(): void {
    this.moments.length = 0;
    this.recent = [];
    this.last = null;
  }

  private add(point: LivePoint): void {
    // A clock that was set back begins a new past.
    if (this.last !== null && point[0] < this.last[0] - LEAST_MS) this.forget();
    const { last } = this;
    // Two looks so near to each other say nothing of a rate.
    if (last !== null && point[0] - last[0] < LEAST_MS) return;
    this.last = point;
    if (last === null) return;
    const seconds = (point[0] - last[0]) / 1000;
    const rate = (now: number, before: number): number => Math.max(0, (now - before) / seconds);
    this.moments.push({
      at: point[0],
      classes: point[1].map((all, i) => rate(all, last[1][i]!)),
      latency: point[2],
      bytesIn: rate(point[3], last[3]),
      bytesOut: rate(point[4], last[4]),
      blocked: rate(point[5], last[5]),
    });
    while (point[0] - this.moments[0]!.at > HISTORY_MS) this.moments.shift();
  }
}

/** The sum of numbers. */
export function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

/** The requests a second of a moment. */
export function requestsOf({ classes }: Moment): number {
  return total(classes);
}
