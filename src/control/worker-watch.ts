import type { ControlService } from "../core/control-service.ts";
import { type Metric, single } from "../core/metric-row.ts";
import { GATEWAY_METRICS } from "../facts/gateway-metrics.ts";
import { hearsSignals } from "../net/thread-usage.ts";
import type { RuntimeConfig } from "../routes/runtime-config.ts";

/** How often the control thread looks. */
const LOOK_MS = 1000;
/** Looks in a row at a worker that has not moved, after which it is replaced. */
const MISSED_LOOKS = 10;

/** What becomes of a worker that has not moved. */
export interface StallListener {
  /** It has not moved from one look to the next. */
  onStill(worker: number): void;
  /** It moves again. */
  onMoves(worker: number): void;
  /**
   * @param stalledMs how long it has not moved, as far as was looked
   * @param isHeld whether it cannot be ended now, since the system holds its thread
   */
  onStall(worker: number, stalledMs: number, isHeld: boolean): void;
  /** It can be ended: at the stall, or later where the system has held it. */
  replace(worker: number): void;
}

/**
 * Watches that every worker moves. Each one beats in shared memory, once a tick of its event loop; the control thread looks
 * once a second. It counts its own looks and not the time, so that a process that was stopped as a whole, or a machine that
 * slept, is no stall. docs/operations.md#workers
 */
export class WorkerWatch implements ControlService<RuntimeConfig> {
  /** For the workers: a beat each, then the number of the thread of each. */
  readonly buffer: SharedArrayBuffer;
  private readonly beats: Int32Array;
  private readonly threads: Int32Array;
  /** Whether a stalled worker has been replaced already, or will be when its thread ends. */
  private readonly replaced: boolean[];
  private readonly seen: Int32Array;
  private readonly missed: Int32Array;
  private readonly listener: StallListener;
  private readonly mayEnd: (tid: number) => boolean;
  private stalls = 0;
  private timer: Timer | null = null;

  /**
   * @param size number of workers
   * @param mayEnd whether a thread can be ended now
   */
  constructor(size: number, listener: StallListener, mayEnd: (tid: number) => boolean = hearsSignals) {
    this.buffer = new SharedArrayBuffer(2 * size * Int32Array.BYTES_PER_ELEMENT);
    this.beats = new Int32Array(this.buffer, 0, size);
    this.threads = new Int32Array(this.buffer, size * Int32Array.BYTES_PER_ELEMENT, size);
    this.seen = new Int32Array(size);
    this.missed = new Int32Array(size);
    this.replaced = new Array(size).fill(false);
    this.listener = listener;
    this.mayEnd = mayEnd;
  }

  /** Begins to look. */
  begin(): void {
    this.timer ??= setInterval(() => this.look(), LOOK_MS);
  }

  startFields(): { readonly beats: SharedArrayBuffer } {
    return { beats: this.buffer };
  }

  stop(): void {
    if (this.timer !== null) clearInterval(this.timer);
    this.timer = null;
  }

  /** Whether a worker moves, as far as was looked. */
  moves(worker: number): boolean {
    return this.missed[worker] === 0;
  }

  /** Whether a worker has been stalled for as long as it takes to be replaced. */
  isStalled(worker: number): boolean {
    return this.missed[worker]! >= MISSED_LOOKS;
  }

  /** Whether no worker is stalled. */
  get allBeat(): boolean {
    return this.missed.every((_, worker) => !this.isStalled(worker));
  }

  /** A worker is gone, or begins: it is watched again from its first beat on. */
  workerDied(worker: number): void {
    Atomics.store(this.beats, worker, 0);
    this.seen[worker] = 0;
    this.missed[worker] = 0;
    this.replaced[worker] = false;
  }

  metrics(): Metric[] {
    return [single(GATEWAY_METRICS, "gateway_worker_stalls_total", () => this.stalls)];
  }

  /** One look at all workers. */
  look(): void {
    for (let worker = 0; worker < this.beats.length; worker++) {
      const beat = Atomics.load(this.beats, worker);
      // Before its first beat a worker loads, which may take its time.
      const stands = beat !== 0 && beat === this.seen[worker];
      const before = this.missed[worker]!;
      this.seen[worker] = beat;
      this.missed[worker] = stands ? before + 1 : 0;
      if (stands && before === 0) this.listener.onStill(worker);
      if (!stands && before > 0) this.listener.onMoves(worker);
      if (this.isStalled(worker) && !this.replaced[worker]) this.onStalled(worker, before < MISSED_LOOKS);
    }
  }

  /** @param isNew whether the log does not name it yet */
  private onStalled(worker: number, isNew: boolean): void {
    const mayEnd = this.mayEnd(Atomics.load(this.threads, worker));
    if (isNew) {
      this.stalls++;
      this.listener.onStall(worker, MISSED_LOOKS * LOOK_MS, !mayEnd);
    }
    if (!mayEnd) return;
    this.replaced[worker] = true;
    this.listener.replace(worker);
  }
}
