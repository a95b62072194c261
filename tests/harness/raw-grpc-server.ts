import { createServer, type Socket } from "node:net";

/** An HTTP/2 frame. RFC 9113 §4.1. */
export function h2Frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Fields as HPACK literals that go into no table. RFC 7541 §6.2.2. */
export function h2Fields(fields: Readonly<Record<string, string>>): Buffer {
  const parts = Object.entries(fields).flatMap(([name, value]) => [0, name.length, name, value.length, value]);
  return Buffer.concat(
    parts.map((part) => (typeof part === "number" ? Buffer.from([part]) : Buffer.from(part, "latin1"))),
  );
}

/** A gRPC message in its frame; `length` and `flag` may lie. */
export function grpcFrame(payload: Uint8Array | string, length = payload.length, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, Buffer.from(payload as string)]);
}

export const HEADERS = 1;
export const DATA = 0;
export const RST_STREAM = 3;
export const GOAWAY = 7;
export const END_STREAM = 1;
export const END_HEADERS = 4;

/** What a scripted server does with one call. */
export interface RawCall {
  readonly stream: number;
  readonly socket: Socket;
  head(fields?: Readonly<Record<string, string>>, flags?: number): void;
  data(bytes: Uint8Array, flags?: number): void;
  trailers(fields: Readonly<Record<string, string>>): void;
}

/** A cleartext HTTP/2 server whose frames a test writes by hand. */
export class RawGrpcServer {
  connections = 0;
  private readonly server = createServer((socket) => this.serve(socket));
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly act: (call: RawCall) => void) {}

  static async start(act: (call: RawCall) => void): Promise<RawGrpcServer> {
    const made = new RawGrpcServer(act);
    await new Promise<void>((resolve) => made.server.listen(0, "127.0.0.1", resolve));
    return made;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
  }

  private serve(socket: Socket): void {
    this.connections++;
    this.sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => this.sockets.delete(socket));
    socket.write(h2Frame(4, 0, 0, new Uint8Array(0)));
    let unread = Buffer.alloc(0);
    let isGreeted = false;
    socket.on("data", (chunk: Buffer) => {
      unread = Buffer.concat([unread, chunk]);
      if (!isGreeted && unread.length >= PREFACE_BYTES) {
        unread = unread.subarray(PREFACE_BYTES);
        isGreeted = true;
      }
      while (isGreeted && unread.length >= 9 && unread.length >= 9 + unread.readUIntBE(0, 3)) {
        const length = unread.readUIntBE(0, 3);
        this.take(socket, unread[3]!, unread[4]!, unread.readUInt32BE(5));
        unread = unread.subarray(9 + length);
      }
    });
  }

  private take(socket: Socket, type: number, flags: number, stream: number): void {
    if (type === 4 && (flags & 1) === 0) socket.write(h2Frame(4, 1, 0, new Uint8Array(0)));
    if ((type !== DATA && type !== HEADERS) || (flags & END_STREAM) === 0) return;
    const write = (kind: number, bits: number, bytes: Uint8Array) => socket.write(h2Frame(kind, bits, stream, bytes));
    this.act({
      stream,
      socket,
      head: (fields = GRPC_HEAD, bits = END_HEADERS) => write(HEADERS, bits, h2Fields(fields)),
      data: (bytes, bits = 0) => write(DATA, bits, bytes),
      trailers: (fields) => write(HEADERS, END_HEADERS | END_STREAM, h2Fields(fields)),
    });
  }
}

export const GRPC_HEAD: Readonly<Record<string, string>> = { ":status": "200", "content-type": "application/grpc" };
const PREFACE_BYTES = 24;
