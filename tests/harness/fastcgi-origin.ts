import type { TCPSocketListener } from "bun";
import { BYTE_SOCKET_HANDLERS, ByteSocket, PATIENCE_MS } from "./byte-socket.ts";
import { ABORT, type FastCgiRecord, PARAMS, readParams, readRecords, responseOf, STDIN } from "./fastcgi-records.ts";
import { freePort } from "./ports.ts";

/** What an application does with one request. It may send anything, at any time, or nothing. */
export type FastCgiScript = (call: FastCgiCall) => void | Promise<void>;

/** A raw FastCGI application: each path is answered by its script, and everything received is on record. */
export class FastCgiOrigin {
  readonly connections: FastCgiConnection[] = [];
  readonly calls: FastCgiCall[] = [];
  /** Where the gateway's bytes broke the protocol, and where a script failed. A test ends with this empty. */
  readonly violations: string[] = [];
  private readonly scripts = new Map<string, FastCgiScript>();
  private listener: TCPSocketListener<ByteSocket> | null = null;

  /** Starts an application. @param socket the path of a UNIX socket, in the place of a port */
  static start(socket = ""): FastCgiOrigin {
    const origin = new FastCgiOrigin(socket);
    origin.listen(socket === "" ? freePort() : 0);
    return origin;
  }

  private constructor(private readonly socket: string) {}

  get port(): number {
    return this.listener!.port;
  }

  /** The target for a route. */
  get url(): string {
    return this.socket === "" ? `fastcgi://127.0.0.1:${this.port}` : `fastcgi://unix:${this.socket}`;
  }

  /** Sets the script of a path as clients ask for it, without its query. */
  on(path: string, script: FastCgiScript): this {
    this.scripts.set(path, script);
    return this;
  }

  /** Calls for one path, in order. */
  callsFor(path: string): FastCgiCall[] {
    return this.calls.filter((call) => call.path === path);
  }

  stop(): void {
    this.listener?.stop(false);
    this.listener = null;
    for (const connection of this.connections) connection.close();
  }

  listen(port: number): void {
    const at = this.socket === "" ? { hostname: "127.0.0.1", port } : { unix: this.socket };
    this.listener = Bun.listen<ByteSocket>({
      ...(at as { hostname: string; port: number }),
      allowHalfOpen: true,
      socket: {
        ...BYTE_SOCKET_HANDLERS,
        open: (socket) => {
          const connection = new FastCgiConnection((call) => void this.serve(call));
          this.connections.push(connection);
          socket.data = connection;
          connection.attach(socket);
        },
      },
    });
  }

  private async serve(call: FastCgiCall): Promise<void> {
    this.calls.push(call);
    try {
      await (this.scripts.get(call.path) ?? ((one) => one.respond("Status: 404\r\n\r\nno such script")))(call);
    } catch (error) {
      this.violations.push(`${call.path}: ${String(error)}`);
    }
  }
}

/** One connection to the application, on which requests come one after the other. */
class FastCgiConnection extends ByteSocket {
  private rest: Buffer = Buffer.alloc(0);
  private call: FastCgiCall | null = null;
  private records: FastCgiRecord[] = [];

  constructor(private readonly begun: (call: FastCgiCall) => void) {
    super();
  }

  protected override onReceived(chunk: Uint8Array): void {
    const { records, rest } = readRecords(Buffer.concat([this.rest, chunk]));
    this.rest = Buffer.from(rest);
    for (const one of records) this.takeRecord(one);
  }

  private takeRecord(one: FastCgiRecord): void {
    if (one.type === STDIN || one.type === ABORT) {
      this.call?.takeRecord(one);
      return;
    }
    this.records.push(one);
    if (one.type !== PARAMS || one.content.length > 0) return;
    const [begin, ...params] = this.records;
    this.records = [];
    this.call = new FastCgiCall(this, begin!, readParams(Buffer.concat(params.map(({ content }) => content))));
    this.begun(this.call);
  }
}

/** One request, with what a script needs to answer it. */
export class FastCgiCall {
  readonly params: ReadonlyMap<string, string>;
  /** Bytes of the body that have come. */
  bodyBytes = 0;
  isAborted = false;
  private isWhole = false;
  private readonly pieces: Buffer[] = [];

  constructor(
    readonly connection: ByteSocket,
    readonly begin: FastCgiRecord,
    readonly pairs: readonly (readonly [name: string, value: string])[],
  ) {
    this.params = new Map(pairs);
  }

  /** As the client has asked for it, without its query. */
  get path(): string {
    return this.params.get("REQUEST_URI")!.split("?", 1)[0]!;
  }

  get keepsConnection(): boolean {
    return (this.begin.content[2]! & 1) === 1;
  }

  /** The body, once it is complete. */
  async body(): Promise<Buffer> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!this.isWhole) {
      if (performance.now() > deadline) throw new Error(`${this.bodyBytes} bytes of a body, and no end`);
      await Bun.sleep(1);
    }
    return Buffer.concat(this.pieces);
  }

  /** Sends bytes as they are. */
  send(...data: readonly (string | Uint8Array)[]): void {
    for (const one of data) this.connection.send(one);
  }

  /** Sends a whole response, and ends the connection where the gateway has not asked to keep it. */
  respond(output: string | Uint8Array): void {
    this.send(responseOf(output));
    if (!this.keepsConnection) this.connection.finish();
  }

  takeRecord({ type, content }: FastCgiRecord): void {
    if (type === ABORT) this.isAborted = true;
    else if (content.length === 0) this.isWhole = true;
    else {
      this.pieces.push(content);
      this.bodyBytes += content.length;
    }
  }
}
