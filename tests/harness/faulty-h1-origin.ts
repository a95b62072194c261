import { createServer, type Server, type Socket } from "node:net";

/** One request as a faulty origin sees it. Nothing but the script answers. */
export interface FaultyCall {
  readonly target: string;
  readonly socket: Socket;
  /** Bytes of the body that have come, framing removed. */
  body: Buffer;
  /** The body is complete as its framing says. */
  isEnded: boolean;
}

/** What a faulty origin does: asked when a connection opens, at a head, at each piece of a body, and at its end. */
export interface H1Script {
  onOpen(socket: Socket): void;
  onHead(call: FaultyCall): void;
  onBody(call: FaultyCall): void;
  onEnd(call: FaultyCall): void;
}

/** An origin of HTTP/1.1 that reads requests as they are framed, and otherwise does what its script says. */
export class FaultyH1Origin {
  private readonly server: Server;
  private readonly sockets = new Set<Socket>();
  /** What was no HTTP/1.1. */
  readonly violations: string[] = [];

  private constructor(script: H1Script) {
    this.server = createServer((socket) => {
      this.sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => {});
      socket.on("close", () => this.sockets.delete(socket));
      const reader = new RequestReader(socket, script, this.violations);
      socket.on("data", (chunk: Buffer) => reader.take(chunk));
      script.onOpen(socket);
    });
  }

  static async start(script: H1Script): Promise<FaultyH1Origin> {
    const origin = new FaultyH1Origin(script);
    await new Promise<void>((resolve) => origin.server.listen(0, "127.0.0.1", resolve));
    return origin;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }
}

class RequestReader {
  private unread: Buffer = Buffer.alloc(0);
  private call: FaultyCall | null = null;
  /** Bytes that are to come; -1 for chunks. */
  private remaining = 0;

  constructor(
    private readonly socket: Socket,
    private readonly script: H1Script,
    private readonly violations: string[],
  ) {}

  take(chunk: Buffer): void {
    this.unread = Buffer.concat([this.unread, chunk]);
    while (this.step());
  }

  /** @returns whether there may be more to do */
  private step(): boolean {
    if (this.socket.destroyed) return false;
    if (this.call === null) return this.readHead();
    return this.remaining < 0 ? this.readChunk(this.call) : this.readCounted(this.call);
  }

  private readHead(): boolean {
    const end = this.unread.indexOf("\r\n\r\n");
    if (end < 0) return false;
    const head = this.unread.latin1Slice(0, end);
    this.unread = this.unread.subarray(end + 4);
    const line = /^[A-Z]+ (\S+) HTTP\/1\.1\r\n/.exec(head);
    if (line === null) {
      this.violations.push(head.slice(0, 200));
      this.socket.destroy();
      return false;
    }
    this.remaining = /\r\ntransfer-encoding: chunked/i.test(head)
      ? -1
      : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    this.call = { target: line[1]!, socket: this.socket, body: Buffer.alloc(0), isEnded: false };
    this.script.onHead(this.call);
    if (this.remaining === 0) this.end(this.call);
    return true;
  }

  private readCounted(call: FaultyCall): boolean {
    if (this.unread.length === 0) return false;
    const piece = this.unread.subarray(0, this.remaining);
    this.remaining -= piece.length;
    this.unread = this.unread.subarray(piece.length);
    this.give(call, piece);
    if (this.remaining === 0) this.end(call);
    return true;
  }

  private readChunk(call: FaultyCall): boolean {
    const lineEnd = this.unread.indexOf("\r\n");
    if (lineEnd < 0) return false;
    const size = Number.parseInt(this.unread.latin1Slice(0, lineEnd), 16);
    if (size === 0) {
      const end = this.unread.indexOf("\r\n\r\n");
      if (end < 0) return false;
      this.unread = this.unread.subarray(end + 4);
      this.end(call);
      return true;
    }
    if (this.unread.length < lineEnd + 2 + size + 2) return false;
    const piece = this.unread.subarray(lineEnd + 2, lineEnd + 2 + size);
    this.unread = this.unread.subarray(lineEnd + 2 + size + 2);
    this.give(call, piece);
    return true;
  }

  private give(call: FaultyCall, piece: Buffer): void {
    call.body = Buffer.concat([call.body, piece]);
    this.script.onBody(call);
  }

  private end(call: FaultyCall): void {
    call.isEnded = true;
    this.call = null;
    this.remaining = 0;
    this.script.onEnd(call);
  }
}
