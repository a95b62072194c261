import { Method } from "../../message/request-head.ts";
import type { Attack } from "./attack-catalogue.ts";
import { LoadEnding } from "./attack-tier.ts";
import { DueQueue } from "./due-queue.ts";
import { LOAD_REQUEST_LIMIT_MS } from "./limits.ts";
import { LoadSocket } from "./load-socket.ts";
import type { LoadTarget } from "./load-target.ts";
import { ResponseReader, ResponseState } from "./response-reader.ts";
import type { SampleBatch } from "./sample-batch.ts";

/** Connections of the adversarial stream that one thread holds open at once; more attacks wait for their turn. */
const MAX_OPEN_ATTACKS = 1000;

/** Hostile requests, each on a connection of its own, one after the other of the catalogue. */
export class AttackStream {
  private readonly open = new Set<Probe>();
  private readonly waiting = new DueQueue();
  private unanswered = 0;
  private next: number;

  constructor(
    private readonly target: LoadTarget,
    private readonly attacks: readonly Attack[],
    first: number,
    private readonly samples: SampleBatch,
  ) {
    this.next = first;
  }

  /** Attacks that are due and have not ended. */
  get unfinished(): number {
    return this.unanswered + this.waiting.length;
  }

  /** Sends the next attack, as soon as there is room for its connection. */
  send(dueMs: number): void {
    this.waiting.push(dueMs);
    this.sendNext();
  }

  /** Gives up what takes too long. To be called several times a second. */
  expire(nowMs: number): void {
    for (const probe of this.open) {
      if (nowMs - probe.dueMs <= LOAD_REQUEST_LIMIT_MS) break;
      if (probe.isOpen) this.finish(probe, LoadEnding.Timeout);
      else this.count(probe, LoadEnding.ConnectFailed);
    }
    while (nowMs - this.waiting.oldest > LOAD_REQUEST_LIMIT_MS) {
      this.samples.addAttack(this.takeTurn(), this.waiting.shift(), -1, nowMs, LoadEnding.NotSent);
    }
  }

  /** Ends all connections; what has not ended by then is not counted. */
  close(): void {
    for (const probe of this.open) probe.socket.terminate();
    this.open.clear();
  }

  private takeTurn(): number {
    return this.next++ % this.attacks.length;
  }

  private sendNext(): void {
    while (this.waiting.length > 0 && this.open.size < MAX_OPEN_ATTACKS) this.launch(this.waiting.shift());
  }

  private launch(dueMs: number): void {
    const probe = new Probe(this.takeTurn(), dueMs);
    this.open.add(probe);
    this.unanswered++;
    probe.socket = new LoadSocket(this.target, {
      opened: () => {
        probe.isOpen = true;
        if (probe.isCounted) return this.finish(probe, LoadEnding.ConnectFailed);
        probe.reader.begin();
        probe.socket.send(this.attacks[probe.attack]!.bytes);
      },
      received: (chunk) => {
        const state = probe.reader.receive(chunk);
        // Its status classifies a response, whatever becomes of the body.
        if (probe.reader.status > 0) this.finish(probe, probe.reader.status);
        else if (state === ResponseState.Malformed) this.finish(probe, LoadEnding.Malformed);
      },
      ended: (wasReset) => this.finish(probe, wasReset ? LoadEnding.Reset : LoadEnding.Closed),
      failed: () => this.finish(probe, LoadEnding.ConnectFailed),
    });
  }

  private finish(probe: Probe, outcome: number): void {
    this.count(probe, outcome);
    probe.socket.terminate();
    this.open.delete(probe);
    this.sendNext();
  }

  // An attempt to connect cannot be taken back: until it has ended, it holds its place.
  private count(probe: Probe, outcome: number): void {
    if (probe.isCounted) return;
    probe.isCounted = true;
    this.unanswered--;
    this.samples.addAttack(probe.attack, probe.dueMs, probe.sentMs, performance.now(), outcome);
  }
}

class Probe {
  socket!: LoadSocket;
  isOpen = false;
  isCounted = false;
  readonly sentMs = performance.now();
  // The body of a response is not waited for, so the method does not matter.
  readonly reader = new ResponseReader(Method.Get);

  constructor(
    readonly attack: number,
    readonly dueMs: number,
  ) {}
}
