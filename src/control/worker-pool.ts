import { type CounterBuffers, createCounterBuffers } from "../memory/counter-table.ts";
import { startThread } from "../net/threads.ts";
import type { FromWorker, ToWorker } from "../worker/messages.ts";
import { type EarlyThread, WORKER_ENTRY } from "./early-thread.ts";

/** Milliseconds until a worker that has ended is started again: one that cannot live must not take the CPU from the others. */
const RESTART_DELAY_MS = 250;

/** What the pool tells the control thread. */
export interface PoolListener {
  /** The first message for a worker, old or new. */
  startMessage(index: number, counters: CounterBuffers): ToWorker;
  onMessage(index: number, message: FromWorker): void;
  /** A worker has ended unexpectedly. @param restarted whether it is being started again */
  onDeath(index: number, reason: string, restarted: boolean): void;
  /** After `drain`: no worker has anything in hand. */
  onDrained(): void;
}

/** The data workers: threads that are started again when they end. */
export class WorkerPool {
  readonly buffers: readonly CounterBuffers[];
  private readonly threads: (globalThis.Worker | null)[];
  private readonly listener: PoolListener;
  private readonly early: EarlyThread;
  /** Threads that wait for their first message. */
  private readonly ready: Set<number> = new Set();
  /** Whether the workers have been let go. */
  released = false;
  private stopping = false;
  private draining = false;
  private readonly drained: Set<number> = new Set();

  /**
   * @param size number of data workers, 1 and up
   * @param early the thread of the first one
   */
  constructor(size: number, listener: PoolListener, early: EarlyThread) {
    this.buffers = Array.from({ length: size }, createCounterBuffers);
    this.threads = new Array(size).fill(null);
    this.listener = listener;
    this.early = early;
  }

  get size(): number {
    return this.buffers.length;
  }

  /** Starts the threads of all workers; they load while their first message is being made. */
  start(): void {
    for (let index = 0; index < this.size; index++) this.spawn(index);
  }

  /** The first messages may be asked for. */
  release(): void {
    this.released = true;
    for (const index of this.ready) this.startWorker(index);
    this.ready.clear();
  }

  /** Tells every worker. */
  broadcast(message: ToWorker): void {
    for (const thread of this.threads) thread?.postMessage(message);
  }

  /** Tells one worker. */
  send(index: number, message: ToWorker, transfer: MessagePort[] = []): void {
    this.threads[index]?.postMessage(message, transfer);
  }

  /** Ends the thread of a worker, whatever it is doing; another one is started in its place. */
  replace(index: number): void {
    this.threads[index]?.terminate();
  }

  /**
   * Tells every worker to end what it has in hand and to take nothing new. Those that end before stay ended.
   * @param hasSuccessor whether another process waits for the UDP port of HTTP/3
   */
  drain(hasSuccessor: boolean): void {
    this.stopping = true;
    this.draining = true;
    this.broadcast({ kind: "drain", hasSuccessor });
    this.checkDrained();
  }

  /** Workers that end from now on stay ended. */
  stop(): void {
    this.stopping = true;
  }

  private startWorker(index: number): void {
    this.send(index, this.listener.startMessage(index, this.buffers[index]!));
  }

  private spawn(index: number): void {
    const early = this.early.take();
    const thread = early?.thread ?? startThread(WORKER_ENTRY);
    if (thread === null) return this.spawnLater(index);
    this.threads[index] = thread;
    if (early?.isReady) this.ready.add(index);
    let reason = "";
    thread.onmessage = (event: MessageEvent<FromWorker>) => {
      if (event.data.kind === "ready") {
        if (!this.released) this.ready.add(index);
        else if (this.draining) this.onDrained(index);
        else this.startWorker(index);
      } else if (event.data.kind === "drained") this.onDrained(index);
      else this.listener.onMessage(index, event.data);
    };
    thread.onerror = (event: ErrorEvent) => {
      reason = event.message;
    };
    thread.addEventListener("close", () => {
      if (this.threads[index] !== thread) return;
      this.threads[index] = null;
      this.ready.delete(index);
      this.listener.onDeath(index, reason, !this.stopping);
      this.checkDrained();
      this.spawnLater(index);
    });
  }

  private spawnLater(index: number): void {
    setTimeout(() => {
      if (!this.stopping) this.spawn(index);
    }, RESTART_DELAY_MS);
  }

  /** A worker has ended all that it had in hand; one that has not begun has nothing. */
  private onDrained(index: number): void {
    this.drained.add(index);
    this.checkDrained();
  }

  private checkDrained(): void {
    const isOver = (thread: unknown, index: number) => thread === null || this.drained.has(index);
    if (this.draining && this.threads.every(isOver)) this.listener.onDrained();
  }
}

/** Tells when every worker has taken what was sent to it before: messages are taken in order, so one after them is enough. */
export class WorkerFence {
  private readonly send: (id: number) => void;
  private readonly workers: () => Iterable<number>;
  private readonly waits: Map<number, Wait> = new Map();
  private lastId = 0;

  /**
   * @param send sends the fence to every worker
   * @param workers those that serve now
   */
  constructor(send: (id: number) => void, workers: () => Iterable<number>) {
    this.send = send;
    this.workers = workers;
  }

  /** Resolves when all workers have answered, or are gone, or take too long about it. */
  settled(): Promise<void> {
    const id = ++this.lastId;
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.end(id), PATIENCE_MS);
      this.waits.set(id, { left: new Set(this.workers()), resolve, timer });
      this.send(id);
      this.check(id);
    });
  }

  /** A worker has answered. */
  onFenced(worker: number, id: number): void {
    this.waits.get(id)?.left.delete(worker);
    this.check(id);
  }

  /** A worker is gone; its successor begins with what is there. */
  onDeath(worker: number): void {
    for (const id of [...this.waits.keys()]) this.onFenced(worker, id);
  }

  private check(id: number): void {
    if (this.waits.get(id)?.left.size === 0) this.end(id);
  }

  private end(id: number): void {
    const wait = this.waits.get(id);
    if (wait === undefined) return;
    this.waits.delete(id);
    clearTimeout(wait.timer);
    wait.resolve();
  }
}

interface Wait {
  readonly left: Set<number>;
  readonly resolve: () => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

const PATIENCE_MS = 5000;
