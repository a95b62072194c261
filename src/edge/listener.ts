import { ClientPeer } from "../message/client.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { EdgeContext } from "./edge-context.ts";
import { H1Connection } from "./h1-connection.ts";
import { type ClientConnection, type ConnectionHeir, ProxiedConnection } from "./proxied-connection.ts";

type ClientSocket = ByteSocket & { data: ClientConnection };

/** Where to listen: at an address, or on a socket that listens already. */
export type ListenAt = { readonly hostname: string; readonly port: number } | { readonly fd: number };

/** A socket that is listened on. */
export interface Listener {
  readonly fd: number;
  /** Accepts no more; connections that are there go on. */
  stop(): void;
}

/** All client connections of one worker. */
export class ConnectionSet {
  private readonly connections: Set<ClientConnection> = new Set();

  add(connection: ClientConnection): void {
    this.connections.add(connection);
  }

  delete(connection: ClientConnection): void {
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
 * @throws when the address cannot be had
 */
export function listenPlain(ctx: EdgeContext, connections: ConnectionSet, where: ListenAt): Listener {
  const { turn, writers } = ctx;
  const heir: ConnectionHeir = {
    proxied(socket: ClientSocket, peer, rest): void {
      connections.delete(socket.data);
      socket.data = new H1Connection(socket, ctx, peer);
      connections.add(socket.data);
      if (rest.length > 0) socket.data.onData(rest);
    },
  };
  const options = {
    ...where,
    reusePort: !("fd" in where),
    allowHalfOpen: true,
    socket: {
      open(socket: ClientSocket): void {
        turn.begin();
        const peer = new ClientPeer(socket.remoteAddress ?? "", false, 0);
        const isProxy = ctx.settings.proxies?.has(peer.address) === true;
        socket.data = isProxy ? new ProxiedConnection(socket, ctx, heir) : new H1Connection(socket, ctx, peer);
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
  const server = Bun.listen(options as never) as unknown as { fd: number; stop(closeAll?: boolean): void };
  return { fd: "fd" in where ? where.fd : server.fd, stop: () => server.stop(false) };
}
