import type { ByteSocket } from "../net/byte-socket.ts";
import type { EdgeContext } from "./edge-context.ts";
import { H1Connection } from "./h1-connection.ts";

type ClientSocket = ByteSocket & { data: H1Connection };

/** A port that is listened on. */
export interface Listener {
  readonly port: number;
  /** Accepts no more; connections that are there go on. */
  stop(): void;
}

/** All client connections of one worker. */
export class ConnectionSet {
  private readonly connections: Set<H1Connection> = new Set();

  add(connection: H1Connection): void {
    this.connections.add(connection);
  }

  delete(connection: H1Connection): void {
    this.connections.delete(connection);
  }

  /** Tells every connection to close once it has nothing more to answer. */
  drain(): void {
    for (const connection of this.connections) connection.drain();
  }

  get size(): number {
    return this.connections.size;
  }
}

/**
 * Listens for cleartext HTTP/1.1.
 * @param port 0 lets the system choose
 * @throws when the address cannot be had
 */
export function listenPlain(ctx: EdgeContext, connections: ConnectionSet, hostname: string, port: number): Listener {
  const { turn, writers } = ctx;
  const options = {
    hostname,
    port,
    reusePort: true,
    allowHalfOpen: true,
    socket: {
      open(socket: ClientSocket): void {
        turn.begin();
        socket.data = new H1Connection(socket, ctx, false);
        connections.add(socket.data);
        ctx.observer.onOpen();
      },
      data(socket: ClientSocket, chunk: Buffer): void {
        turn.begin();
        socket.data.onData(chunk);
        writers.flushAll();
      },
      drain(socket: ClientSocket): void {
        turn.begin();
        socket.data.onDrain();
        writers.flushAll();
      },
      end(socket: ClientSocket): void {
        turn.begin();
        socket.data.onEnd();
        writers.flushAll();
      },
      close(socket: ClientSocket): void {
        turn.begin();
        connections.delete(socket.data);
        if (socket.data !== undefined) socket.data.onClose();
        writers.flushAll();
      },
      error(socket: ClientSocket, error: unknown): void {
        turn.begin();
        // Without `data` it was `open` that failed.
        if (socket.data === undefined) ctx.observer.onException(error);
        else socket.data.onException(error);
        socket.terminate();
        writers.flushAll();
      },
    },
  };
  const server = Bun.listen(options as never) as unknown as { port: number; stop(closeAll?: boolean): void };
  return { port: server.port, stop: () => server.stop(false) };
}
