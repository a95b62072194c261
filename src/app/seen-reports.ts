import type { ThreadVitals, TrafficObserver } from "../features/dashboard/traffic-observer.ts";

/** Says once a second what a worker has seen of its traffic, from the first watcher of the dashboard to the last. */
export class SeenReports {
  private readonly observer: TrafficObserver;
  private readonly tell: (seen: string) => void;
  private timer: Timer | null = null;
  private heap = 0;
  private looks = 0;

  /** @param tell takes a SeenTraffic as JSON: to clone its many small objects takes the worker longer */
  constructor(observer: TrafficObserver, tell: (seen: string) => void) {
    this.observer = observer;
    this.tell = tell;
  }

  get isOn(): boolean {
    return this.timer !== null;
  }

  /** Begins anew, with nothing seen. */
  start(): void {
    this.stop();
    let dueMs = performance.now();
    this.timer = setInterval(() => {
      dueMs += SEEN_MS;
      const lagMs = Math.max(0, performance.now() - dueMs);
      // What it is late once does not count the next time.
      dueMs += lagMs;
      this.tell(JSON.stringify(this.observer.take(this.vitals(lagMs))));
    }, SEEN_MS);
  }

  /** What was seen and not told is forgotten. */
  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
    this.looks = 0;
    this.observer.take(NO_VITALS);
  }

  /** How this thread is. */
  private vitals(lagMs: number): ThreadVitals {
    const { user, system } = process.threadCpuUsage();
    if (this.looks++ % HEAP_LOOKS === 0) this.heap = process.memoryUsage().heapTotal;
    return { cpuMicros: user + system, lagMs: Math.round(lagMs * 10) / 10, heap: this.heap };
  }
}

const NO_VITALS: ThreadVitals = { cpuMicros: 0, lagMs: 0, heap: 0 };
const SEEN_MS = 1000;
/** The heap is looked at once in so many times: the runtime asks the system for more along with it. */
const HEAP_LOOKS = 5;
