import { ClientPeer } from "../message/client.ts";
import { type ClientSocket, type ConnectionSet, connectionEvents } from "./connection-events.ts";
import { ConnectionStarter } from "./connection-starter.ts";
import type { EdgeContext } from "./edge-context.ts";
import { type ConnectionHeir, ProxiedConnection } from "./proxied-connection.ts";

/** Where to listen: at an address, or on a socket that listens already. */
export type ListenAt = { readonly hostname: string; readonly port: number } | { readonly fd: number };

/** A socket that is listened on. */
export interface Listener {
  readonly fd: number;
  /** Accepts no more; connections that are there go on. */
  stop(): void;
}

/** What a listener does with its sockets. */
export interface ListenerEvents {
  open(socket: ClientSocket): void;
  data(socket: ClientSocket, chunk: Buffer): void;
  drain(socket: ClientSocket): void;
  end(socket: ClientSocket): void;
  close(socket: ClientSocket): void;
  error(socket: ClientSocket, error: unknown): void;
}

/**
 * Listens for cleartext HTTP/1.1 and HTTP/2.
 * @throws when the address cannot be had
 */
export function listenPlain(ctx: EdgeContext, connections: ConnectionSet, where: ListenAt): Listener {
  const starter = new ConnectionStarter(ctx, connections);
  const heir: ConnectionHeir = {
    proxied(socket: ClientSocket, peer, rest): void {
      starter.start(socket, peer, "");
      if (rest.length > 0) socket.data.onData(rest);
    },
  };
  return listen(where, {
    ...connectionEvents(ctx, connections),
    open(socket: ClientSocket): void {
      ctx.turn.begin();
      const peer = new ClientPeer(ctx.settings.logsAddresses ? (socket.remoteAddress ?? "") : socket, false, 0);
      if (ctx.settings.proxies?.has(peer.address) === true) {
        connections.replace(socket, new ProxiedConnection(socket, ctx, heir));
      } else starter.start(socket, peer, "");
      ctx.observer.onOpen();
    },
  });
}

/**
 * Listens for TCP connections; several workers may listen at one address.
 * @throws when the address cannot be had
 */
export function listen(where: ListenAt, events: ListenerEvents): Listener {
  const options = { ...where, reusePort: !("fd" in where), allowHalfOpen: true, socket: events };
  const server = Bun.listen(options as never) as unknown as { fd: number; stop(closeAll?: boolean): void };
  return { fd: "fd" in where ? where.fd : server.fd, stop: () => server.stop(false) };
}
