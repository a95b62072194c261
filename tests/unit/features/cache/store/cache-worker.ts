import { LookupKind } from "../../../../../src/features/cache/store/cache-lookup.ts";
import { type CacheBuffers, FillResult } from "../../../../../src/features/cache/store/cache-memory.ts";
import { CacheStore } from "../../../../../src/features/cache/store/cache-store.ts";
import { factsOf, keyOf, readBody } from "./store-fill.ts";

/** A worker thread that uses a cache at random until it is told to stop, and checks every byte that it reads. */
declare const self: Worker;

/** What a thread is told to do. */
export interface CacheOrder {
  readonly buffers: CacheBuffers;
  readonly thread: number;
  readonly seed: number;
  readonly keys: number;
  readonly maxBodyBytes: number;
  /** One Int32: 1 ends the run. */
  readonly stop: SharedArrayBuffer;
}

/** What a thread saw. */
export interface CacheReport {
  readonly hits: number;
  readonly stored: number;
  readonly busy: number;
  /** What was wrong; empty when all is well. */
  readonly wrong: readonly string[];
}

self.onmessage = ({ data: order }: MessageEvent<CacheOrder>) => {
  const stop = new Int32Array(order.stop);
  const run = new RandomUse(order);
  self.postMessage("begun");
  while (Atomics.load(stop, 0) === 0 || !run.hasSeenBoth) for (let i = 0; i < 50; i++) run.step();
  run.end();
  self.postMessage(run.report());
};

/** One thread's random use of the store. */
class RandomUse {
  private readonly order: CacheOrder;
  private readonly store: CacheStore;
  private readonly held: { slot: number; body: string }[] = [];
  private readonly wrong: string[] = [];
  private state: number;
  private hits = 0;
  private stored = 0;
  private busy = 0;

  constructor(order: CacheOrder) {
    this.order = order;
    this.store = new CacheStore(order.buffers, order.thread);
    this.state = order.seed | 1;
  }

  /** Whether it has stored something and found something: a thread that stood still until the end goes on until then. */
  get hasSeenBoth(): boolean {
    return this.hits > 0 && this.stored > 0;
  }

  step(): void {
    const dice = this.random(100);
    const path = this.random(this.order.keys);
    if (dice < 60) this.look(path);
    else if (dice < 90) this.put(path, dice < 65);
    else if (dice < 94) this.store.invalidate(keyOf(this.store, `/${path}`));
    else if (dice < 99 && this.held.length > 0) this.letGo();
    else this.store.tidy();
  }

  end(): void {
    while (this.held.length > 0) this.letGo();
    for (let i = 0; i < 100; i++) this.store.tidy();
  }

  report(): CacheReport {
    return { hits: this.hits, stored: this.stored, busy: this.busy, wrong: this.wrong };
  }

  private look(path: number): void {
    const found = this.store.find(keyOf(this.store, `/${path}`), 1, false);
    if (found.kind === LookupKind.Busy) this.busy++;
    if (found.kind !== LookupKind.Fresh) return;
    this.hits++;
    const slot = found.entry;
    const body = readBody(this.store, slot);
    this.check(path, body);
    if (this.held.length < 20 && this.random(4) === 0) this.held.push({ slot, body });
    else this.store.unpin(slot);
  }

  private put(path: number, givesUp: boolean): void {
    const { store } = this;
    const key = keyOf(store, `/${path}`);
    const fill = store.claim(key);
    if (fill < 0) return;
    const body = bodyOf(path, this.random(this.order.maxBodyBytes));
    const bytes = Buffer.from(body, "latin1");
    if (givesUp || !store.reserve(fill, key, 0, bytes.length)) {
      store.abandon(fill, FillResult.GivenUp);
      return;
    }
    const cut = this.random(bytes.length);
    store.write(fill, 0, bytes, 0, cut);
    store.write(fill, cut, bytes, cut, bytes.length);
    if (store.commit(fill, factsOf(1, 1000))) this.stored++;
    this.check(path, readBody(store, fill));
    store.unpin(fill);
  }

  private letGo(): void {
    const { slot, body } = this.held.splice(this.random(this.held.length), 1)[0]!;
    if (readBody(this.store, slot) !== body) this.note("an entry changed while it was pinned");
    this.store.unpin(slot);
  }

  private check(path: number, body: string): void {
    if (body !== bodyOf(path, body.length - bodyOf(path, 0).length)) this.note(`/${path} gave ${body.slice(0, 40)}`);
  }

  private note(text: string): void {
    if (this.wrong.length < 5) this.wrong.push(text);
  }

  private random(below: number): number {
    this.state ^= this.state << 13;
    this.state ^= this.state >>> 17;
    this.state ^= this.state << 5;
    return (this.state >>> 0) % below;
  }
}

/** A body that says which path it belongs to, in every part of it. */
function bodyOf(path: number, size: number): string {
  const start = `<${path}>`;
  return start + start.repeat(Math.ceil(size / start.length)).slice(0, size);
}
