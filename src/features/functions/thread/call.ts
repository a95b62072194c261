import { type FunctionLine, type Records, WireWord } from "../wire.ts";
import type { CallHead } from "./call-head.ts";
import { type CallFacts, Context, type ContextPorts, lineOf, type UpgradeOptions } from "./context.ts";
import { IncomingBody } from "./incoming-body.ts";
import { isUntouched, lazyRequest, nativeOf, type RequestSource } from "./lazy-request.ts";
import type { LogBudget } from "./log-budget.ts";
import { OutgoingBody } from "./outgoing-body.ts";
import { problemOf } from "./problem.ts";
import { hasSameFields, headFault, type ResponseFields, responseFields, splitLength } from "./response-head.ts";
import { ServerSocket, takeSocket } from "./server-socket.ts";
import { type Receiver, readResponse, type ThreadLink } from "./thread-link.ts";
import { UpstreamCall } from "./upstream-call.ts";

/** What calls ask of their thread. */
export interface CallHost {
  readonly logBudget: LogBudget;
  /** `file:line` of the function that is asked, as far as it is known. */
  placeOf(name: string): string;
  begin(call: Call): void;
  end(call: Call): void;
  keepAlive(promise: Promise<unknown>): void;
  /** Writes a line of the log by the way of those that belong to no call under way. */
  tell(line: FunctionLine): void;
  /** Calls the module's function, which `call` is for. */
  invoke(call: Call, name: Exported, subject: Request | Response, context: Context): unknown;
}

/** Functions of a module that calls ask. */
export type Exported = "fetch" | "onRequest" | "onResponse";

/** One request in the thread of a function, from its head to the end of the response; with hooks, both of its ways. */
export class Call implements Receiver, ContextPorts, RequestSource {
  readonly link: ThreadLink;
  readonly id: number;
  readonly head: CallHead;
  private readonly host: CallHost;
  private abort: AbortController | null = null;
  private abortReason: unknown = null;
  private request: Request | null = null;
  private incoming: IncomingBody | null = null;
  private outgoing: OutgoingBody | null = null;
  private socket: ServerSocket | null = null;
  private context: Context | null = null;
  /** The fields of what a hook is shown, if it is not a lazy request. */
  private before: ResponseFields | null = null;
  /** Whether what the data worker says of it comes here. */
  private isKept = false;
  private isOver = false;

  constructor(host: CallHost, link: ThreadLink, id: number, head: CallHead) {
    this.host = host;
    this.link = link;
    this.id = id;
    this.head = head;
  }

  get facts(): CallFacts {
    return this.head;
  }

  /** @param whole the body if it has come with the head; null if there is none, or it follows */
  run(whole: Buffer | null): void {
    const { head } = this;
    if (head.fault !== 0) return this.refuse(head.fault);
    this.request = this.makeRequest(whole);
    if (head.kind === "f") this.ask("fetch", this.request);
    else if (head.kind === "q" || head.kind === "b") this.ask("onRequest", this.request);
    // What has been answered at once is over: nothing more can be said of it.
    if (this.isOver) return;
    this.isKept = true;
    this.link.add(this.id, this);
    this.host.begin(this);
  }

  private makeRequest(whole: Buffer | null): Request {
    const { method, origin, path, fields, hasBody } = this.head;
    if (!hasBody) return lazyRequest(this);
    const init: RequestInit = { method, headers: fields };
    if (whole !== null) init.body = whole;
    else {
      this.incoming = new IncomingBody(this.link, this.id, () => {});
      init.body = this.incoming.stream;
    }
    const request = new IncomingRequest(origin + path, init, this);
    this.before = responseFields(request.headers);
    return request;
  }

  /** Aborts when the client leaves, or the time is over. Made when it is asked for: most functions do not ask. */
  get signal(): AbortSignal {
    if (this.abort === null) {
      this.abort = new AbortController();
      if (this.abortReason !== null) this.abort.abort(this.abortReason);
    }
    return this.abort.signal;
  }

  private makeContext(): Context {
    this.context ??= new Context(this);
    return this.context;
  }

  /** Asks the module, and takes what it gives: at once if it is there, so that a hook without `async` costs no promise. */
  private ask(name: Exported, subject: Request | Response): void {
    try {
      const given = this.host.invoke(this, name, subject, this.makeContext());
      if (isThenable(given)) void this.takeLater(name, subject, given);
      else this.take(name, subject, given);
    } catch (error) {
      this.fail(error, name);
    }
  }

  private async takeLater(name: Exported, subject: Request | Response, given: PromiseLike<unknown>): Promise<void> {
    try {
      this.take(name, subject, await given);
    } catch (error) {
      this.fail(error, name);
    }
  }

  private take(name: Exported, subject: Request | Response, given: unknown): void {
    if (this.isOver) return dropBody(given);
    if (name === "fetch") return this.respond(given, name);
    const isSubject = given === undefined || given === subject;
    if (name === "onRequest" && isSubject) this.passRequest(subject as Request);
    else if (name === "onRequest" && given instanceof Request) this.changeRequest(given);
    else if (name === "onResponse" && isSubject) this.passResponse(subject as Response);
    else this.respond(given, name);
  }

  private respond(response: unknown, name: Exported): void {
    const socket = takeSocket(response);
    if (socket !== null) return this.accept(socket, response as Response);
    const fault = headFault(response, name);
    if (fault !== "") {
      dropBody(response);
      return this.fail(new TypeError(fault), name);
    }
    this.send(response as Response, name);
  }

  private send(response: Response, name: string): void {
    const { fields, length } = splitLength(responseFields(response.headers));
    const { status } = response;
    const mayHaveBody = this.head.method !== "HEAD" && !BODILESS.has(status);
    if (!mayHaveBody) dropBody(response);
    let isHeadOut = false;
    const writeHead = (mode: string, whole: Uint8Array | null): void => {
      isHeadOut = true;
      this.writeResponse(status, fields, length, mode, whole);
    };
    this.outgoing = new OutgoingBody(
      this.link,
      this.id,
      {
        writeHead,
        onSent: () => this.done(),
        onReadError: (error) => {
          if (!isHeadOut) return this.fail(error, name);
          this.report(error, name, "the body of its response");
          this.link.record(WireWord.Fault, this.id);
          this.done();
        },
        onCancelError: (error) => this.report(error, name, "cancel of the body of its response"),
      },
      mayHaveBody ? length : -1,
    );
    this.outgoing.startOf(mayHaveBody ? response : null);
  }

  private writeResponse(
    status: number,
    fields: ResponseFields,
    length: number,
    mode: string,
    whole: Uint8Array | null,
  ): void {
    const out = this.link.record(WireWord.Response, this.id);
    out.line(status);
    writeFieldLines(out, fields);
    out.line(length);
    out.line(mode);
    if (mode === "1") out.rawBytes(whole!, 0, whole!.length);
  }

  // ── hooks ─────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Fields that were changed in place count as well. */
  private passRequest(request: Request): void {
    if (this.isAsCame(request)) {
      this.link.record(WireWord.Pass, this.id);
      this.done();
    } else {
      this.writeRequest(request, "k", null);
      this.done();
    }
  }

  /** Another request: where bodies are seen, its own goes with it. */
  private changeRequest(request: Request): void {
    if (this.head.kind !== "b") {
      this.writeRequest(request, "k", null);
      return this.done();
    }
    const own = nativeOf(request);
    if (own.bodyUsed) return this.fail(new TypeError("onRequest gave a Request whose body has been used"), "onRequest");
    let isHeadOut = false;
    this.outgoing = new OutgoingBody(this.link, this.id, {
      writeHead: (mode, whole) => {
        isHeadOut = true;
        this.writeRequest(request, mode, whole);
      },
      onSent: () => this.done(),
      onReadError: (error) => {
        if (!isHeadOut) return this.fail(error, "onRequest");
        this.report(error, "onRequest", "the body of its request");
        this.link.record(WireWord.Fault, this.id);
        this.done();
      },
      onCancelError: (error) => this.report(error, "onRequest", "cancel of the body of its request"),
    });
    this.outgoing.start(own.body as ReadableStream<unknown> | null);
  }

  /** @param mode "k" where the client's body goes on; see OutgoingOwner for the others */
  private writeRequest(request: Request, mode: "k" | "0" | "1" | "2", whole: Uint8Array | null): void {
    const out = this.link.record(WireWord.Changed, this.id);
    out.line(request.method);
    out.line(request.url);
    writeFieldLines(out, responseFields(nativeOf(request.headers)));
    out.line(mode);
    if (mode === "1") out.rawBytes(whole!, 0, whole!.length);
  }

  /** The head of a response, for `onResponse`. */
  onResponse(records: Records): void {
    const { status, fields, body } = readResponse(records);
    const response = new Response(BODILESS.has(status) ? null : body, { status, headers: fields });
    this.before = responseFields(response.headers);
    this.ask("onResponse", response);
  }

  private passResponse(response: Response): void {
    if (this.isAsCame(response)) this.link.record(WireWord.Pass, this.id);
    else {
      const { fields } = splitLength(responseFields(response.headers));
      this.writeResponse(response.status, fields, -1, "0", null);
    }
    this.done();
  }

  private isAsCame(message: Request | Response): boolean {
    return this.before === null
      ? isUntouched(message as Request)
      : hasSameFields(this.before, responseFields(message.headers));
  }

  // ── what the data worker says ─────────────────────────────────────────────────────────────────────────────────

  onBody(bytes: Uint8Array): void {
    this.incoming?.push(bytes);
    this.socket?.push(bytes);
  }

  onEnd(): void {
    this.incoming?.end();
    this.socket?.end();
  }

  onFault(): void {
    this.incoming?.fail(new TypeError("the request's body was not completed"));
  }

  onTaken(bytes: number): void {
    this.outgoing?.taken(bytes);
    this.socket?.taken(bytes);
  }

  onCancel(): void {
    const reason = new DOMException("The client has left, or the time is over.", "AbortError");
    this.incoming?.fail(reason);
    this.outgoing?.cancel(reason);
    this.socket?.end();
    this.done();
    this.abortReason = reason;
    this.abort?.abort(reason);
  }

  onOver(): void {
    this.done();
  }

  // ── the context ───────────────────────────────────────────────────────────────────────────────────────────────

  log(level: FunctionLine["level"], values: readonly unknown[]): void {
    if (!this.host.logBudget.take()) return;
    this.line({ event: "function_log", level, fields: lineOf(values) });
  }

  waitUntil(promise: unknown): void {
    const waited = Promise.resolve(promise).catch((error) => this.report(error, "waitUntil", "a promise of waitUntil"));
    this.host.keepAlive(waited);
  }

  upstream(request?: Request): Promise<Response> {
    if (this.isOver) return Promise.reject(new TypeError("the request of ctx.upstream() is over"));
    const sent = request ?? this.request!;
    if (!(sent instanceof Request)) return Promise.reject(new TypeError("ctx.upstream() takes a Request"));
    return new UpstreamCall(this.link, this.id, sent, sent === this.request).response;
  }

  upgrade(request: Request, options?: UpgradeOptions): { readonly socket: WebSocket; readonly response: Response } {
    return ServerSocket.open(request, options);
  }

  private accept(socket: ServerSocket, response: Response): void {
    this.socket = socket;
    const { fields } = splitLength(responseFields(response.headers));
    const out = this.link.record(WireWord.Upgrade, this.id);
    out.line(socket.protocol);
    writeFieldLines(out, fields);
    socket.attach(this.link, this.id, () => this.done());
  }

  // ── ends ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private refuse(status: 400 | 501): void {
    this.link.record(WireWord.Failed, this.id).line(status);
    this.done();
  }

  private fail(error: unknown, name: string): void {
    if (this.isOver && this.abortReason !== null) return;
    this.report(error, name, `${name} failed`);
    if (this.isOver) return;
    this.link.record(WireWord.Failed, this.id).line(500);
    this.done();
  }

  private report(error: unknown, name: string, what: string): void {
    if (!this.host.logBudget.take()) return;
    const { error: text, at, stack } = problemOf(error, this.host.placeOf(name));
    this.line({ event: "function_failed", level: "error", fields: { what, error: text, at, stack } });
  }

  private line(line: FunctionLine): void {
    const { requestId, route } = this.facts;
    const named: FunctionLine = { ...line, fields: { ...line.fields, route, request_id: requestId } };
    const text = JSON.stringify(named);
    this.host.logBudget.spend(text.length);
    // The data worker has forgotten the call.
    if (this.isOver) return this.host.tell(named);
    this.link.record(WireWord.Log, this.id).raw(text);
  }

  private done(): void {
    if (this.isOver) return;
    this.isOver = true;
    if (!this.isKept) return;
    this.link.remove(this.id);
    this.host.end(this);
  }
}

/** The client's request. */
class IncomingRequest extends Request {
  readonly #call: Call;

  constructor(url: string, init: RequestInit, call: Call) {
    super(url, init);
    this.#call = call;
  }

  static {
    Object.defineProperty(IncomingRequest, "name", { value: "Request" });
    Object.defineProperty(IncomingRequest.prototype, "signal", {
      get(this: IncomingRequest) {
        return this.#call.signal;
      },
    });
  }
}

function isThenable(given: unknown): given is PromiseLike<unknown> {
  return typeof given === "object" && given !== null && typeof (given as PromiseLike<unknown>).then === "function";
}

/** Writes names and values after their number. */
function writeFieldLines(out: { line(value: string | number): void }, fields: ResponseFields): void {
  out.line(fields.length);
  for (const [name, value] of fields) {
    out.line(name);
    out.line(value);
  }
}

/** What is not sent is not left open: its source may wait for it. */
function dropBody(response: unknown): void {
  if (response instanceof Response && !response.bodyUsed) response.body?.cancel().catch(() => {});
}

/** RFC 9110 §15.3.5, §15.3.6, §15.4.5 */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);
