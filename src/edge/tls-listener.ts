import { Fault } from "../core/fault.ts";
import { ClientPeer } from "../message/client-peer.ts";
import { acknowledge } from "../net/tcp-options.ts";
import { type HandshakeError, type TlsSocket, upgradeToTls } from "../net/tls-upgrade.ts";
import type { ClientConnection, ClientSocket } from "./client-connection.ts";
import { type ClientSocketPorts, type ConnectionSet, connectionEvents } from "./client-socket.ts";
import { DETACHED, GateVerdict, type Opener } from "./connection-gate.ts";
import { ConnectionStarter } from "./connection-starter.ts";
import { admits, cut, type ListenAt, type Listener, listen } from "./listener.ts";
import { peerAddress } from "./peer-address.ts";
import { ProxiedConnection, type ProxyHeaderHandler } from "./proxied-connection.ts";
import { plainRefusal } from "./refusal.ts";
import { RefusedConnection } from "./refused-connection.ts";
import type { PassedNames, TlsEndpoint } from "./tls-endpoint.ts";
import { type Alert, type HandshakeHandler, TlsHandshake } from "./tls-handshake.ts";

type SecureSocket = TlsSocket & { data: ClientConnection };

/**
 * Listens for TLS. A connection is at first a raw socket whose ClientHello is read here, since the certificate depends on
 * it; then the library's TLS is laid on the socket, and when its handshake is done the connection is one like any other.
 * @throws when the address cannot be had
 */
export function listenTls(
  ctx: ClientSocketPorts,
  connections: ConnectionSet,
  endpoint: TlsEndpoint,
  where: ListenAt,
): Listener {
  const handler = handshakeHandler(ctx, connections, () => endpoint.passed);
  const proxyHandler: ProxyHeaderHandler = {
    proxied(socket: ClientSocket, peer, rest): void {
      if (admits(ctx, socket, peer) !== GateVerdict.Taken) {
        connections.delete(socket.data);
        cut(ctx, socket);
        return;
      }
      connections.replace(socket, new TlsHandshake(socket, ctx, endpoint, peer, handler));
      if (rest.length > 0) socket.data.onData(rest);
    },
  };
  const events = connectionEvents(ctx, connections);
  const opener: Opener = {
    opened(socket): void {
      const peer = new ClientPeer(peerAddress(ctx, socket), true, 0);
      const isProxy = ctx.settings.proxies?.has(peer.address) === true;
      ctx.observer.onOpen();
      if (!isProxy && admits(ctx, socket, peer) !== GateVerdict.Taken) {
        cut(ctx, socket);
        return;
      }
      socket.data = isProxy
        ? new ProxiedConnection(socket, ctx, proxyHandler)
        : new TlsHandshake(socket, ctx, endpoint, peer, handler);
      connections.add(socket.data);
    },
  };
  return listen(where, ctx.gate, {
    ...events,
    open(socket: ClientSocket): void {
      ctx.turn.begin();
      ctx.gate.admit(socket, opener);
    },
    // Below the library's TLS these are ciphertext, of which it has taken its own copy.
    data(socket: ClientSocket, chunk: Buffer): void {
      if (socket.data !== DETACHED) events.data(socket, chunk);
    },
  });
}

function handshakeHandler(
  ctx: ClientSocketPorts,
  connections: ConnectionSet,
  passed: () => PassedNames | null,
): HandshakeHandler {
  const starter = new ConnectionStarter(ctx, connections);
  const handlers = {
    ...connectionEvents(ctx, connections),
    open(socket: SecureSocket): void {
      const opening = socket.data as TlsHandshake;
      ctx.gate.moved(opening.socket as ClientSocket, socket);
      opening.onUpgraded(socket);
    },
    handshake(socket: SecureSocket, ok: boolean, error: HandshakeError | null): void {
      ctx.turn.begin();
      if (socket.data instanceof TlsHandshake) socket.data.onHandshake(socket, ok, error);
      ctx.writers.flushAll();
    },
  };
  return {
    upgrade(opening, { context, options }, received): boolean {
      const socket = opening.socket as ClientSocket;
      socket.data = DETACHED;
      const data: ClientConnection = opening;
      if (upgradeToTls(socket, { context, options, received, handlers, data })) return true;
      socket.data = opening;
      return false;
    },
    secured(opening, socket, protocol, shown): void {
      // HTTP/2 begins with bytes of our own.
      if (protocol !== "h2") acknowledge(socket.fd);
      const { socketAddress, address } = opening.peer;
      const peer = new ClientPeer(socketAddress, true, 0, address, shown.identity, socket);
      peer.demand = opening.demand;
      peer.tlsGroup = opening.group;
      peer.serverName = opening.serverName;
      if (ctx.settings.keepsHello) peer.hello = opening.helloBytes;
      const stream = opening.serverName === "" ? null : passed()?.forward(ctx, socket, peer, opening.serverName, true);
      if (stream !== null && stream !== undefined) {
        connections.replace(socket as SecureSocket, stream);
        return stream.start(NOTHING);
      }
      const connection = starter.start(socket as SecureSocket, peer, protocol);
      if (ctx.draining) connection.drain();
    },
    passed(opening, connection, received): void {
      connections.replace(opening.socket as ClientSocket, connection);
      connection.start(received);
    },
    refused(opening, fault, alert): void {
      const socket = opening.socket as ClientSocket;
      const response = fault === Fault.PlainHttpOnTls ? plainRefusal(fault, ctx.clock) : alertRecord(alert);
      connections.replace(socket, new RefusedConnection(socket, ctx, response));
    },
  };
}

/** A fatal alert in a record of its own, as it is sent before there is a key. RFC 8446 §6. */
function alertRecord(description: Alert): Uint8Array {
  return Uint8Array.of(21, 3, 1, 0, 2, 2, description);
}

const NOTHING = new Uint8Array(0);
