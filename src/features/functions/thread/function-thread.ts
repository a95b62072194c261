import { heapSize } from "bun:jsc";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { ownThreadId } from "../../../memory/thread-id.ts";
import { type ExportedFunction, exportedFunction } from "../module-exports.ts";
import { moduleFaults } from "../module-fault.ts";
import {
  createCells,
  type FromFunction,
  type FunctionLine,
  type ModuleExports,
  type ToFunction,
  WireCell,
} from "../wire.ts";
import { Call, type CallHost, type Exported } from "./call.ts";
import { CallHead } from "./call-head.ts";
import { contain, withRefusal } from "./contain.ts";
import { Context, lineOf } from "./context.ts";
import { useJsxSettings } from "./jsx-settings.ts";
import { LogBudget } from "./log-budget.ts";
import { openedFiles } from "./opened-files.ts";
import { problemOf } from "./problem.ts";
import { ThreadLink } from "./thread-link.ts";

/** How often the thread shows that it turns, and how much memory it has. */
const BEAT_MS = 50;
/** Requests that are named where a failure may belong to any of them. */
const MAX_NAMED = 8;

/** What runs a module in a thread of its own: its calls, its failures, its memory. */
export class FunctionThread implements CallHost {
  private readonly post: (message: FromFunction) => void;
  private readonly calls: Set<Call> = new Set();
  private readonly kept: Set<Promise<unknown>> = new Set();
  private readonly links: Map<number, ThreadLink> = new Map();
  private module = "";
  private source: string | null = null;
  private cells: Int32Array = new Int32Array(createCells(1));
  readonly logBudget: LogBudget = new LogBudget();
  private readonly functions: Map<Exported, ExportedFunction> = new Map();
  /** The call whose function runs now. */
  private running: Call | null = null;

  constructor(post: (message: FromFunction) => void) {
    this.post = post;
  }

  receive(message: ToFunction): void {
    if (message.kind === "load") void this.load(message);
    else if (message.kind === "connect") this.connect(message.port, message.worker);
    else if (message.kind === "disconnect") this.links.get(message.worker)?.disconnect();
    else void this.finish();
  }

  /** What `waitUntil` was given may give it more. */
  private async finish(): Promise<void> {
    while (this.kept.size > 0) await Promise.allSettled(this.kept);
    this.post({ kind: "finished" });
  }

  private async load({ module, cells, files, mayChangeProcess }: Extract<ToFunction, { kind: "load" }>): Promise<void> {
    this.module = module;
    this.cells = new Int32Array(cells);
    Atomics.store(this.cells, WireCell.ThreadId, ownThreadId());
    setInterval(() => {
      Atomics.add(this.cells, WireCell.Beat, 1);
      this.tellDropped();
      Atomics.store(this.cells, WireCell.HeapKib, heapSize() / 1024);
    }, BEAT_MS);
    process.on("unhandledRejection", (reason) => this.stray(reason, "an unhandled rejection"));
    process.on("uncaughtException", (error) => this.stray(error, "an uncaught exception"));
    contain(mayChangeProcess, (level, values) => this.write(level, values));
    Object.setPrototypeOf(Context.prototype, process.env);
    useJsxSettings();
    openedFiles.share(new Int32Array(files), () =>
      this.write("warn", ["the module has as many files open as a thread may have: more are refused (EMFILE)"]),
    );
    try {
      const exports = this.adopt(await import(pathToFileURL(module).href));
      this.post({ kind: "loaded", exports });
    } catch (error) {
      const [{ file, line, column, message }] = moduleFaults(error, module);
      const at = line === 0 ? file : `${file}:${line}:${column}`;
      this.post({ kind: "failed", problem: { ...problemOf(error, module), error: withRefusal(message), at } });
    }
  }

  /** What of the module's exports is asked for: of its default export, which may be the function itself, else by name. */
  private adopt(exported: Readonly<Record<string, unknown>>): ModuleExports {
    for (const name of ["fetch", "onRequest", "onResponse"] as const) {
      const found = exportedFunction(exported, name);
      if (found !== null) this.functions.set(name, found);
    }
    if (this.functions.size === 0)
      throw new TypeError(
        "the module exports no fetch, onRequest or onResponse: export default { fetch(request, ctx) {…} }",
      );
    const has = (name: Exported) => this.functions.has(name);
    return {
      fetch: has("fetch"),
      onRequest: has("onRequest"),
      onResponse: has("onResponse"),
      places: {
        fetch: this.placeOf("fetch"),
        onRequest: this.placeOf("onRequest"),
        onResponse: this.placeOf("onResponse"),
      },
    };
  }

  private connect(port: MessagePort, worker: number): void {
    const begun = WireCell.Begun + worker;
    const connected = new ThreadLink(port, worker, (link, records) => {
      const { id } = records;
      const head = new CallHead(records);
      const whole = head.hasBody ? records.wholeBody(id) : null;
      Atomics.store(this.cells, begun, id);
      new Call(this, link, id, head).run(whole);
    });
    this.links.set(worker, connected);
  }

  // ── for its calls ─────────────────────────────────────────────────────────────────────────────────────────────

  begin(call: Call): void {
    this.calls.add(call);
  }

  end(call: Call): void {
    this.calls.delete(call);
  }

  keepAlive(promise: Promise<unknown>): void {
    this.kept.add(promise);
    void promise.finally(() => this.kept.delete(promise)).catch(() => {});
  }

  tell(line: FunctionLine): void {
    this.post({ kind: "log", line });
  }

  invoke(call: Call, name: Exported, subject: Request | Response, context: Context): unknown {
    const exported = this.functions.get(name);
    if (exported === undefined) throw new TypeError(`the module exports no ${name}`);
    this.running = call;
    Atomics.store(this.cells, WireCell.CurrentWorker, call.link.worker);
    Atomics.store(this.cells, WireCell.Current, call.id);
    try {
      // The context is the second and the third: modules for Cloudflare Workers take (request, env, ctx).
      return exported.run.call(exported.on, subject, context, context);
    } finally {
      this.running = null;
      Atomics.store(this.cells, WireCell.Current, 0);
    }
  }

  placeOf(name: string): string {
    this.source ??= sourceOf(this.module);
    const { source } = this;
    const named = new RegExp(`\\b${name}\\s*[(:=]`, "g");
    // What comes before the exports may call a function of the same name.
    named.lastIndex = Math.max(0, source.search(/\bexport\s+default\b/));
    const at = named.exec(source)?.index ?? source.search(named);
    return at < 0 ? this.module : `${this.module}:${source.slice(0, at).split("\n").length}`;
  }

  /** What `console` is told belongs to the call that runs, else to the one that is under way, if there is one. */
  private write(level: FunctionLine["level"], values: readonly unknown[]): void {
    const [first] = this.calls;
    const call = this.running ?? (this.calls.size === 1 ? first : undefined);
    if (call !== undefined) return call.log(level, values);
    if (!this.logBudget.take()) return;
    const fields = lineOf(values);
    this.logBudget.spend(fields.message.length);
    this.post({ kind: "log", line: { event: "function_log", level, fields } });
  }

  private tellDropped(): void {
    const dropped = this.logBudget.refill();
    if (dropped === 0) return;
    const message = `${dropped} lines of the log were dropped: the module logs faster than they can be written`;
    this.post({ kind: "log", line: { event: "function_log", level: "warn", fields: { message } } });
  }

  /** A failure that belongs to no call that is known: all that are under way are named. */
  private stray(thrown: unknown, what: string): void {
    if (!this.logBudget.take()) return;
    const { error, at, stack } = problemOf(thrown, this.module);
    const ids = [...this.calls].slice(0, MAX_NAMED).map(({ facts }) => facts.requestId);
    const fields = { what, error, at, stack };
    this.logBudget.spend(error.length + stack.length);
    const named = ids.length === 1 ? { ...fields, request_id: ids[0]! } : { ...fields, request_ids: ids };
    this.post({ kind: "log", line: { event: "function_failed", level: "error", fields: named } });
  }
}

function sourceOf(module: string): string {
  try {
    return readFileSync(module, "utf8");
  } catch {
    return "";
  }
}
