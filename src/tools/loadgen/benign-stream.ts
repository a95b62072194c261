import { Method, methodFromName } from "../../message/request-head.ts";
import { LoadEnding } from "./attack-tier.ts";
import { DueQueue } from "./due-queue.ts";
import { LOAD_REQUEST_LIMIT_MS } from "./limits.ts";
import type { LoadPlan } from "./load-plan.ts";
import { LoadSocket } from "./load-socket.ts";
import { requestBytes } from "./request-bytes.ts";
import { ResponseReader, ResponseState } from "./response-reader.ts";
import type { SampleBatch } from "./sample-batch.ts";

/**
 * Benign requests over kept connections. A request that is due while all connections are busy waits, and its latency
 * counts from the time at which it was due: a server that stalls cannot hold the load up to hide it.
 */
export class BenignStream {
  private readonly requests: readonly SentRequest[];
  private readonly idle: KeptConnection[] = [];
  private readonly all = new Set<KeptConnection>();
  private readonly waiting = new DueQueue();
  private busy = 0;
  private isClosed = false;
  /** Notified of each attempt to connect that has ended. */
  private onAttempt: (() => void) | null = null;

  constructor(
    private readonly plan: LoadPlan,
    private readonly connections: number,
    private readonly samples: SampleBatch,
    private next: number,
  ) {
    this.requests = plan.requests.map((one) => ({
      bytes: requestBytes(plan.target, one),
      method: methodFromName(one.method),
    }));
  }

  /** Requests that are due and have not ended. */
  get unfinished(): number {
    return this.busy + this.waiting.length;
  }

  /** Opens the connections. Resolves when each has been opened or has failed, at the latest after five seconds. */
  open(): Promise<void> {
    return new Promise((resolve) => {
      const limit = setTimeout(resolve, LOAD_REQUEST_LIMIT_MS);
      let left = this.connections;
      this.onAttempt = () => {
        if (--left > 0) return;
        clearTimeout(limit);
        this.onAttempt = null;
        resolve();
      };
      for (let i = 0; i < this.connections; i++) this.connect();
    });
  }

  /** Sends one request, as soon as a connection is free. */
  send(dueMs: number): void {
    this.waiting.push(dueMs);
    this.sendNext();
  }

  /** Gives up what takes too long. To be called several times a second. */
  expire(nowMs: number): void {
    for (const kept of this.all) {
      if (kept.isBusy && nowMs - kept.dueMs > LOAD_REQUEST_LIMIT_MS) this.abandon(kept, LoadEnding.Timeout);
    }
    while (nowMs - this.waiting.oldest > LOAD_REQUEST_LIMIT_MS) {
      this.samples.addBenign(this.waiting.shift(), -1, nowMs, LoadEnding.NotSent);
    }
  }

  /** Ends all connections; what has not ended by then is not counted. */
  close(): void {
    this.isClosed = true;
    for (const kept of this.all) kept.socket.terminate();
    this.all.clear();
  }

  private sendNext(): void {
    while (this.waiting.length > 0 && this.idle.length > 0) {
      // The one that has rested longest: all connections take part, and with them all workers of the server.
      const kept = this.idle.shift()!;
      this.busy++;
      kept.isBusy = true;
      kept.dueMs = this.waiting.shift();
      kept.sentMs = performance.now();
      const request = this.requests[this.next++ % this.requests.length]!;
      kept.reader.begin(request.method);
      kept.socket.send(request.bytes);
    }
  }

  private connect(): void {
    const kept = new KeptConnection();
    this.all.add(kept);
    kept.socket = new LoadSocket(this.plan.target, {
      opened: () => {
        this.idle.push(kept);
        this.sendNext();
        this.onAttempt?.();
      },
      received: (chunk) => this.received(kept, chunk),
      ended: (wasReset) => this.ended(kept, wasReset),
      failed: () => {
        this.all.delete(kept);
        this.replaceLater();
        this.onAttempt?.();
      },
    });
  }

  private received(kept: KeptConnection, chunk: Uint8Array): void {
    // Nothing was requested: an unsolicited response such as 408, or one too many.
    if (!kept.isBusy) return this.drop(kept);
    const state = kept.reader.receive(chunk);
    if (state === ResponseState.Malformed) this.abandon(kept, LoadEnding.Malformed);
    else if (state === ResponseState.Done) this.finish(kept);
  }

  private finish(kept: KeptConnection): void {
    this.count(kept, kept.reader.status);
    if (!kept.reader.keepAlive) return this.drop(kept);
    this.idle.push(kept);
    this.sendNext();
  }

  private ended(kept: KeptConnection, wasReset: boolean): void {
    if (kept.isBusy) {
      const isWhole = !wasReset && kept.reader.receiveEnd() === ResponseState.Done;
      this.count(kept, isWhole ? kept.reader.status : wasReset ? LoadEnding.Reset : LoadEnding.Closed);
    }
    this.drop(kept);
  }

  private abandon(kept: KeptConnection, ending: LoadEnding): void {
    this.count(kept, ending);
    this.drop(kept);
  }

  private count(kept: KeptConnection, outcome: number): void {
    this.busy--;
    kept.isBusy = false;
    this.samples.addBenign(kept.dueMs, kept.sentMs, performance.now(), outcome);
  }

  // Another connection takes its place.
  private drop(kept: KeptConnection): void {
    kept.socket.terminate();
    this.all.delete(kept);
    const at = this.idle.indexOf(kept);
    if (at >= 0) this.idle.splice(at, 1);
    if (!this.isClosed) this.connect();
  }

  private replaceLater(): void {
    setTimeout(() => {
      if (!this.isClosed) this.connect();
    }, RECONNECT_PAUSE_MS);
  }
}

class KeptConnection {
  socket!: LoadSocket;
  isBusy = false;
  dueMs = 0;
  sentMs = 0;
  readonly reader = new ResponseReader(Method.Get);
}

interface SentRequest {
  readonly bytes: Buffer;
  readonly method: Method;
}

const RECONNECT_PAUSE_MS = 100;
