import { type CallKind, type FunctionLine, type Records, Word } from "../wire.ts";
import { type CallFacts, Context, type ContextPorts, lineOf, type UpgradeOptions } from "./context.ts";
import { IncomingBody } from "./incoming-body.ts";
import { OutgoingBody } from "./outgoing-body.ts";
import { problemOf } from "./problem.ts";
import { type Fields, fieldsOf, headFault, isSame, splitLength } from "./response-head.ts";
import { ServerSocket, takeSocket } from "./server-socket.ts";
import { type ReadResponse, type Receiver, readResponse, type ThreadLink } from "./thread-link.ts";
import { UpstreamCall } from "./upstream-call.ts";

/** What calls ask of their thread. */
export interface CallHost {
  /** `file:line` of the function that is asked, as far as it is known. */
  placeOf(name: string): string;
  begin(call: Call): void;
  end(call: Call): void;
  keepAlive(promise: Promise<unknown>): void;
  invoke(kind: "fetch" | "onRequest" | "onResponse", subject: Request | Response, context: Context): unknown;
}

/** The fields of a record of a request, in their order. */
export interface CallHead {
  readonly kind: CallKind;
  readonly method: string;
  readonly url: string;
  readonly facts: CallFacts;
  readonly fields: [string, string][];
  /** Whether a body follows that is no part of the record. */
  readonly hasBody: boolean;
}

/** Reads the fields of the record of a request. */
export function readCall(records: Records): CallHead {
  const kind = records.line() as CallKind;
  const method = records.line();
  const url = records.line();
  const clientIp = records.line();
  const requestId = records.line();
  const route = records.line();
  const auth = records.line();
  const hasBody = records.line() === "1";
  const facts = { clientIp, requestId, route, auth: auth === "" ? null : JSON.parse(auth) };
  return { kind, method, url, facts, hasBody, fields: records.fields() };
}

/** One request in the thread of a function, from its head to the end of the response; with hooks, both of its ways. */
export class Call implements Receiver, ContextPorts {
  readonly link: ThreadLink;
  readonly id: number;
  readonly facts: CallFacts;
  private readonly host: CallHost;
  private readonly head: CallHead;
  private abort: AbortController | null = null;
  private abortReason: unknown = null;
  private request: Request | null = null;
  private incoming: IncomingBody | null = null;
  private outgoing: OutgoingBody | null = null;
  private socket: ServerSocket | null = null;
  private context: Context | null = null;
  private isOver = false;

  constructor(host: CallHost, link: ThreadLink, id: number, head: CallHead) {
    this.host = host;
    this.link = link;
    this.id = id;
    this.head = head;
    this.facts = head.facts;
    host.begin(this);
    link.add(id, this);
  }

  /** @param whole the body where it has come with the head; null where there is none, or it follows */
  run(whole: Buffer | null): void {
    const { head } = this;
    let request: Request;
    try {
      request = this.makeRequest(whole);
    } catch {
      // What no URL can hold, such as a host that is none.
      return this.refuse(400);
    }
    // The runtime takes methods that it does not know for GET.
    if (request.method !== head.method) return this.refuse(501);
    this.request = request;
    if (head.kind === "f") void this.fetch(request);
    else if (head.kind === "q") void this.onRequest(request);
  }

  private makeRequest(whole: Buffer | null): Request {
    const { method, url, fields, hasBody } = this.head;
    const init: RequestInit = { method, headers: fields };
    if (whole !== null) init.body = whole;
    else if (hasBody) {
      this.incoming = new IncomingBody(this.link, this.id, () => {});
      init.body = this.incoming.stream;
    }
    return new IncomingRequest(url, init, this);
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

  // ── type: function ────────────────────────────────────────────────────────────────────────────────────────────

  private async fetch(request: Request): Promise<void> {
    try {
      const given = this.host.invoke("fetch", request, this.makeContext());
      this.respond(given instanceof Response ? given : await given, "fetch");
    } catch (error) {
      this.fail(error, "fetch");
    }
  }

  private respond(response: unknown, name: "fetch" | "onRequest" | "onResponse"): void {
    if (this.isOver) return dropBody(response);
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
    const { fields, length } = splitLength(fieldsOf(response.headers));
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
          this.link.record(Word.Fault, this.id);
          this.done();
        },
      },
      mayHaveBody ? length : -1,
    );
    this.outgoing.start(mayHaveBody ? (response.body as ReadableStream<unknown> | null) : null);
  }

  private writeResponse(status: number, fields: Fields, length: number, mode: string, whole: Uint8Array | null): void {
    const out = this.link.record(Word.Response, this.id);
    out.line(status);
    writeFields(out, fields);
    out.line(length);
    out.line(mode);
    if (mode === "1") out.raw(Buffer.from(whole!.buffer, whole!.byteOffset, whole!.length).latin1Slice());
  }

  // ── hooks ─────────────────────────────────────────────────────────────────────────────────────────────────────

  private async onRequest(request: Request): Promise<void> {
    try {
      const before = fieldsOf(request.headers);
      const given = this.host.invoke("onRequest", request, this.makeContext());
      const result = given instanceof Promise ? await given : given;
      if (this.isOver) return dropBody(result);
      if (result === undefined || result === request) this.passRequest(request, before);
      else if (result instanceof Request) this.changeRequest(result);
      else this.respond(result, "onRequest");
    } catch (error) {
      this.fail(error, "onRequest");
    }
  }

  /** Fields that were changed in place count as well. */
  private passRequest(request: Request, before: Fields): void {
    const after = fieldsOf(request.headers);
    if (isSame(before, after)) this.link.record(Word.Pass, this.id);
    else this.writeRequest(request, after);
  }

  private changeRequest(request: Request): void {
    this.writeRequest(request, fieldsOf(request.headers));
  }

  private writeRequest(request: Request, fields: Fields): void {
    const out = this.link.record(Word.Changed, this.id);
    out.line(request.method);
    out.line(request.url);
    writeFields(out, fields);
  }

  /** The head of a response, for `onResponse`. */
  onResponse(records: Records): void {
    void this.judgeResponse(readResponse(records));
  }

  private async judgeResponse({ status, fields, body }: ReadResponse): Promise<void> {
    try {
      const response = new Response(BODILESS.has(status) ? null : body, { status, headers: fields });
      const before = fieldsOf(response.headers);
      const given = this.host.invoke("onResponse", response, this.makeContext());
      const result = given instanceof Promise ? await given : given;
      if (this.isOver) return dropBody(result);
      if (result !== undefined && result !== response) return this.respond(result, "onResponse");
      const after = fieldsOf(response.headers);
      if (isSame(before, after)) this.link.record(Word.Pass, this.id);
      else this.writeResponse(status, splitLength(after).fields, -1, "0", null);
    } catch (error) {
      this.fail(error, "onResponse");
    }
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
    this.line({ event: "function_log", level, fields: lineOf(values) });
  }

  waitUntil(promise: unknown): void {
    const waited = Promise.resolve(promise).catch((error) => this.report(error, "waitUntil", "a promise of waitUntil"));
    this.host.keepAlive(waited);
  }

  upstream(request?: Request): Promise<Response> {
    if (this.isOver) return Promise.reject(new TypeError("the request of ctx.upstream() is over"));
    const sent = request ?? this.request!;
    return new UpstreamCall(this.link, this.id, sent, sent === this.request).response;
  }

  upgrade(request: Request, options?: UpgradeOptions): { readonly socket: WebSocket; readonly response: Response } {
    return ServerSocket.open(request, options);
  }

  private accept(socket: ServerSocket, response: Response): void {
    this.socket = socket;
    const { fields } = splitLength(fieldsOf(response.headers));
    const out = this.link.record(Word.Upgrade, this.id);
    out.line(socket.protocol);
    writeFields(out, fields);
    socket.attach(this.link, this.id, () => this.done());
  }

  // ── ends ──────────────────────────────────────────────────────────────────────────────────────────────────────

  private refuse(status: 400 | 501): void {
    this.link.record(Word.Failed, this.id).line(status);
    this.done();
  }

  private fail(error: unknown, name: string): void {
    if (this.isOver && this.abortReason !== null) return;
    this.report(error, name, `${name} failed`);
    if (this.isOver) return;
    this.link.record(Word.Failed, this.id).line(500);
    this.done();
  }

  private report(error: unknown, name: string, what: string): void {
    const { error: text, at, stack } = problemOf(error, this.host.placeOf(name));
    this.line({ event: "function_failed", level: "error", fields: { what, error: text, at, stack } });
  }

  private line(line: FunctionLine): void {
    const { requestId, route } = this.facts;
    this.link
      .record(Word.Log, this.id)
      .raw(JSON.stringify({ ...line, fields: { ...line.fields, route, request_id: requestId } }));
  }

  private done(): void {
    if (this.isOver) return;
    this.isOver = true;
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

/** Writes names and values after their number. */
export function writeFields(out: { line(value: string | number): void }, fields: Fields): void {
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
