import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, type TlsOptions } from "node:tls";

/** What an origin does on a connection, once something has come. */
export type Break = (socket: Socket) => void | Promise<void>;

/** Origins that break in one way each: they begin when the first bytes have come, and send bytes as they are. */
export class BrokenOrigins {
  private readonly servers: Server[] = [];
  private readonly sockets: Set<Socket> = new Set();

  /** @returns the port */
  async add(act: Break, tls: TlsOptions | null = null): Promise<number> {
    const onSocket = (socket: Socket): void => {
      this.sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => this.sockets.delete(socket));
      socket.once("data", () => void act(socket));
    };
    const server = tls === null ? createServer(onSocket) : createTlsServer(tls, onSocket);
    server.on("tlsClientError", () => {});
    this.servers.push(server);
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", resolve);
    await promise;
    return (server.address() as { port: number }).port;
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    for (const server of this.servers) server.close();
  }
}

/** Sends these bytes, and keeps the connection. */
export function says(...pieces: readonly (string | Uint8Array)[]): Break {
  return (socket) => {
    for (const piece of pieces) socket.write(bytesOf(piece));
  };
}

/** Sends these bytes, and closes. */
export function saysAndCloses(...pieces: readonly (string | Uint8Array)[]): Break {
  return (socket) => {
    for (const piece of pieces) socket.write(bytesOf(piece));
    socket.end();
  };
}

/** Sends these bytes, and resets the connection once they have left. */
export function saysAndResets(...pieces: readonly (string | Uint8Array)[]): Break {
  return async (socket) => {
    for (const piece of pieces) socket.write(bytesOf(piece));
    await Bun.sleep(50);
    socket.resetAndDestroy();
  };
}

function bytesOf(piece: string | Uint8Array): Uint8Array {
  return typeof piece === "string" ? Buffer.from(piece, "latin1") : piece;
}

/** A frame of HTTP/2. RFC 9113 §4.1 */
export function frame(type: number, flags: number, stream: number, payload: string | Uint8Array = ""): Buffer {
  const content = Buffer.from(bytesOf(payload));
  const head = Buffer.alloc(9);
  head.writeUIntBE(content.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, content]);
}

/** A header block of literal fields that are not indexed. RFC 7541 §6.2.2 */
export function fieldBlock(...fields: readonly (readonly [name: string, value: string])[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]));
}

/** A text with its length before it. RFC 7541 §5.1, §5.2 */
function literal(text: string): Buffer {
  const bytes = [];
  if (text.length < 127) bytes.push(text.length);
  else {
    let rest = text.length - 127;
    bytes.push(127);
    for (; rest >= 128; rest >>= 7) bytes.push((rest & 127) | 128);
    bytes.push(rest);
  }
  return Buffer.concat([Buffer.from(bytes), Buffer.from(text, "latin1")]);
}
