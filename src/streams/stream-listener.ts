import type { ClientSocket } from "../edge/client-connection.ts";
import { type ClientSocketPorts, type ConnectionSet, connectionEvents } from "../edge/client-socket.ts";
import { DETACHED, GateVerdict, type Opener } from "../edge/connection-gate.ts";
import { type ListenAt, type Listener, listen } from "../edge/listener.ts";
import { ProxiedConnection, type ProxyHeaderHandler } from "../edge/proxied-connection.ts";
import type { ForwardedConnection } from "../edge/tls-endpoint.ts";
import { ClientPeer } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";

/** What is done with the connections of a listener. */
export interface ListeningStream {
  /** Whether those of trusted peers begin with a PROXY header. */
  readonly acceptsProxy: boolean;
  forward(ctx: ClientSocketPorts, socket: ByteSocket, peer: ClientPeer): ForwardedConnection;
}

/**
 * Listens for the connections of a TCP stream. docs/streams.md#tcp
 * @param stream asked for each connection; null if there is none any more
 * @throws when the address cannot be had
 */
export function listenStream(
  ctx: ClientSocketPorts,
  connections: ConnectionSet,
  where: ListenAt,
  stream: () => ListeningStream | null,
): Listener {
  const begin = (
    current: ListeningStream | null,
    socket: ClientSocket,
    peer: ClientPeer,
    received: Uint8Array,
  ): void => {
    const { gate } = ctx;
    const isLetIn = gate.isUnlimited || gate.takesAddress(socket, peer.address) === GateVerdict.Taken;
    if (current === null || !isLetIn) return cut(ctx, connections, socket);
    const connection = current.forward(ctx, socket, peer);
    connections.replace(socket, connection);
    connection.start(received);
  };
  const handler: ProxyHeaderHandler = {
    proxied: (socket, peer, rest) => begin(stream(), socket as ClientSocket, peer, rest),
  };
  const opener: Opener = {
    opened(socket): void {
      ctx.observer.onOpen();
      const peer = new ClientPeer(socket, false, 0);
      const current = stream();
      const isProxy = current?.acceptsProxy === true && ctx.settings.proxies?.has(peer.address) === true;
      if (isProxy) connections.replace(socket, new ProxiedConnection(socket, ctx, handler));
      else begin(current, socket, peer, NOTHING);
    },
  };
  return listen(where, ctx.gate, {
    ...connectionEvents(ctx, connections),
    open(socket: ClientSocket): void {
      ctx.turn.begin();
      ctx.gate.admit(socket, opener);
    },
  });
}

function cut(ctx: ClientSocketPorts, connections: ConnectionSet, socket: ClientSocket): void {
  connections.delete(socket.data);
  socket.data = DETACHED;
  socket.terminate();
  ctx.observer.onClose();
}

const NOTHING = new Uint8Array(0);
