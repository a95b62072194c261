import { heapSize } from "bun:jsc";
import { TICK_MS } from "../../core/timer-wheel.ts";
import type { ThreadVitals, TrafficObserver } from "./traffic-observer.ts";

/** Says once a second what a worker shows of its traffic, from the first watcher of the dashboard to the last. */
export class SeenReports {
  private readonly observer: TrafficObserver;
  private readonly tell: (seen: string) => void;
  private watched = false;
  private dueMs = 0;
  private nextTickMs = 0;
  private lagMs = 0;

  /** @param tell takes a SeenTraffic as JSON: to clone its many small objects takes the worker longer */
  constructor(observer: TrafficObserver, tell: (seen: string) => void) {
    this.observer = observer;
    this.tell = tell;
  }

  get isOn(): boolean {
    return this.watched;
  }

  /** Begins anew, with nothing seen. */
  start(): void {
    this.stop();
    this.watched = true;
    this.nextTickMs = performance.now() + TICK_MS;
    this.dueMs = performance.now() + SEEN_MS;
  }

  /** What was seen and not told is forgotten. */
  stop(): void {
    this.watched = false;
    this.lagMs = 0;
    this.observer.take(NO_VITALS);
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
