import { FairQueue, type Queued } from "../../core/fair-queue.ts";
import { Fault } from "../../core/fault.ts";
import { subscriberOf } from "../../core/ip-address.ts";
import { TimerNode, type TimerOwner, type TimerWheel } from "../../core/timer-wheel.ts";
import { createSlotTable, QueueCount, SlotCount, SlotTable } from "../../memory/slot-table.ts";
import { CacheResult } from "../../message/cache-result.ts";
import { countedAddress } from "../../message/client-peer.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { Held, NowMs } from "../../message/ports.ts";
import type { SlotGate } from "../../message/slot-gate.ts";
import { servedMs } from "../../message/took-ms.ts";
import { MAX_LIMIT } from "./adaptive-limit.ts";
import { MAX_QUEUE } from "./settings.ts";

/** The queue of a gate. */
export interface QueueBounds {
  readonly queue: number;
  readonly queueTimeoutMs: number;
}

/** What gates need of their worker. */
export interface GatePorts {
  readonly worker: number;
  readonly turn: NowMs;
  readonly wheel: TimerWheel;
  inTurn(work: () => void): void;
}

/** Whom the gate lets in or refuses; each once, in a turn. */
interface GateWaiter {
  onSlot(lane: number): void;
  onRefused(): void;
}

/** How long a worker that has left a slot to another one takes none itself. */
const YIELD_MS = 2;
/** How often a request looks for a place of another worker, if others are faster. */
const MAX_TAKES = 4;
/** A queue that has not been empty for so long stands: it takes no bursts, it only makes everyone late. */
const STANDING_MS = 100;
/** It stands on until no request has waited for too long in so long a time: short waits empty it, and that is no end of the rush. */
const STANDS_ON_MS = 1000;

/**
 * The slots of a route, or of its targets, as one worker sees them, and what waits here for one: clients take turns. It outlives configurations.
 * docs/pressure.md#concurrency
 */
export class Gate implements SlotGate {
  private readonly ports: GatePorts;
  private bounds: QueueBounds;
  private table: SlotTable;
  private readonly queue: FairQueue<Waiter> = new FairQueue();
  private isUsable: (lane: number) => boolean = () => true;
  private nextLane = 0;
  private emptyAtMs: number;
  private standsUntilMs = 0;
  private yieldsUntilMs = 0;
  /** Whether the next slot that becomes free here stays here. */
  private keepsNext = false;
  private isListening = false;
  private isServing = false;

  constructor(lanes: number, bounds: QueueBounds, ports: GatePorts) {
    this.ports = ports;
    this.bounds = bounds;
    // Until the control thread gives it the shared ones.
    this.table = new SlotTable(createSlotTable(lanes, ports.worker + 1));
    for (let lane = 0; lane < lanes; lane++) this.table.setLimit(lane, MAX_LIMIT);
    this.emptyAtMs = ports.turn.nowMs;
  }

  /** Takes the slots that all workers share. */
  share(buffer: SharedArrayBuffer): void {
    this.table = new SlotTable(buffer);
  }

  useBounds(bounds: QueueBounds): void {
    this.bounds = bounds;
  }

  useLanes(isUsable: (lane: number) => boolean): void {
    this.isUsable = isUsable;
  }

  hasRoom(lane: number): boolean {
    return this.table.hasRoom(lane);
  }

  /** Takes a slot. @returns its lane; -1 if there is none, or others come first */
  enter(): number {
    return this.queue.size > 0 || this.ports.turn.nowMs < this.yieldsUntilMs ? -1 : this.takeAny();
  }

  /** Any lane to which requests may go; without such a lane any at all, as the balancer has it. */
  private takeAny(): number {
    const { table, ports } = this;
    const { lanes } = table;
    for (const mayBeOut of lanes === 1 ? [true] : [false, true]) {
      let isAnyUsable = false;
      for (let i = 0; i < lanes; i++) {
        const lane = (this.nextLane + i) % lanes;
        if (!mayBeOut && !this.isUsable(lane)) continue;
        isAnyUsable = true;
        if (!table.take(lane, ports.worker)) continue;
        this.nextLane = (lane + 1) % lanes;
        return lane;
      }
      if (isAnyUsable) return -1;
    }
    return -1;
  }

  /**
   * Waits for a slot, if the queue has room. A queue that is full makes room for a client that has less in it: the client that has
   * most there, in whatever worker, loses its newest.
   * @returns null if there is no room
   */
  wait(ex: Exchange, who: GateWaiter): Held | null {
    const { table, ports, queue } = this;
    const group = subscriberOf(countedAddress(ex));
    if (!table.enterQueue(ports.worker, Math.min(this.bounds.queue, MAX_QUEUE)) && !this.makeRoom(group)) {
      table.countQueue(ports.worker, QueueCount.Full);
      return null;
    }
    if (queue.size === 0) this.emptyAtMs = ports.turn.nowMs;
    const waiter = new Waiter(this, group, ex.client, who, ports.turn.nowMs);
    queue.add(waiter);
    table.setMost(ports.worker, queue.longest);
    table.countQueue(ports.worker, QueueCount.Waited);
    ports.wheel.arm(waiter.timer, ports.turn.nowMs + this.bounds.queueTimeoutMs);
    this.listen();
    return waiter;
  }

  private makeRoom(group: string): boolean {
    const { queue, table, ports } = this;
    for (let tries = 0; tries < MAX_TAKES; tries++) {
      // What others have taken is no room to make here.
      this.payOwed();
      const enough = queue.countOf(group) + 1;
      const other = table.mostOfOthers(ports.worker);
      if (Math.max(queue.longest, other.count) <= enough) return false;
      if (other.count <= queue.longest) {
        this.takeNewest().who.onRefused();
        return true;
      }
      if (table.takePlace(other.worker, ports.worker, other.count)) return true;
    }
    return false;
  }

  /** Takes the newest request of the client that has most here, to be refused; its place goes to another request. */
  private takeNewest(): Waiter {
    const { queue, table, ports } = this;
    const last = queue.takeNewestOfMost()!;
    ports.wheel.remove(last.timer);
    table.setMost(ports.worker, queue.longest);
    table.countQueue(ports.worker, QueueCount.Full);
    return last;
  }

  /** Other workers have taken places of this one for clients that have less in the queue. */
  private payOwed(): void {
    const { queue, table, ports } = this;
    while (table.owed(ports.worker) > 0) {
      const refused = queue.longest > 1 ? this.takeNewest() : null;
      if (refused === null) table.restorePlace(ports.worker);
      // Before the refusal, which may bring the client's next request here.
      table.paid(ports.worker);
      refused?.who.onRefused();
    }
  }

  /** It waits no longer. */
  leaveQueue(waiter: Waiter): void {
    if (this.queue.remove(waiter)) this.forget(waiter);
    if (this.queue.size === 0) this.table.rest(this.ports.worker);
  }

  /** It has waited for too long. */
  late(waiter: Waiter): void {
    if (!this.queue.remove(waiter)) return;
    this.forget(waiter);
    this.table.countQueue(this.ports.worker, QueueCount.Late);
    waiter.who.onRefused();
  }

  private forget(waiter: Waiter): void {
    this.ports.wheel.remove(waiter.timer);
    this.table.setMost(this.ports.worker, this.queue.longest);
    this.table.leaveQueue(this.ports.worker);
  }

  /** Lets in what waits, while there are slots. */
  serve(): void {
    if (this.isServing) return;
    this.isServing = true;
    try {
      this.payOwed();
      while (this.queue.size > 0) {
        const lane = this.takeAny();
        if (lane < 0) break;
        const waiter = this.next();
        if (waiter === null) {
          this.table.give(lane, this.ports.worker);
          break;
        }
        waiter.who.onSlot(lane);
      }
    } finally {
      this.isServing = false;
    }
    if (this.queue.size > 0) this.listen();
    else this.table.rest(this.ports.worker);
  }

  /** Who comes next; who has waited in a standing queue for longer than is of use is refused. */
  private next(): Waiter | null {
    const { nowMs } = this.ports.turn;
    for (;;) {
      const waiter = this.queue.take(() => true);
      if (waiter === null) return null;
      this.forget(waiter);
      const { patienceMs } = this.table;
      const stands = nowMs < this.standsUntilMs || nowMs - this.emptyAtMs > STANDING_MS;
      if (patienceMs === 0 || !stands || nowMs - waiter.sinceMs <= patienceMs) return waiter;
      this.standsUntilMs = nowMs + STANDS_ON_MS;
      this.table.countQueue(this.ports.worker, QueueCount.Late);
      waiter.who.onRefused();
    }
  }

  private listen(): void {
    if (this.isListening) return;
    this.isListening = true;
    this.table.listen(this.ports.worker, () => {
      this.isListening = false;
      this.ports.inTurn(() => this.serve());
    });
  }

  /** Called every TICK_MS: it finds a slot that was left to a worker which is gone, and places that others have taken. */
  tick(): void {
    this.serve();
  }

  moveTo(ex: Exchange, lane: number): boolean {
    const { admission } = ex;
    const own = admission instanceof Admission ? admission.at(this) : null;
    if (own === null) return this.table.take(lane, this.ports.worker);
    if (own.lane === lane) return true;
    if (!this.table.take(lane, this.ports.worker)) return false;
    this.give(own.lane);
    own.lane = lane;
    return true;
  }

  leave(ex: Exchange, lane: number): void {
    const { admission } = ex;
    if (!(admission instanceof Admission) || admission.at(this) === null) this.give(lane);
  }

  /** A slot is free: it goes to what waits, in this worker and the others in turn. */
  give(lane: number): void {
    const { table, ports, queue } = this;
    table.give(lane, ports.worker);
    const isWanted = queue.size > 0;
    if (isWanted && this.keepsNext) this.keepsNext = false;
    else if (table.wakeOther(ports.worker)) {
      this.yieldsUntilMs = ports.turn.nowMs + YIELD_MS;
      this.keepsNext = true;
      return;
    }
    // The next exchange goes on when this one has ended for good.
    if (isWanted) queueMicrotask(() => ports.inTurn(() => this.serve()));
  }

  /** Counts how an exchange with a slot has ended. */
  note(lane: number, ex: Exchange, enteredMs: number): void {
    const { table, ports } = this;
    const { fault, response } = ex;
    if (fault === Fault.UpstreamTimeout || fault === Fault.FunctionTimeout) {
      table.count(ports.worker, lane, SlotCount.Timeouts, 1);
      return;
    }
    // A server that fails at once is not fast, nor is one that a client makes refuse its requests.
    if (response.status < 200 && response.status !== 101) return;
    if (response.status >= 400 || fault !== Fault.None) return;
    const tookMs = serverMs(ex, enteredMs);
    if (!(tookMs >= 0)) return;
    table.count(ports.worker, lane, SlotCount.Samples, 1);
    table.count(ports.worker, lane, SlotCount.SumMs, tookMs);
  }
}

/** How long the server took that is behind the route; 0 if none is, and -1 if that is not known. */
function serverMs(ex: Exchange, enteredMs: number): number {
  const { attempt } = ex;
  if (attempt.sent > 0) return servedMs(ex, attempt.beganMs, attempt.beganMs + attempt.times[attempt.count - 1]!);
  if (attempt.upstreamMs >= 0) return servedMs(ex, enteredMs, enteredMs + attempt.upstreamMs);
  return ex.cacheResult === CacheResult.None ? 0 : -1;
}

class Waiter implements Queued, TimerOwner, Held {
  readonly group: string;
  readonly member: unknown;
  readonly who: GateWaiter;
  readonly sinceMs: number;
  readonly timer: TimerNode = new TimerNode(this);
  private readonly gate: Gate;

  constructor(gate: Gate, group: string, member: unknown, who: GateWaiter, sinceMs: number) {
    this.gate = gate;
    this.group = group;
    this.member = member;
    this.who = who;
    this.sinceMs = sinceMs;
  }

  onTimer(): void {
    this.gate.late(this);
  }

  release(): void {
    this.gate.leaveQueue(this);
  }
}

/** The slots that an exchange has, to its end. */
export class Admission implements Held {
  private readonly places: Place[] = [];
  private readonly ex: Exchange;

  constructor(ex: Exchange) {
    this.ex = ex;
  }

  add(gate: Gate, lane: number, enteredMs: number): void {
    this.places.push({ gate, lane, enteredMs });
  }

  at(gate: Gate): { lane: number } | null {
    return this.places.find((place) => place.gate === gate) ?? null;
  }

  /** The exchange is over. */
  release(): void {
    for (const { gate, lane, enteredMs } of this.places.splice(0)) {
      gate.note(lane, this.ex, enteredMs);
      gate.give(lane);
    }
  }
}

interface Place {
  readonly gate: Gate;
  lane: number;
  readonly enteredMs: number;
}
