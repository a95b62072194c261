import type { TCPSocketListener, TLSOptions } from "bun";
import { BYTE_SOCKET_HANDLERS, ByteSocket, EndedEarly, PATIENCE_MS } from "./byte-socket.ts";
import { type Fields, HttpSyntaxError, type MessageBody, readBody, readHead } from "./http-message.ts";
import { freePort } from "./ports.ts";

/** What an origin does with one request. It may send anything, at any time, or nothing. */
export type OriginScript = (call: OriginCall) => void | Promise<void>;

/** One request as the origin received it. */
export interface OriginRequest {
  readonly method: string;
  readonly target: string;
  readonly version: string;
  readonly fields: Fields;
  /** Number of the connection, from 0, and of the request on it, from 0. */
  readonly connection: number;
  readonly index: number;
}

export interface OriginOptions {
  /** 0 (the default) takes a free one, which nobody else gets while the origin is stopped. */
  readonly port?: number;
  readonly tls?: TLSOptions;
  /** 127.0.0.1 without it. */
  readonly hostname?: string;
  /** The path of a UNIX socket to listen on, in the place of a port. */
  readonly socket?: string;
}

/** A raw TCP origin on loopback: each path is answered by its script, and everything received is on record. */
export class ScriptedOrigin {
  readonly connections: OriginConnection[] = [];
  readonly requests: OriginRequest[] = [];
  /** Where the gateway's bytes broke HTTP/1.1, and where a script failed. A test ends with this empty. */
  readonly violations: string[] = [];
  private readonly scripts = new Map<string, OriginScript>();
  private listener: TCPSocketListener<ByteSocket> | null = null;
  private fallback: OriginScript = (call) => call.reply("404 Not Found", [], "no such script");
  private readonly isTls: boolean;

  constructor(private readonly options: OriginOptions = {}) {
    this.isTls = options.tls !== undefined;
  }

  /** Starts an origin. */
  static start(options: OriginOptions = {}): ScriptedOrigin {
    const origin = new ScriptedOrigin(options);
    origin.listen(options.port ?? 0);
    return origin;
  }

  get port(): number {
    if (this.listener === null) throw new Error("the origin does not listen");
    return this.listener.port;
  }

  /** The target for a route. */
  get url(): string {
    if (this.options.socket !== undefined) return `unix:${this.options.socket}`;
    return this.isTls ? `https://localhost:${this.port}` : `http://127.0.0.1:${this.port}`;
  }

  /** Sets the script of a path (without query). */
  on(path: string, script: OriginScript): this {
    this.scripts.set(path, script);
    return this;
  }

  /** Sets the script of every path that has none. */
  otherwise(script: OriginScript): this {
    this.fallback = script;
    return this;
  }

  /** Connections that are open now. */
  get openConnections(): number {
    return this.connections.filter((connection) => !connection.isClosed && connection.ending === "open").length;
  }

  /** Requests for one path, in order. */
  requestsFor(path: string): OriginRequest[] {
    return this.requests.filter((request) => pathOf(request.target) === path);
  }

  /** Waits until `probe` gives something other than undefined. */
  async until<T>(what: string, probe: () => T | undefined, patienceMs = PATIENCE_MS): Promise<T> {
    const deadline = performance.now() + patienceMs;
    for (;;) {
      const found = probe();
      if (found !== undefined) return found;
      if (performance.now() > deadline) throw new Error(`waited in vain for ${what} at the origin`);
      await Bun.sleep(5);
    }
  }

  /** Ends every connection in order and stops listening; `listen` starts again. */
  stop(): void {
    this.listener?.stop(false);
    this.listener = null;
    for (const connection of this.connections) connection.close();
  }

  /** Listens, on a port of one's choice after a `stop`; 0 takes a free one. */
  listen(port: number): void {
    const hostname = this.options.hostname ?? (this.isTls ? "localhost" : "127.0.0.1");
    const { socket } = this.options;
    const at = socket === undefined ? { hostname, port: port === 0 ? freePort() : port } : { unix: socket };
    this.listener = Bun.listen<ByteSocket>({
      ...(at as { hostname: string; port: number }),
      allowHalfOpen: true,
      ...(this.options.tls === undefined ? {} : { tls: this.options.tls }),
      socket: {
        ...BYTE_SOCKET_HANDLERS,
        open: (socket) => {
          const connection = new OriginConnection(this.connections.length);
          this.connections.push(connection);
          socket.data = connection;
          connection.attach(socket);
          void this.serve(connection);
        },
      },
    });
  }

  private async serve(connection: OriginConnection): Promise<void> {
    try {
      for (let index = 0; !connection.isClosed && !connection.isTaken; index++) {
        if (!(await hasNextRequest(connection))) return connection.close();
        const call = await readCall(connection, index);
        this.requests.push(call.request);
        await (this.scripts.get(pathOf(call.request.target)) ?? this.fallback)(call);
        if (!connection.isTaken && !connection.isClosed) await call.body();
      }
    } catch (error) {
      this.noteFailure(connection, error);
    }
  }

  private noteFailure(connection: OriginConnection, error: unknown): void {
    // The gateway may give a request up at any time; only wrong bytes and broken scripts count.
    if (!(error instanceof EndedEarly)) this.violations.push(`connection ${connection.number}: ${String(error)}`);
    connection.reset();
  }
}

/** One connection to the origin. */
export class OriginConnection extends ByteSocket {
  /** Set by a script that goes on with the connection by itself: no further request is read from it. */
  isTaken = false;
  private readonly record: Uint8Array[] = [];
  private recorded = 0;

  constructor(readonly number: number) {
    super();
  }

  /** Every byte that was received, up to `RECORD_BYTES`. */
  get received(): Buffer {
    return Buffer.concat(this.record);
  }

  protected override onReceived(chunk: Uint8Array): void {
    if (this.recorded >= RECORD_BYTES) return;
    this.recorded += chunk.byteLength;
    this.record.push(chunk);
  }
}

/** One request at the origin, with what a script needs to answer it. */
export class OriginCall {
  private readonly bodyRead: { promise: Promise<MessageBody> | null } = { promise: null };

  constructor(
    readonly request: OriginRequest,
    readonly connection: OriginConnection,
  ) {}

  /** Reads the request body, once. */
  body(): Promise<MessageBody> {
    this.bodyRead.promise ??= readBody(this.connection, this.request.fields, false, FOREVER_MS);
    return this.bodyRead.promise;
  }

  /** Sends bytes as they are. */
  send(data: string | Uint8Array): void {
    this.connection.send(data);
  }

  /** Sends a well-formed answer with Content-Length. */
  reply(status: string, lines: readonly string[] = [], body: string | Uint8Array = ""): void {
    const bytes = typeof body === "string" ? Buffer.from(body, "utf8") : body;
    const head = [`HTTP/1.1 ${status}`, ...lines, `Content-Length: ${bytes.byteLength}`, "", ""].join("\r\n");
    this.send(Buffer.concat([Buffer.from(head, "latin1"), bytes]));
  }

  /** Sends bytes as they are and then ends the connection in order. */
  sendAndFinish(data: string | Uint8Array): void {
    this.connection.isTaken = true;
    this.connection.send(data);
    this.connection.finish();
  }

  /** Takes the connection over: no further request is read from it, and the script may keep it open. */
  takeOver(): OriginConnection {
    this.connection.isTaken = true;
    return this.connection;
  }
}

/** Bytes of each connection that are kept. */
const RECORD_BYTES = 256 * 1024;
const FOREVER_MS = 1e9;

function pathOf(target: string): string {
  return target.split("?", 1)[0]!;
}

async function hasNextRequest(connection: OriginConnection): Promise<boolean> {
  return connection.until(
    "a request",
    () => {
      if (connection.unread > 0) return true;
      return connection.ending !== "open" || connection.isClosed ? false : undefined;
    },
    FOREVER_MS,
  );
}

async function readCall(connection: OriginConnection, index: number): Promise<OriginCall> {
  const head = await readHead(connection, FOREVER_MS);
  const match = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\x21-\x7e\x80-\xff]+) (HTTP\/1\.[01])$/.exec(head.startLine);
  if (match === null) throw new HttpSyntaxError(`request line ${JSON.stringify(head.startLine)}`);
  if (head.fields.all("host").length !== 1)
    throw new HttpSyntaxError(`Host ${JSON.stringify(head.fields.all("host"))}`);
  const [, method = "", target = "", version = ""] = match;
  const request = { method, target, version, fields: head.fields, connection: connection.number, index };
  return new OriginCall(request, connection);
}
