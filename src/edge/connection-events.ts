import type { ByteSocket } from "../net/byte-socket.ts";
import { isTlsError } from "../net/tls-error.ts";
import type { EdgeContext } from "./edge-context.ts";
import type { ClientConnection } from "./proxied-connection.ts";

/** A client's socket. Whoever is in charge of it at the moment is its `data`. */
export type ClientSocket = ByteSocket & { data: ClientConnection };

/** All client connections of one worker, each with its place written down, so that adding and deleting cost a store. */
export class ConnectionSet {
  private readonly connections: ClientConnection[] = [];

  add(connection: ClientConnection): void {
    connection.place = this.connections.push(connection) - 1;
  }

  /** Takes a connection out; one that is not in is no matter. */
  delete(connection: ClientConnection | undefined): void {
    if (connection === undefined || connection.place < 0) return;
    const last = this.connections.pop()!;
    if (last !== connection) {
      this.connections[connection.place] = last;
      last.place = connection.place;
    }
    connection.place = -1;
  }

  /** Hands a socket on: another connection is in charge of it from now on. */
  replace(socket: ClientSocket, connection: ClientConnection): void {
    this.delete(socket.data);
    socket.data = connection;
    this.add(connection);
  }

  /** Tells every connection to close once it has nothing more to answer. */
  drain(): void {
    // From the end, since one that closes at once gives its place to the last.
    for (let i = this.connections.length - 1; i >= 0; i--) this.connections[i]?.drain();
  }

  get size(): number {
    return this.connections.length;
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
