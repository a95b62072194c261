import type { CallCounts } from "./call-counts.ts";
import { FunctionLink, type LinkPorts, type OverdueCall } from "./function-link.ts";
import { FunctionPool, type PoolBounds } from "./function-pool.ts";
import { QueuePlaces } from "./queue-places.ts";
import type { FunctionsConfig } from "./settings.ts";
import type { ModuleExports } from "./wire.ts";

/** What the control thread tells the data workers of threads. */
export type FunctionNews =
  /** The places of a module's queue, for all data workers. */
  | { readonly what: "queue"; readonly module: string; readonly cells: SharedArrayBuffer }
  /** A thread has loaded its module; calls go by the port. */
  | {
      readonly what: "ready";
      readonly module: string;
      readonly thread: number;
      readonly port: MessagePort;
      readonly cells: SharedArrayBuffer;
      readonly exports: ModuleExports;
    }
  /** New requests are not for this one; when it has none left, `idle` is said. */
  | { readonly what: "retired"; readonly thread: number }
  /** It has ended, with what it had in hand. @see FunctionLink.die */
  | {
      readonly what: "gone";
      readonly thread: number;
      readonly culprit: { readonly worker: number; readonly id: number };
    }
  /** The module cannot be loaded. */
  | { readonly what: "failed"; readonly module: string };

/** What a data worker tells the control thread of functions. */
export type FunctionWord =
  /** A retired thread has nothing of this worker in hand; or what it says cannot be read. */
  | { readonly what: "idle" | "broken"; readonly thread: number }
  /** It does not come back from a call whose time is over. */
  | { readonly what: "overdue"; readonly thread: number; readonly call: OverdueCall }
  /** What has been counted of calls of functions and hooks. */
  | { readonly what: "counts"; readonly counts: readonly CallCounts[] };

/** The modules of one data worker; it outlives configurations. */
export class WorkerFunctions {
  private readonly worker: number;
  private readonly ports: LinkPorts;
  private readonly onIdle: (thread: number) => void;
  private readonly pools: Map<string, FunctionPool> = new Map();
  private readonly links: Map<number, { readonly link: FunctionLink; readonly pool: FunctionPool }> = new Map();
  private bounds: PoolBounds = { concurrency: 1, queue: 0 };

  /**
   * @param worker the number of this data worker
   * @param onIdle learns of a retired thread that has nothing of this worker in hand any more
   */
  constructor(worker: number, ports: LinkPorts, onIdle: (thread: number) => void) {
    this.worker = worker;
    this.ports = ports;
    this.onIdle = onIdle;
  }

  /** Takes the bounds of a configuration. */
  use({ concurrency, queue }: Pick<FunctionsConfig, "concurrency" | "queue">): void {
    this.bounds = { concurrency, queue };
    for (const pool of this.pools.values()) pool.useBounds(this.bounds);
  }

  /** The threads of a module, whether they are there or not. @param module its absolute path */
  poolOf(module: string): FunctionPool {
    let pool = this.pools.get(module);
    if (pool === undefined) {
      pool = new FunctionPool(this.bounds);
      this.pools.set(module, pool);
    }
    return pool;
  }

  /** The modules that have been asked for, with the calls that wait for them now. */
  *queues(): Iterable<readonly [module: string, queued: number]> {
    for (const [module, pool] of this.pools) yield [module, pool.queued];
  }

  receive(news: FunctionNews): void {
    if (news.what === "failed") return this.poolOf(news.module).fail();
    if (news.what === "queue") return this.poolOf(news.module).useQueue(new QueuePlaces(news.cells, this.worker));
    if (news.what === "ready") return this.add(news);
    const found = this.links.get(news.thread);
    if (found === undefined) {
      if (news.what === "retired") this.onIdle(news.thread);
      return;
    }
    const { link, pool } = found;
    pool.remove(link);
    if (news.what === "gone") {
      this.links.delete(news.thread);
      link.die(news.culprit);
    } else if (link.load === 0) this.left(link);
    else link.isRetired = true;
  }

  private add({ module, thread, port, cells, exports }: Extract<FunctionNews, { what: "ready" }>): void {
    const pool = this.poolOf(module);
    const link = new FunctionLink({ thread, module }, port, cells, this.worker, this.ports, (idle) => this.left(idle));
    this.links.set(thread, { link, pool });
    pool.add(link, exports);
  }

  private left(link: FunctionLink): void {
    this.links.delete(link.thread);
    link.end();
    this.onIdle(link.thread);
  }
}
