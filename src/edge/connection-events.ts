import type { ByteSocket } from "../net/byte-socket.ts";
import { isTlsError } from "../net/tls-error.ts";
import type { EdgeContext } from "./edge-context.ts";
import type { ClientConnection } from "./proxied-connection.ts";

/** A client's socket. Whoever is in charge of it at the moment is its `data`. */
export type ClientSocket = ByteSocket & { data: ClientConnection };

/** All client connections of one worker. */
export class ConnectionSet {
  private readonly connections: Set<ClientConnection> = new Set();

  add(connection: ClientConnection): void {
    this.connections.add(connection);
  }

  delete(connection: ClientConnection): void {
    this.connections.delete(connection);
  }

  /** Hands a socket on: another connection is in charge of it from now on. */
  replace(socket: ClientSocket, connection: ClientConnection): void {
    this.connections.delete(socket.data);
    socket.data = connection;
    this.connections.add(connection);
  }

  /** Tells every connection to close once it has nothing more to answer. */
  drain(): void {
    for (const connection of this.connections) connection.drain();
  }

  get size(): number {
    return this.connections.size;
  }
}

/** The events of a client's socket, each a turn: they go to the connection that is in charge of it. */
export function connectionEvents(ctx: EdgeContext, connections: ConnectionSet) {
  const { turn, writers } = ctx;
  return {
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
      else if (!isTlsError(error)) socket.data.onException(error);
      socket.terminate();
      writers.flushAll();
    },
  };
}
