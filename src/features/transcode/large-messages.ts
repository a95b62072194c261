import { FairQueue, type Queued } from "../../core/fair-queue.ts";
import type { CodecDone, CodecJob, CodecRecipe, CodecTask } from "./codec-jobs.ts";
import type { CodecSourceOf } from "./codec-source.ts";
import type { FieldText } from "./request-input.ts";

/** Large messages of a worker that wait for such a thread, and those of one client; more are refused with 503. */
export const MAX_CODEC_JOBS = 1000;
export const MAX_CODEC_JOBS_OF_CLIENT = 250;
/** Threads of a worker for them, and how many of these one client has at once; one connection has one. */
export const MAX_CODEC_THREADS = 6;
export const MAX_CODEC_THREADS_OF_CLIENT = 4;
/** Milliseconds that a large message waits until another thread is started for it. */
export const CODEC_THREAD_WAIT_MS = 100;
/** Milliseconds that one may take while others wait that have no thread, and in any case; then it is refused with 503, and its thread replaced. */
export const CODEC_SHARE_MS = 2000;
export const CODEC_LIMIT_MS = 10_000;
/** Milliseconds that one may take on whose client has left. */
export const CODEC_LEFT_MS = 100;
/** Milliseconds without work after which all of these threads but one are ended. */
export const CODEC_IDLE_MS = 10_000;

/** A thread that does `CodecJobs`. */
export interface CodecThread {
  post(job: CodecJob): void;
  /** Ends it, whatever it does. */
  close(): void;
}

/** What large messages ask of their worker. */
interface CodecThreadPorts {
  /**
   * Begins a thread. What it reports comes in a turn of the event loop of its own.
   * @returns null if none can be had
   */
  start(onDone: (done: CodecDone) => void, onEnd: () => void): CodecThread | null;
  nowMs(): number;
  /** Calls `look` of these now and then, in a turn of its own, until what it returns is called. */
  watch(look: () => void): () => void;
}

/** Whose large messages these are: one for each exchange. */
export interface MessageOwner {
  readonly client: string;
  readonly connection: object;
}

/** What a large message has come to; `busy` where too many wait, it takes too long, or its thread has died. */
type BesideResult = Omit<Extract<CodecDone, { ok: true }>, "id"> | FailedBeside;

/** Why it has come to nothing. */
export interface FailedBeside {
  readonly ok: false;
  readonly fault: "input" | "reply" | "json" | "busy";
  readonly message: string;
}

/** A message that waits for a thread, or has one: its client's, and one of that client's connections'. */
interface Job extends Queued {
  readonly owner: MessageOwner;
  readonly of: CodecSourceOf;
  readonly bytes: Uint8Array;
  readonly task: CodecTask;
  readonly done: (result: BesideResult) => void;
  /** When it came, and then when it got its thread. */
  sinceMs: number;
  hasLeft: boolean;
}

/** A thread. */
interface Slot {
  readonly thread: CodecThread;
  /** The numbers of the codecs that it knows. */
  readonly known: Map<CodecSourceOf, number>;
  job: Job | null;
  idleSinceMs: number;
}

/**
 * Has large messages transcoded in other threads, so that they hold up no other connection. Clients take turns, and so do the connections of each;
 * what takes too long is ended with its thread. A thread is started for the first message, and others where messages wait. docs/transcoder.md#large-messages
 */
export class LargeMessages {
  private readonly ports: CodecThreadPorts;
  private readonly slots: Set<Slot> = new Set();
  private readonly queue: FairQueue<Job> = new FairQueue();
  private readonly jobs: Map<MessageOwner, Set<Job>> = new Map();
  private endWatch: (() => void) | null = null;
  private lastId = 0;
  private isClosed = false;

  constructor(ports: CodecThreadPorts) {
    this.ports = ports;
  }

  /**
   * Makes a message of a JSON text, with what path and query say.
   * @param isOneOfMany whether the text is a message of a stream, not a body
   * @param done is called once, later, unless the owner leaves
   */
  encode(
    owner: MessageOwner,
    of: CodecSourceOf,
    text: Uint8Array,
    { path, query }: { readonly path: readonly FieldText[]; readonly query: readonly FieldText[] },
    isOneOfMany: boolean,
    done: (result: BesideResult) => void,
  ): void {
    this.ask(owner, of, text, { kind: "encode", path, query, isOneOfMany }, done);
  }

  /** Makes JSON of a message. @param done is called once, later, unless the owner leaves */
  decode(owner: MessageOwner, of: CodecSourceOf, message: Uint8Array, done: (result: BesideResult) => void): void {
    this.ask(owner, of, message, { kind: "decode" }, done);
  }

  /**
   * Checks a JSON body and finds the elements of its array.
   * @param done is called once, later, unless the owner leaves, with the places of `elementSpans` or why it is none
   */
  split(
    owner: MessageOwner,
    of: CodecSourceOf,
    body: Uint8Array,
    done: (result: Uint32Array | FailedBeside) => void,
  ): void {
    this.ask(owner, of, body, { kind: "split" }, (result) =>
      done(result.ok ? new Uint32Array(new Uint8Array(result.bytes).buffer) : result),
    );
  }

  /** Nothing of the owner's is wanted any more: what waits is dropped, and what takes on is ended. */
  leave(owner: MessageOwner): void {
    const jobs = this.jobs.get(owner);
    this.jobs.delete(owner);
    for (const job of jobs ?? []) {
      job.hasLeft = true;
      this.queue.remove(job);
    }
  }

  /** Nothing more is asked; the threads end with their last jobs. */
  close(): void {
    this.isClosed = true;
    this.look();
  }

  private ask(
    owner: MessageOwner,
    of: CodecSourceOf,
    bytes: Uint8Array,
    task: CodecTask,
    done: (result: BesideResult) => void,
  ): void {
    const { client, connection } = owner;
    const { queue } = this;
    if (queue.size >= MAX_CODEC_JOBS || queue.countOf(client) >= MAX_CODEC_JOBS_OF_CLIENT)
      return void queueMicrotask(() => done(BUSY));
    const sinceMs = this.ports.nowMs();
    const job = { group: client, member: connection, owner, of, bytes, task, done, sinceMs, hasLeft: false };
    const jobs = this.jobs.get(owner) ?? new Set();
    this.jobs.set(owner, jobs.add(job));
    queue.add(job);
    this.endWatch ??= this.ports.watch(() => this.look());
    this.serve();
  }

  /** Gives waiting messages to threads: the ones that are there, or new ones if all have been at work for a while. */
  private serve(): void {
    for (;;) {
      const idle = [...this.slots].find(({ job }) => job === null) ?? null;
      if (idle === null && !this.mayBegin()) return;
      const job = this.next();
      if (job === null) return;
      const slot = idle ?? this.begin();
      if (slot !== null) this.run(job, slot);
      else if (this.slots.size > 0) return this.queue.add(job);
      else queueMicrotask(() => this.settle(job, BUSY));
    }
  }

  /** The next message that may have a thread: of the clients that have fewest, the one whose turn it is. */
  private next(): Job | null {
    for (let threads = 0; threads < MAX_CODEC_THREADS_OF_CLIENT; threads++) {
      const job = this.queue.take((one) => this.threadsOf(one) === threads);
      if (job !== null) return job;
    }
    return null;
  }

  private run(job: Job, slot: Slot): void {
    const { of, bytes, task } = job;
    slot.job = job;
    job.sinceMs = this.ports.nowMs();
    const known = slot.known.get(of);
    const codec = known ?? slot.known.size;
    if (known === undefined) slot.known.set(of, codec);
    slot.thread.post({ id: ++this.lastId, codec, recipe: known === undefined ? recipeOf(of) : null, bytes, task });
  }

  private mayBegin(): boolean {
    if (this.queue.size === 0 || this.slots.size === MAX_CODEC_THREADS) return false;
    const nowMs = this.ports.nowMs();
    return [...this.slots].every(({ job }) => job !== null && nowMs - job.sinceMs >= CODEC_THREAD_WAIT_MS);
  }

  /** @returns null if no thread can be had */
  private begin(): Slot | null {
    const thread = this.ports.start(
      (one) => this.onDone(slot!, one),
      () => this.onEnd(slot!),
    );
    const slot: Slot | null =
      thread === null ? null : { thread, known: new Map(), job: null, idleSinceMs: this.ports.nowMs() };
    if (slot !== null) this.slots.add(slot);
    return slot;
  }

  /** How many threads a client has; Infinity where the connection has one. */
  private threadsOf({ owner }: Job): number {
    let count = 0;
    for (const { job } of this.slots) {
      if (job?.owner.client !== owner.client) continue;
      if (job.owner.connection === owner.connection) return Number.POSITIVE_INFINITY;
      count++;
    }
    return count;
  }

  private onDone(slot: Slot, one: CodecDone): void {
    const { job } = slot;
    if (job === null || !this.slots.has(slot)) return;
    slot.job = null;
    slot.idleSinceMs = this.ports.nowMs();
    this.settle(job, one);
    this.serve();
    if (this.isClosed) this.look();
  }

  /** A thread has ended by itself. */
  private onEnd(slot: Slot): void {
    if (!this.slots.delete(slot)) return;
    if (slot.job !== null) this.settle(slot.job, BUSY);
    this.serve();
  }

  private settle(job: Job, result: BesideResult): void {
    const jobs = this.jobs.get(job.owner);
    jobs?.delete(job);
    if (jobs?.size === 0) this.jobs.delete(job.owner);
    if (!job.hasLeft) job.done(result);
  }

  /** Ends what takes too long, and threads that are not needed; what waits may get a new one. */
  private look(): void {
    const nowMs = this.ports.nowMs();
    for (const slot of this.slots) {
      const { job } = slot;
      const isOver =
        job === null
          ? this.isClosed || (this.slots.size > 1 && nowMs - slot.idleSinceMs > CODEC_IDLE_MS)
          : nowMs - job.sinceMs > this.limitOf(job);
      if (isOver) this.end(slot);
    }
    this.serve();
    if (this.queue.size > 0 || this.slots.size > 1 || [...this.slots].some(({ job }) => job !== null)) return;
    this.endWatch?.();
    this.endWatch = null;
  }

  private limitOf({ hasLeft }: Job): number {
    if (hasLeft) return CODEC_LEFT_MS;
    return this.queue.size > 0 && this.slots.size >= MAX_CODEC_THREADS ? CODEC_SHARE_MS : CODEC_LIMIT_MS;
  }

  private end(slot: Slot): void {
    this.slots.delete(slot);
    slot.thread.close();
    if (slot.job !== null) this.settle(slot.job, TOO_LONG);
  }
}

function recipeOf({ schema, route }: CodecSourceOf): CodecRecipe {
  const { grpcMethod, pathFields, body, responseBody, httpMethod, json, isAuto } = route;
  return {
    set: schema === null ? null : schema.bytes(),
    route: { grpcMethod, pathFields, body, responseBody, httpMethod, json, isAuto },
  };
}

const TOO_LONG: FailedBeside = { ok: false, fault: "busy", message: "a large message takes too long" };
const BUSY: FailedBeside = { ok: false, fault: "busy", message: "too many large messages" };
