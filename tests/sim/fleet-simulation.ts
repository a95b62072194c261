import { ASK, FleetBuckets, type FleetKey, FleetRate } from "../../src/features/limit/fleet-buckets.ts";
import { SeededRandom } from "../harness/seeded-random.ts";
import { ModelledStore } from "./modelled-store.ts";
import { VirtualTime } from "./virtual-time.ts";

/** A fleet, its limit, and who comes to it. */
export interface FleetScene {
  readonly nodes: number;
  readonly workers: number;
  /** Of each key. */
  readonly limitPerS: number;
  readonly burst: number;
  readonly offeredPerS: number;
  readonly seconds: number;
  /** Counted from here on, when what came with the start is over. */
  readonly warmUpS: number;
  /** Which worker of the fleet the next request comes to, and with which key. */
  readonly next: (random: SeededRandom) => { readonly worker: number; readonly key: number };
  readonly roundTripMs?: number;
  readonly timeoutMs?: number;
  /** What happens meanwhile, by the millisecond. */
  readonly events?: ReadonlyMap<number, (store: ModelledStore, tell: (isUp: boolean) => void) => void>;
}

/** What came of it, after the warm-up. */
export interface FleetOutcome {
  readonly offered: number;
  readonly admitted: number;
  readonly refused: number;
  /** Requests that waited for the store, and those that a gateway's own buckets decided. */
  readonly waited: number;
  readonly alone: number;
  readonly callsPerS: number;
  readonly busiestSecond: number;
  readonly longestQueueMs: number;
  /** What each key was given, by its number. */
  readonly admittedOf: ReadonlyMap<number, number>;
}

/** The workers' own code (`FleetBuckets`) in virtual time, with a modelled store. */
export function simulateFleet(scene: FleetScene): FleetOutcome {
  return new FleetSimulation(scene).run();
}

class FleetSimulation {
  private readonly scene: FleetScene;
  private readonly time: VirtualTime = new VirtualTime();
  private readonly store: ModelledStore;
  private readonly workers: FleetBuckets[];
  private readonly rate: FleetRate;
  private readonly keys: Map<number, FleetKey> = new Map();
  private readonly alone: LocalBucket[] = [];
  private readonly random: SeededRandom = new SeededRandom(1);
  private readonly counts = { offered: 0, admitted: 0, refused: 0, waited: 0, alone: 0 };
  private readonly admittedOf: Map<number, number> = new Map();

  constructor(scene: FleetScene) {
    const { nodes, workers, limitPerS, burst, roundTripMs = 1 } = scene;
    this.scene = scene;
    this.store = new ModelledStore(this.time, { roundTripMs, callsPerMs: STORE_CALLS_PER_MS });
    this.rate = new FleetRate(limitPerS, 1000, burst);
    this.workers = Array.from({ length: nodes * workers }, () => this.makeWorker());
    this.tell(true);
  }

  run(): FleetOutcome {
    const { seconds, warmUpS, offeredPerS, events = new Map() } = this.scene;
    const { time, store } = this;
    let callsBefore = 0;
    time.at(warmUpS * 1000, () => {
      Object.assign(this.counts, { offered: 0, admitted: 0, refused: 0, waited: 0, alone: 0 });
      this.admittedOf.clear();
      callsBefore = store.calls;
    });
    for (const [atMs, happen] of events) time.at(atMs, () => happen(store, (isUp: boolean) => this.tell(isUp)));
    for (let i = 0; i < offeredPerS * seconds; i++) {
      time.runTo((i * 1000) / offeredPerS);
      this.arrive();
    }
    const { busiestSecond, longestQueueMs, calls } = store;
    const callsPerS = (calls - callsBefore) / (seconds - warmUpS);
    return { ...this.counts, callsPerS, busiestSecond, longestQueueMs, admittedOf: this.admittedOf };
  }

  private makeWorker(): FleetBuckets {
    const { time, store } = this;
    return new FleetBuckets({
      nowMs: () => time.nowMs,
      later: (work, afterMs) => time.at(time.nowMs + afterMs, work),
      ask: (calls, answer) => store.ask(calls, answer),
      count: (what) => this.counts[what === "wait" ? "waited" : "alone"]++,
    });
  }

  private tell(isUp: boolean): void {
    const { nodes, workers, timeoutMs = 200 } = this.scene;
    for (const worker of this.workers) worker.use(isUp, nodes, workers, timeoutMs);
  }

  private arrive(): void {
    const { worker: index, key: number } = this.scene.next(this.random);
    const worker = this.workers[index]!;
    this.counts.offered++;
    if (!worker.isUp) return this.decideAlone(index, number);
    const key = this.keyOf(number);
    const waitMs = worker.take(key, this.rate, this.time.nowMs);
    if (waitMs !== ASK) return this.note(number, waitMs === 0);
    const decided = (afterMs: number): void => {
      if (afterMs === ASK) this.decideAlone(index, number);
      else this.note(number, afterMs === 0);
    };
    if (!worker.wait(key, decided)) this.decideAlone(index, number);
  }

  private decideAlone(index: number, key: number): void {
    const { nodes, workers, limitPerS, burst } = this.scene;
    const worker = this.workers[index]!;
    worker.countAlone();
    const node = Math.floor(index / workers);
    this.alone[node] ??= new LocalBucket(limitPerS / nodes / 1000, Math.max(1, Math.floor(burst / nodes)));
    const isIn = this.alone[node].take(key, this.time.nowMs);
    if (isIn && worker.isUp) worker.letIn(this.keyOf(key));
    this.note(key, isIn);
  }

  private note(key: number, isIn: boolean): void {
    if (!isIn) {
      this.counts.refused++;
      return;
    }
    this.counts.admitted++;
    this.admittedOf.set(key, (this.admittedOf.get(key) ?? 0) + 1);
  }

  private keyOf(number: number): FleetKey {
    let key = this.keys.get(number);
    if (key === undefined) {
      key = this.workers[0]!.keyFor("simulated");
      key.text = `k${number}`;
      this.keys.set(number, key);
    }
    return key;
  }
}

/** The buckets that a gateway has of its own. */
class LocalBucket {
  private readonly fullAtMs: Map<number, number> = new Map();
  private readonly perMs: number;
  private readonly burst: number;

  constructor(perMs: number, burst: number) {
    this.perMs = perMs;
    this.burst = burst;
  }

  take(key: number, nowMs: number): boolean {
    const full = Math.max(this.fullAtMs.get(key) ?? 0, nowMs) + 1 / this.perMs;
    if (full - nowMs > this.burst / this.perMs + 1e-9) return false;
    this.fullAtMs.set(key, full);
    return true;
  }
}

/** What one Redis answers in a millisecond: docs/scale.md#the-store says how that was measured. */
const STORE_CALLS_PER_MS = 60;
