/** Counts of a lane, by worker. */
export const enum SlotCount {
  /** Responses in time, and how long they took together. */
  Samples = 0,
  SumMs,
  /** Requests that had no response in time. */
  Timeouts,
}

/** Counts of the queue, by worker. */
export const enum QueueCount {
  Waited = 0,
  /** Refused, since the queue was full. */
  Full,
  /** Refused, since they had waited for too long. */
  Late,
}

/**
 * Slots that all workers share, in one or several lanes with a limit each, and the places of a queue for them. Each worker keeps the slots that it
 * has taken itself, so that a worker that dies gives all back.
 *
 *     lanes, workers, patience (ms), queued | limit, taken a lane | a worker: waits, queued, most, owed, taken a lane
 *     | Float64: a worker: counts of the queue, counts a lane
 *
 * `most` is how many requests of one client wait in a worker, `owed` how many places others have taken from it: the requests there are refused a
 * moment later. `queued` has the places of a worker, without those that it owes.
 */
export class SlotTable {
  readonly lanes: number;
  readonly workers: number;
  private readonly words: Int32Array;
  private readonly counts: Float64Array;
  private readonly perWorker: number;
  private readonly countsPerWorker: number;

  /** @param buffer from `createSlotTable` */
  constructor(buffer: SharedArrayBuffer) {
    const [lanes = 0, workers = 0] = new Int32Array(buffer, 0, 2);
    this.lanes = lanes;
    this.workers = workers;
    this.words = new Int32Array(buffer, 0, wordsOf(lanes, workers));
    this.counts = new Float64Array(buffer, wordsOf(lanes, workers) * 4);
    this.perWorker = LANES_FROM + lanes;
    this.countsPerWorker = QUEUE_COUNTS + lanes * SLOT_COUNTS;
  }

  limitOf(lane: number): number {
    return Atomics.load(this.words, this.laneAt(lane));
  }

  takenOf(lane: number): number {
    return Atomics.load(this.words, this.laneAt(lane) + 1);
  }

  /** @param limit at least 1 */
  setLimit(lane: number, limit: number): void {
    Atomics.store(this.words, this.laneAt(lane), limit);
  }

  /** How long a request of a queue that stands may wait, in milliseconds; 0 for as long as the settings say. */
  get patienceMs(): number {
    return Atomics.load(this.words, PATIENCE);
  }

  set patienceMs(ms: number) {
    Atomics.store(this.words, PATIENCE, ms);
  }

  hasRoom(lane: number): boolean {
    return this.takenOf(lane) < this.limitOf(lane);
  }

  /** Takes a slot. @returns false if all of the lane are taken */
  take(lane: number, worker: number): boolean {
    const { words } = this;
    const at = this.laneAt(lane);
    for (;;) {
      const taken = Atomics.load(words, at + 1);
      if (taken >= Atomics.load(words, at)) return false;
      if (Atomics.compareExchange(words, at + 1, taken, taken + 1) === taken) break;
    }
    Atomics.add(words, this.workerAt(worker) + LANES_FROM + lane, 1);
    return true;
  }

  give(lane: number, worker: number): void {
    Atomics.sub(this.words, this.workerAt(worker) + LANES_FROM + lane, 1);
    Atomics.sub(this.words, this.laneAt(lane) + 1, 1);
  }

  /** Requests that wait, in all workers. */
  get queued(): number {
    return Math.max(0, Atomics.load(this.words, QUEUED));
  }

  /** Takes a place of the queue. @returns false if there is none */
  enterQueue(worker: number, places: number): boolean {
    const { words } = this;
    for (;;) {
      const queued = Atomics.load(words, QUEUED);
      if (queued >= places) return false;
      if (Atomics.compareExchange(words, QUEUED, queued, queued + 1) === queued) break;
    }
    Atomics.add(words, this.workerAt(worker) + PLACES, 1);
    return true;
  }

  leaveQueue(worker: number): void {
    Atomics.sub(this.words, this.workerAt(worker) + PLACES, 1);
    Atomics.sub(this.words, QUEUED, 1);
  }

  /** Tells the other workers how many requests of one client wait in this one, at most. */
  setMost(worker: number, count: number): void {
    Atomics.store(this.words, this.workerAt(worker) + MOST, count);
  }

  /** The other worker with the most requests of one client in the queue, and their number, without places that it owes. */
  mostOfOthers(worker: number): { readonly worker: number; readonly count: number } {
    let found = { worker: -1, count: 0 };
    for (let other = 0; other < this.workers; other++) {
      if (other === worker) continue;
      const at = this.workerAt(other);
      const count = Atomics.load(this.words, at + MOST) - Atomics.load(this.words, at + OWED);
      if (count > found.count) found = { worker: other, count };
    }
    return found;
  }

  /**
   * Moves a place of the queue from a worker, which refuses a request for it, to another one.
   * @param count of `mostOfOthers`
   * @returns false if a third worker was faster, so that the count has changed
   */
  takePlace(from: number, to: number, count: number): boolean {
    const { words } = this;
    const at = this.workerAt(from);
    const owed = Atomics.load(words, at + MOST) - count;
    if (Atomics.compareExchange(words, at + OWED, owed, owed + 1) !== owed) return false;
    Atomics.sub(words, at + PLACES, 1);
    Atomics.add(words, this.workerAt(to) + PLACES, 1);
    this.wake(from);
    return true;
  }

  /** How many places others have taken from a worker that it has not paid for yet. */
  owed(worker: number): number {
    return Atomics.load(this.words, this.workerAt(worker) + OWED);
  }

  /** A worker has refused a request for a place that others have taken, or keeps the place: `restorePlace`. */
  paid(worker: number): void {
    Atomics.sub(this.words, this.workerAt(worker) + OWED, 1);
  }

  /** A place that others have taken from a worker stays there: nothing waited in it any more. */
  restorePlace(worker: number): void {
    Atomics.add(this.words, this.workerAt(worker) + PLACES, 1);
    Atomics.add(this.words, QUEUED, 1);
  }

  /** Calls back once another worker has left a slot to this one, or after a while. */
  listen(worker: number, onSlot: () => void): void {
    const at = this.workerAt(worker);
    Atomics.store(this.words, at, 1);
    const wait = Atomics.waitAsync(this.words, at, 1, LONGEST_WAIT_MS);
    if (wait.async) void wait.value.then(onSlot);
    else queueMicrotask(onSlot);
  }

  /** Nothing waits in this worker any more. */
  rest(worker: number): void {
    const at = this.workerAt(worker);
    if (Atomics.exchange(this.words, at, 0) === 1) Atomics.notify(this.words, at);
  }

  /** Leaves a slot to another worker that waits for one, the next in turn. @returns whether there is one */
  wakeOther(worker: number): boolean {
    for (let i = 1; i < this.workers; i++) if (this.wake((worker + i) % this.workers)) return true;
    return false;
  }

  /** Lets all workers look whether there are slots. */
  wakeAll(): void {
    for (let worker = 0; worker < this.workers; worker++) this.wake(worker);
  }

  private wake(worker: number): boolean {
    const at = this.workerAt(worker);
    if (Atomics.compareExchange(this.words, at, 1, 0) !== 1) return false;
    Atomics.notify(this.words, at);
    return true;
  }

  /** A worker has ended: its slots are free. */
  freeOf(worker: number): void {
    const { words } = this;
    const at = this.workerAt(worker);
    Atomics.store(words, at, 0);
    Atomics.store(words, at + MOST, 0);
    Atomics.store(words, at + OWED, 0);
    Atomics.sub(words, QUEUED, Atomics.exchange(words, at + PLACES, 0));
    for (let lane = 0; lane < this.lanes; lane++)
      Atomics.sub(words, this.laneAt(lane) + 1, Atomics.exchange(words, at + LANES_FROM + lane, 0));
    this.wakeAll();
  }

  /** Only by this worker. */
  count(worker: number, lane: number, what: SlotCount, by: number): void {
    this.counts[this.countAt(worker, lane) + what]! += by;
  }

  sum(lane: number, what: SlotCount): number {
    let sum = 0;
    for (let worker = 0; worker < this.workers; worker++) sum += this.counts[this.countAt(worker, lane) + what]!;
    return sum;
  }

  /** Only by this worker. */
  countQueue(worker: number, what: QueueCount): void {
    this.counts[worker * this.countsPerWorker + what]!++;
  }

  sumOfQueue(what: QueueCount): number {
    let sum = 0;
    for (let worker = 0; worker < this.workers; worker++) sum += this.counts[worker * this.countsPerWorker + what]!;
    return sum;
  }

  private laneAt(lane: number): number {
    return HEADER + 2 * lane;
  }

  private workerAt(worker: number): number {
    return HEADER + 2 * this.lanes + worker * this.perWorker;
  }

  private countAt(worker: number, lane: number): number {
    return worker * this.countsPerWorker + QUEUE_COUNTS + lane * SLOT_COUNTS;
  }
}

/** Makes one; each limit is 1 until it is set. */
export function createSlotTable(lanes: number, workers: number): SharedArrayBuffer {
  const counts = workers * (QUEUE_COUNTS + lanes * SLOT_COUNTS);
  const buffer = new SharedArrayBuffer(wordsOf(lanes, workers) * 4 + counts * 8);
  new Int32Array(buffer, 0, 2).set([lanes, workers]);
  const table = new SlotTable(buffer);
  for (let lane = 0; lane < lanes; lane++) table.setLimit(lane, 1);
  return buffer;
}

/** An even number, so that what follows is aligned. */
function wordsOf(lanes: number, workers: number): number {
  const words = HEADER + 2 * lanes + workers * (LANES_FROM + lanes);
  return words + (words & 1);
}

const HEADER = 4;
const PATIENCE = 2;
const QUEUED = 3;
/** Of a worker, after whether it waits. */
const PLACES = 1;
const MOST = 2;
const OWED = 3;
const LANES_FROM = 4;
const QUEUE_COUNTS = 3;
const SLOT_COUNTS = 3;
/** How long a worker waits to be woken at most: another that has ended wakes none. */
const LONGEST_WAIT_MS = 1000;
