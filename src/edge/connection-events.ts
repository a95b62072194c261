import { MAX_IDLE_LOOKS, MIN_IDLE_CLOSED_MS } from "../core/limits.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { isTlsError } from "../net/tls-error.ts";
import type { EdgeContext } from "./edge-context.ts";
import type { ClientConnection } from "./proxied-connection.ts";

/** A client's socket. Whoever is in charge of it at the moment is its `data`. */
export type ClientSocket = ByteSocket & { data: ClientConnection };

/** All client connections of one worker, each with its place written down, so that adding and deleting cost a store. */
export class ConnectionSet {
  private readonly connections: ClientConnection[] = [];
  /** Where the last look for an idle one ended. */
  private looked = 0;

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

  /** Ends what is left as if its peers had gone: there is no time left. @returns how many there were */
  cutAll(): number {
    const cut = this.connections.length;
    for (let connection = this.connections.at(-1); connection !== undefined; connection = this.connections.at(-1)) {
      this.delete(connection);
      connection.onClose();
    }
    return cut;
  }

  /**
   * The connection that has been idle longest, of the next MAX_IDLE_LOOKS in turn; null where none of them has been
   * for a while: the next request of a client that asks all the time would run into the close.
   * @param nowMs on the clock of turns
   */
  longestIdle(nowMs: number): ClientConnection | null {
    const { length } = this.connections;
    let longest: ClientConnection | null = null;
    let longestMs = MIN_IDLE_CLOSED_MS;
    for (let i = Math.min(length, MAX_IDLE_LOOKS); i > 0; i--) {
      this.looked = this.looked + 1 < length ? this.looked + 1 : 0;
      const connection = this.connections[this.looked]!;
      const idleMs = connection.idleMs(nowMs);
      if (idleMs <= longestMs) continue;
      longest = connection;
      longestMs = idleMs;
    }
    return longest;
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
      ctx.gate.closed(socket);
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
