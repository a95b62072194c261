import type { TCPSocketListener } from "bun";
import { BYTE_SOCKET_HANDLERS, ByteSocket, PATIENCE_MS } from "./byte-socket.ts";
import { freePort } from "./ports.ts";

/** What an application does with one request: anything, at any time, or nothing. */
export type Application = (call: ApplicationCall) => void | Promise<void>;

/** A raw application of uWSGI or SCGI: each PATH_INFO has its script, and everything received is on record. */
export class ApplicationOrigin {
  readonly calls: ApplicationCall[] = [];
  /** Where the gateway's bytes broke the protocol. A test ends with this empty. */
  readonly violations: string[] = [];
  private readonly scripts = new Map<string, Application>();
  private listener: TCPSocketListener<ByteSocket> | null = null;

  /** @param socket the path of a UNIX socket, in the place of a port */
  static start(protocol: "uwsgi" | "scgi", socket = ""): ApplicationOrigin {
    const origin = new ApplicationOrigin(protocol, socket);
    const at = socket === "" ? { hostname: "127.0.0.1", port: freePort() } : { unix: socket };
    origin.listener = Bun.listen<ByteSocket>({
      ...(at as { hostname: string; port: number }),
      allowHalfOpen: true,
      socket: {
        ...BYTE_SOCKET_HANDLERS,
        open: (opened) => {
          const call = new ApplicationCall(origin);
          opened.data = call;
          call.attach(opened);
        },
      },
    });
    return origin;
  }

  private constructor(
    readonly protocol: "uwsgi" | "scgi",
    private readonly socket: string,
  ) {}

  /** The target for a route. */
  get url(): string {
    return `${this.protocol}://${this.socket === "" ? `127.0.0.1:${this.listener!.port}` : `unix:${this.socket}`}`;
  }

  on(path: string, script: Application): this {
    this.scripts.set(path, script);
    return this;
  }

  /** The last call for a path. */
  last(path: string): ApplicationCall {
    const found = this.calls.findLast((call) => call.variables.get("PATH_INFO") === path);
    if (found === undefined) throw new Error(`no call for ${path}`);
    return found;
  }

  stop(): void {
    this.listener?.stop(true);
    this.listener = null;
  }

  serve(call: ApplicationCall): void {
    this.calls.push(call);
    const names = call.pairs.map(([name]) => name);
    if (new Set(names).size !== names.length) this.violations.push(`a name twice: ${names.join(" ")}`);
    const script = this.scripts.get(call.variables.get("PATH_INFO") ?? "");
    if (script === undefined) call.respond("Status: 404\r\n\r\nno such script");
    else void Promise.resolve(script(call)).catch((error) => this.violations.push(String(error)));
  }
}

/** One connection, which is one request. */
export class ApplicationCall extends ByteSocket {
  pairs: readonly (readonly [name: string, value: string])[] = [];
  variables: ReadonlyMap<string, string> = new Map();
  modifiers: readonly number[] = [];
  private bytes: Buffer = Buffer.alloc(0);
  private hasHead = false;

  constructor(private readonly origin: ApplicationOrigin) {
    super();
  }

  /** The body, once as much of it has come as its length says. */
  async body(): Promise<Buffer> {
    const length = Number(this.variables.get("CONTENT_LENGTH") || 0);
    const deadline = performance.now() + PATIENCE_MS;
    while (this.bytes.length < length) {
      if (performance.now() > deadline) throw new Error(`${this.bytes.length} of ${length} bytes`);
      await Bun.sleep(1);
    }
    return this.bytes;
  }

  /** Sends a whole response, which the end of the connection ends. */
  respond(output: string | Uint8Array): void {
    this.send(output);
    this.finish();
  }

  protected override onReceived(chunk: Uint8Array): void {
    this.bytes = Buffer.concat([this.bytes, chunk]);
    if (this.hasHead) return;
    const found = this.origin.protocol === "uwsgi" ? this.readPacket() : this.readNetstring();
    if (found < 0) return;
    this.hasHead = true;
    this.bytes = this.bytes.subarray(found);
    this.variables = new Map(this.pairs);
    this.origin.serve(this);
  }

  private readPacket(): number {
    const { bytes } = this;
    const end = bytes.length < 4 ? Number.POSITIVE_INFINITY : 4 + bytes.readUInt16LE(1);
    if (bytes.length < end) return -1;
    this.modifiers = [bytes[0]!, bytes[3]!];
    const words: string[] = [];
    for (let at = 4; at < end; ) {
      const to = at + 2 + bytes.readUInt16LE(at);
      words.push(bytes.latin1Slice(at + 2, to));
      at = to;
      if (at > end) this.origin.violations.push("a variable beyond its packet");
    }
    this.takePairs(words);
    return end;
  }

  private readNetstring(): number {
    const { bytes } = this;
    const colon = bytes.indexOf(":");
    if (colon < 0) return -1;
    const length = bytes.latin1Slice(0, colon);
    if (!/^[1-9]\d*$/.test(length)) this.origin.violations.push(`a netstring of ${length}`);
    const end = colon + 1 + Number(length);
    if (bytes.length <= end) return -1;
    const text = bytes.latin1Slice(colon + 1, end);
    if (bytes[end] !== 0x2c || !text.endsWith("\0")) this.origin.violations.push("a netstring without its end");
    this.takePairs(text.slice(0, -1).split("\0"));
    if (this.pairs[0]![0] !== "CONTENT_LENGTH" || !text.includes("\0SCGI\x001\0"))
      this.origin.violations.push("no length and version of SCGI");
    return end + 1;
  }

  private takePairs(words: readonly string[]): void {
    if (words.length % 2 !== 0) this.origin.violations.push("a name without a value");
    this.pairs = words.flatMap((name, i) => (i % 2 === 0 ? [[name, words[i + 1] ?? ""] as const] : []));
  }
}
