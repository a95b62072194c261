import { heapSize } from "bun:jsc";
import type { Takers } from "../../core/message-takers.ts";
import { TICK_MS } from "../../core/timer-wheel.ts";
import type { WorkerService } from "../../core/worker-service.ts";
import type { DashboardNews } from "./dashboard-messages.ts";
import type { ThreadVitals, TrafficObserver } from "./traffic-observer.ts";

/** Says once a second what a worker shows of its traffic, from the first watcher of the dashboard to the last. */
export class SeenReports implements WorkerService<unknown> {
  readonly onMessage: Takers<Extract<DashboardNews, { kind: "observe" }>> = {
    observe: ({ isWatched }) => this.observe(isWatched),
  };
  private readonly observer: TrafficObserver;
  private readonly tell: (seen: string) => void;
  private readonly show: (observer: TrafficObserver | null) => void;
  private watched = false;
  private dueMs = 0;
  private nextTickMs = 0;
  private lagMs = 0;

  /**
   * @param tell takes a SeenTraffic as JSON: to clone its many small objects takes the worker longer
   * @param show has the traffic shown to the observer from now on, or to none
   */
  constructor(
    observer: TrafficObserver,
    tell: (seen: string) => void,
    show: (observer: TrafficObserver | null) => void,
  ) {
    this.observer = observer;
    this.show = show;
    this.tell = tell;
  }

  get isOn(): boolean {
    return this.watched;
  }

  /** Looks at the traffic from now on, or no longer. Either way it begins anew: what was seen and not told is forgotten. */
  observe(isWatched: boolean): void {
    this.show(isWatched ? this.observer : null);
    this.watched = isWatched;
    this.lagMs = 0;
    this.observer.take(NO_VITALS);
    if (!isWatched) return;
    this.nextTickMs = performance.now() + TICK_MS;
    this.dueMs = performance.now() + SEEN_MS;
  }

  /** To be called every TICK_MS: a timer of its own would wake the thread once more. */
  tick(): void {
    if (!this.watched) return;
    const nowMs = performance.now();
    this.lagMs = Math.max(this.lagMs, nowMs - this.nextTickMs);
    this.nextTickMs = nowMs + TICK_MS;
    if (nowMs < this.dueMs) return;
    // What it is late once does not count the next time.
    this.dueMs = Math.max(this.dueMs, nowMs - TICK_MS) + SEEN_MS;
    this.tell(JSON.stringify(this.observer.take(this.vitals())));
    this.lagMs = 0;
  }

  /** How this thread is. */
  private vitals(): ThreadVitals {
    const { user, system } = process.threadCpuUsage();
    return { cpuMicros: user + system, lagMs: Math.round(this.lagMs * 10) / 10, heap: heapSize() };
  }
}

const NO_VITALS: ThreadVitals = { cpuMicros: 0, lagMs: 0, heap: 0 };
const SEEN_MS = 1000;
