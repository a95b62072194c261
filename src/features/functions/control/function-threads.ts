import type { EventWriter } from "../../../core/event-row.ts";
import type { Takers } from "../../../core/message-takers.ts";
import type { Metric } from "../../../core/metric-row.ts";
import { shorterInTests } from "../../../core/shorter-in-tests.ts";
import { residentBytes } from "../../../memory/process-memory.ts";
import { UNKNOWN_THREAD } from "../../../memory/thread-id.ts";
import { descriptorLimit } from "../../../net/descriptor-watch.ts";
import { stepBack, stepCollectorsBack } from "../../../net/thread-turns.ts";
import { type Taken, takenBy } from "../../../net/thread-usage.ts";
import { startThread, ThreadEnds } from "../../../net/threads.ts";
import type { RuntimeConfig } from "../../../routes/runtime-config.ts";
import type { LogLevel, LogThreshold } from "../../telemetry/log-level.ts";
import { eventOfLine, type FUNCTION_EVENTS } from "../events.ts";
import { createFileCells } from "../file-cells.ts";
import type { OverdueCall } from "../function-link.ts";
import type { FunctionNewsMessage, FunctionWordMessage } from "../function-messages.ts";
import { createQueueCells, freeQueueOf } from "../queue-places.ts";
import { isFromFunction } from "../said.ts";
import type { FunctionsConfig } from "../settings.ts";
import { freePlacesOf } from "../thread-places.ts";
import { createCells, type ModuleExports, type ToFunction, WireCell } from "../wire.ts";
import type { FunctionNews, FunctionWord } from "../worker-functions.ts";
import { FunctionMetrics, type ModuleStanding, type ThreadFacts } from "./function-metrics.ts";
import { type ModuleUsage, moduleUses } from "./function-modules.ts";
import { closeLeftFiles, filesOfThread } from "./left-files.ts";

/** Milliseconds that a module may take to load. */
const FUNCTION_LOAD_MS = 30_000;
/** Milliseconds that requests of an earlier version of a module may take after a reload. */
const FUNCTION_RETIRE_MS: number = shorterInTests("FUNCTION_RETIRE_MS", 300_000);

/** How often threads are examined. */
const WATCH_MS = 50;
/** How often edge looks for threads of the runtime that have begun to collect garbage: these end when they have had nothing to do for long. */
const COLLECTORS_MS = 1000;
/** The first pause before a module's thread is started again; doubled with each death in a row, up to the longest. */
const FIRST_RESTART_MS = 10;
const LONGEST_RESTART_MS = 1000;
/** A thread that has lived so long has not died in a row with the one before. */
const SETTLED_MS = 10_000;
/** A thread that is still for so long may be one that takes memory without end. */
const STILL_MS = 200;
/** A thread that takes memory touches this part of the pages that the process does: threads of the collector touch some for it. */
const OWN_SHARE = 0.25;
/** One that starts touches 1,200 pages before any of its module runs, and of many that start at once it may be the only one that does. */
const START_PAGES = 4096;
/**
 * A thread that takes so much of a processor while it is seen to stand still, in milliseconds, or has this part of `functions.memory`, comes
 * after the others. One that stands still since it gets no processor is not to blame.
 */
const BEHIND_CPU_MS = 30;
const BEHIND_MEMORY = 0.25;
/** By how much nicer than data workers it is then, and the collectors are always: workers get nine tenths of a processor that both want. */
const STEP_BACK = 10;
/** Beyond this part of `functions.memory` a thread gets no new requests, which wait for its successor. */
const WAIT_MEMORY = 1.1;
/** Beyond this one it is ended at once; below, it may end its requests. */
const HARD_MEMORY = 1.5;

/** The data workers, as far as the threads of functions speak with them. */
export interface FunctionWorkers {
  readonly size: number;
  send(worker: number, message: FunctionNewsMessage, transfer: MessagePort[]): void;
}

/** What the threads of functions ask, for the data workers of a pool. */
export function threadPorts(
  pool: FunctionWorkers,
  threshold: LogThreshold,
  event: FunctionThreadPorts["event"],
): FunctionThreadPorts {
  return {
    takes: (level) => threshold.takes(level),
    workers: pool.size,
    tell: (worker, news, transfer) => pool.send(worker, { kind: "functions", news }, transfer),
    event,
    rss: residentBytes,
    stepCollectorsBack: () => stepCollectorsBack(STEP_BACK),
    stepBack: (tid) => stepBack(tid, STEP_BACK),
  };
}

/** Why a thread was ended. */
type Reason = "stuck" | "memory" | "exit" | "broken";

/** What threads of functions ask of the control thread. */
export interface FunctionThreadPorts {
  /** How many data workers there are. */
  readonly workers: number;
  readonly tell: (worker: number, news: FunctionNews, transfer: MessagePort[]) => void;
  readonly event: EventWriter<typeof FUNCTION_EVENTS>;
  /** Whether the log takes lines of this level. */
  readonly takes: (level: LogLevel) => boolean;
  /** Bytes of memory that the process has. */
  readonly rss: () => number;
  /** Lets the threads of the runtime that collect garbage come after those of traffic; and a thread, for good. */
  readonly stepCollectorsBack: () => void;
  readonly stepBack: (tid: number) => void;
}

interface Thread {
  readonly id: number;
  readonly owner: ModuleThreads;
  readonly worker: globalThis.Worker;
  readonly cells: Int32Array;
  readonly startedMs: number;
  /** Of the configuration that it was started for. */
  readonly generation: number;
  exports: ModuleExports | null;
  /** When it was last seen to turn, and what the process had then. */
  beat: number;
  beatMs: number;
  beatRss: number;
  /** What it had taken when it was first seen to stand still, and has taken now; null while it turns. */
  still: { readonly first: Taken; readonly now: Taken } | null;
  /** The last call that was reported overdue. */
  overdue: (OverdueCall & { readonly worker: number }) | null;
  /** Data workers that may still have requests there, once it is retired; null before. */
  readonly busy: Set<number>;
  state: "loading" | "serving" | "retired" | "ended";
  /** Whether the system gives it the processor after all others. */
  isBehind: boolean;
  retiredMs: number;
  /** Whether it has too much memory, and is retired when another has loaded the module. */
  isWorn: boolean;
  reason: Reason;
}

/** The control thread's part in functions: their threads, which it starts, watches, replaces and ends. docs/internals/functions.md#functions */
export class FunctionThreads {
  readonly onMessage: Takers<FunctionWordMessage> = { functions: ({ said }, worker) => this.onWorker(worker, said) };
  private readonly ports: FunctionThreadPorts;
  private readonly modules: Map<string, ModuleThreads> = new Map();
  private readonly threads: Map<number, Thread> = new Map();
  /** Data workers that take news. */
  private readonly connected: Set<number> = new Set();
  private config: FunctionsConfig | null = null;
  private watching: Timer | null = null;
  private loweredMs = Number.NEGATIVE_INFINITY;
  private lastId = 0;
  private readonly descriptors = descriptorLimit();
  private readonly ends: ThreadEnds = new ThreadEnds();
  private readonly counts: FunctionMetrics = new FunctionMetrics(() => performance.now());

  constructor(ports: FunctionThreadPorts) {
    this.ports = ports;
  }

  /** Takes up a configuration: each of its modules is loaded anew, and what is under way ends where it began. */
  use(config: RuntimeConfig): void {
    this.config = config.functions;
    const uses = moduleUses(config);
    for (const [module, own] of this.modules) {
      if (uses.has(module)) continue;
      this.modules.delete(module);
      own.isWanted = false;
      for (const thread of own.threads) this.retire(thread);
    }
    for (const [module, use] of uses) {
      const own = this.modules.get(module) ?? this.add(module);
      own.use = use;
      own.generation++;
      for (let i = 0; i < config.functions.workers; i++) this.start(own, own.generation);
    }
    if (uses.size > 0) this.watching ??= setInterval(() => this.watch(), WATCH_MS);
  }

  private add(module: string): ModuleThreads {
    const own = new ModuleThreads(module, createQueueCells(this.ports.workers));
    this.modules.set(module, own);
    this.publish({ what: "queue", module, cells: own.queue });
    return own;
  }

  /** What a data worker says. */
  onWorker(worker: number, word: FunctionWord): void {
    if (word.what === "counts") this.counts.add(worker, word.counts);
    else if (word.what === "idle") this.idle(word.thread, worker);
    else if (word.what === "overdue") this.overdue(word.thread, worker, word.call);
    else this.broken(word.thread);
  }

  metrics(): readonly Metric[] {
    return this.counts.metrics(() => this.facts());
  }

  /** The modules of the configuration, for the dashboard. */
  live(): readonly ModuleStanding[] {
    return this.counts.live(this.facts());
  }

  private facts(): ThreadFacts[] {
    return [...this.modules.values()].map((own) => own.facts());
  }

  /** A data worker listens; when it begins, it gets its ways to all threads. */
  workerListens(worker: number): void {
    if (this.connected.has(worker)) return;
    this.connected.add(worker);
    for (const thread of this.threads.values()) if (thread.state === "serving") this.connect(thread, worker);
    for (const { module, queue } of this.modules.values())
      this.ports.tell(worker, { what: "queue", module, cells: queue }, []);
    for (const { module, hasFailed, threads } of this.modules.values())
      if (hasFailed && threads.size === 0) this.ports.tell(worker, { what: "failed", module }, []);
  }

  workerDied(worker: number): void {
    this.connected.delete(worker);
    this.counts.workerDied(worker);
    for (const { queue } of this.modules.values()) freeQueueOf(queue, worker);
    for (const thread of this.threads.values()) {
      this.send(thread, { kind: "disconnect", worker });
      freePlacesOf(thread.cells, worker);
      this.idle(thread.id, worker);
    }
  }

  /** A data worker has nothing in hand any more at a retired thread. */
  private idle(id: number, worker: number): void {
    const thread = this.threads.get(id);
    if (thread?.state !== "retired") return;
    thread.busy.delete(worker);
    if (thread.busy.size === 0) this.send(thread, { kind: "finish" });
  }

  private overdue(id: number, worker: number, call: OverdueCall): void {
    const thread = this.threads.get(id);
    if (thread !== undefined) thread.overdue = { worker, ...call };
  }

  /** What a thread says cannot be read. */
  private broken(id: number): void {
    const thread = this.threads.get(id);
    if (thread !== undefined) this.end(thread, "broken");
  }

  /** The gateway ends. */
  stop(): void {
    if (this.watching !== null) clearInterval(this.watching);
    this.modules.clear();
    for (const thread of this.threads.values()) {
      thread.owner.isWanted = false;
      thread.state = "ended";
      this.terminate(thread);
    }
  }

  private start(owner: ModuleThreads, generation: number): void {
    if (!owner.isWanted || owner.generation !== generation) return;
    const { env, allow, workers } = this.config!;
    const cells = createCells(this.ports.workers);
    const worker = startThread(FUNCTION_ENTRY, Object.fromEntries(env));
    if (worker === null) return void setTimeout(() => this.start(owner, generation), LONGEST_RESTART_MS);
    const nowMs = performance.now();
    const id = ++this.lastId;
    const files = createFileCells(filesOfThread(this.descriptors, this.modules.size * workers), id);
    const thread: Thread = {
      id,
      owner,
      worker,
      cells: new Int32Array(cells),
      startedMs: nowMs,
      generation,
      exports: null,
      beat: 0,
      beatMs: nowMs,
      beatRss: this.ports.rss(),
      still: null,
      overdue: null,
      busy: new Set(),
      state: "loading",
      isBehind: false,
      retiredMs: 0,
      isWorn: false,
      reason: "exit",
    };
    this.threads.set(thread.id, thread);
    owner.threads.add(thread);
    worker.onmessage = ({ data }: { data: unknown }) => this.onThreadMessage(thread, data);
    // What escapes is logged by the thread itself; without a listener it would be written to the standard error.
    worker.onerror = (event: ErrorEvent) => event.preventDefault();
    worker.addEventListener("close", () => {
      closeLeftFiles(new Int32Array(files));
      this.onClose(thread);
    });
    this.send(thread, {
      kind: "load",
      module: owner.module,
      cells,
      files,
      mayChangeProcess: allow.includes("process"),
    });
  }

  private onThreadMessage(thread: Thread, message: unknown): void {
    // A module can send messages as well.
    if (!isFromFunction(message)) return;
    if (message.kind === "loaded") this.onLoaded(thread, message.exports);
    else if (message.kind === "failed" && thread.state === "loading") {
      thread.owner.hasFailed = true;
      const { error, at, stack } = message.problem;
      this.ports.event("function_load_failed", { module: thread.owner.module, error, at, stack });
      this.discard(thread);
      this.publish({ what: "failed", module: thread.owner.module });
    } else if (message.kind === "log") {
      const { line } = message;
      if (this.ports.takes(line.level)) this.ports.event(...eventOfLine(thread.owner.module, line));
    } else if (message.kind === "finished" && thread.state === "retired") this.discard(thread);
  }

  private onLoaded(thread: Thread, exports: ModuleExports): void {
    const { owner, generation } = thread;
    if (thread.state !== "loading") return;
    // It began to load before a reload, whose code serves already.
    if ([...owner.generations.values()].some((other) => other > generation)) return this.discard(thread);
    thread.state = "serving";
    thread.still = null;
    thread.exports = exports;
    owner.hasFailed = false;
    const missing = owner.use.needs.filter((name) => !exports[name]);
    if (missing.length === owner.use.needs.length && missing.length > 0)
      this.ports.event("function_load_failed", {
        module: owner.module,
        error: `the module exports no ${missing.join(" and no ")}`,
        at: owner.module,
        stack: "",
      });
    for (const worker of this.connected) this.connect(thread, worker);
    for (const other of owner.threads)
      if (
        other !== thread &&
        other.state === "serving" &&
        other.startedMs < thread.startedMs &&
        (other.isWorn || owner.isOld(other, generation))
      )
        this.retire(other);
    owner.generations.set(thread.id, generation);
    if (!owner.isWanted) this.retire(thread);
  }

  private connect(thread: Thread, worker: number): void {
    const { port1, port2 } = new MessageChannel();
    thread.worker.postMessage({ kind: "connect", worker, port: port1 } satisfies ToFunction, [port1]);
    const { id, owner, cells, exports } = thread;
    const buffer = cells.buffer as SharedArrayBuffer;
    this.ports.tell(
      worker,
      { what: "ready", module: owner.module, thread: id, port: port2, cells: buffer, exports: exports! },
      [port2],
    );
  }

  /** New requests go to another thread; it ends when it has none left, or after a while. */
  private retire(thread: Thread): void {
    if (thread.state === "loading") return this.discard(thread);
    if (thread.state !== "serving") return;
    thread.state = "retired";
    thread.retiredMs = performance.now();
    for (const worker of this.connected) thread.busy.add(worker);
    this.publish({ what: "retired", thread: thread.id });
    if (thread.busy.size === 0) this.send(thread, { kind: "finish" });
  }

  /** Ends it, whatever it does; what it has in hand is refused by the data workers. */
  private end(thread: Thread, reason: Reason): void {
    thread.reason = reason;
    // One that the system holds is replaced all the same, and ended later.
    if (!this.terminate(thread)) this.onClose(thread);
  }

  private discard(thread: Thread): void {
    this.forget(thread);
    this.terminate(thread);
  }

  /** @returns whether it ends now */
  private terminate({ worker, cells }: Thread): boolean {
    return this.ends.end({ worker, tid: Atomics.load(cells, WireCell.ThreadId) });
  }

  private forget(thread: Thread): void {
    thread.state = "ended";
    this.threads.delete(thread.id);
    thread.owner.threads.delete(thread);
    thread.owner.generations.delete(thread.id);
  }

  private onClose(thread: Thread): void {
    if (thread.state === "ended") return;
    const { owner, cells, reason, id, generation } = thread;
    const wasLoading = thread.state === "loading";
    // One that is worn has its successor already.
    const isMissed = (thread.state === "serving" && !thread.isWorn) || wasLoading;
    this.forget(thread);
    const culprit =
      reason === "stuck"
        ? { worker: Atomics.load(cells, WireCell.CurrentWorker), id: Atomics.load(cells, WireCell.Current) }
        : { worker: -1, id: -1 };
    this.publish({ what: "gone", thread: id, culprit });
    this.counts.ended(owner.module, reason);
    this.ports.event("function_thread_ended", { module: owner.module, reason, restarted: isMissed && owner.isWanted });
    if (wasLoading && owner.threads.size === 0) {
      owner.hasFailed = true;
      this.publish({ what: "failed", module: owner.module });
    }
    if (!isMissed) return;
    const hasLasted = performance.now() - thread.startedMs > SETTLED_MS;
    owner.deathsInRow = hasLasted ? 0 : owner.deathsInRow + 1;
    const pause =
      owner.deathsInRow === 0 ? 0 : Math.min(FIRST_RESTART_MS * 2 ** (owner.deathsInRow - 1), LONGEST_RESTART_MS);
    setTimeout(() => this.start(owner, generation), pause);
  }

  private watch(): void {
    this.ends.look();
    const nowMs = performance.now();
    if (nowMs - this.loweredMs > COLLECTORS_MS) {
      this.loweredMs = nowMs;
      this.ports.stepCollectorsBack();
    }
    const rss = this.ports.rss();
    const { memory } = this.config!;
    const glutton = this.glutton(nowMs);
    for (const thread of this.threads.values()) {
      const beat = Atomics.load(thread.cells, WireCell.Beat);
      const heap = Atomics.load(thread.cells, WireCell.HeapKib) * 1024;
      if (beat !== thread.beat) {
        thread.beat = beat;
        thread.beatMs = nowMs;
        thread.beatRss = rss;
        thread.still = null;
      }
      const stillMs = nowMs - thread.beatMs;
      const grown = rss - thread.beatRss;
      if (!thread.isBehind && (runsOn(thread) || heap > memory * BEHIND_MEMORY)) this.putBehind(thread);
      if (heap > memory * HARD_MEMORY || (grown > memory && thread === glutton)) this.end(thread, "memory");
      else if (stillMs > longestStillMs(thread)) this.end(thread, "stuck");
      else if (heap > memory && thread.state === "serving" && !thread.isWorn) this.renew(thread);
      else if (heap > memory * WAIT_MEMORY && thread.state === "serving") this.retire(thread);
      else if (thread.state === "retired" && nowMs - thread.retiredMs > FUNCTION_RETIRE_MS) this.end(thread, "exit");
    }
  }

  /** Lets a thread that takes more than calls as a rule do come after all others from now on. */
  private putBehind(thread: Thread): void {
    const tid = Atomics.load(thread.cells, WireCell.ThreadId);
    if (tid === 0) return;
    thread.isBehind = true;
    if (tid !== UNKNOWN_THREAD) this.ports.stepBack(tid);
  }

  /** Of the threads that stand still the one that has touched most memory meanwhile, if it is a good part of all; null for none. */
  private glutton(nowMs: number): Thread | null {
    let most = 0;
    let found: Thread | null = null;
    for (const thread of this.threads.values()) {
      const stillMs = nowMs - thread.beatMs;
      if (stillMs < WATCH_MS * 0.9 || Atomics.load(thread.cells, WireCell.Beat) !== thread.beat) continue;
      const tid = Atomics.load(thread.cells, WireCell.ThreadId);
      // It has not begun: nothing of its module has run, and many that begin at once wait long for a processor.
      if (tid === 0) continue;
      const now = takenBy(tid);
      if (now === null) {
        if (stillMs > STILL_MS && thread.state !== "loading") return thread;
        continue;
      }
      const first = thread.still?.first ?? now;
      thread.still = { first, now };
      const touched = now.pages - first.pages;
      if (thread.state === "loading" && touched < START_PAGES) continue;
      const share = touched / (now.pagesOfAll - first.pagesOfAll);
      if (!(share > OWN_SHARE) || touched < most) continue;
      most = touched;
      found = thread;
    }
    return found !== null && nowMs - found.beatMs > STILL_MS ? found : null;
  }

  /** It has too much memory: it is retired when another has loaded the module, so that no request waits for that. */
  private renew(thread: Thread): void {
    const { owner } = thread;
    thread.isWorn = true;
    this.counts.ended(owner.module, "memory");
    this.ports.event("function_thread_ended", { module: owner.module, reason: "memory", restarted: true });
    this.start(owner, owner.generation);
  }

  private publish(news: FunctionNews): void {
    for (const worker of this.connected) this.ports.tell(worker, news, []);
  }

  private send(thread: Thread, message: ToFunction): void {
    thread.worker.postMessage(message);
  }
}

/** Whether it works on without a turn. What it takes to load its module, it takes once. */
function runsOn({ state, still }: Thread): boolean {
  return state !== "loading" && still !== null && still.now.cpuMs - still.first.cpuMs >= BEHIND_CPU_MS;
}

/** How long a thread may stand still: as long as the call that it runs may take, where that is known to be over, else as long as any of its module. */
function longestStillMs({ state, owner, overdue, cells }: Thread): number {
  if (state === "loading") return FUNCTION_LOAD_MS;
  const runsOverdue =
    overdue !== null &&
    Atomics.load(cells, WireCell.Current) === overdue.id &&
    Atomics.load(cells, WireCell.CurrentWorker) === overdue.worker;
  return Math.max(runsOverdue ? overdue.timeoutMs : owner.use.timeoutMs, STILL_MS * 5);
}

/** The threads of one module. */
class ModuleThreads {
  readonly module: string;
  /** The places of what waits; see QueuePlaces. */
  readonly queue: SharedArrayBuffer;
  readonly threads: Set<Thread> = new Set();
  /** The configuration that a thread was loaded for, by its number. */
  readonly generations: Map<number, number> = new Map();
  use: ModuleUsage = { timeoutMs: 0, needs: [] };
  generation = 0;
  isWanted = true;
  hasFailed = false;
  deathsInRow = 0;

  constructor(module: string, queue: SharedArrayBuffer) {
    this.module = module;
    this.queue = queue;
  }

  facts(): ThreadFacts {
    const serving = [...this.threads].filter(({ state }) => state === "serving");
    const heap = [...this.threads].reduce((sum, { cells }) => sum + Atomics.load(cells, WireCell.HeapKib), 0);
    return { module: this.module, threads: serving.length, heapBytes: heap * 1024 };
  }

  isOld(thread: Thread, generation: number): boolean {
    return (this.generations.get(thread.id) ?? 0) < generation;
  }
}

/** The path is resolved against the entry point, in the source tree as in the compiled binary. */
const FUNCTION_ENTRY = "./function-worker.ts";
