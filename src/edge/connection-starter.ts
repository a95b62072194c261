import type { ClientPeer } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { ClientSocket } from "./client-connection.ts";
import type { ClientSocketPorts, ConnectionSet } from "./client-socket.ts";
import { H1Connection, H1OrH2Connection, type UpgradeHandler } from "./h1-connection.ts";
import { H2Connection } from "./h2-connection.ts";

/** Starts the connections of sockets that are open. */
export class ConnectionStarter implements UpgradeHandler {
  private readonly ctx: ClientSocketPorts;
  private readonly connections: ConnectionSet;

  constructor(ctx: ClientSocketPorts, connections: ConnectionSet) {
    this.ctx = ctx;
    this.connections = connections;
  }

  /**
   * From here on the socket's events are the business of a connection of HTTP; one that was in charge before is notified of no
   * more. What begins as HTTP/1.1 may turn out to be HTTP/2 by prior knowledge (RFC 9113 §3.3), but not where the client
   * has agreed on HTTP/1.1.
   * @param protocol what ALPN settled on; "" if nothing was agreed
   */
  start(socket: ClientSocket, peer: ClientPeer, protocol: string): ClientSocket["data"] {
    const { ctx } = this;
    peer.ends = socket;
    peer.listener = ctx.listener;
    const { http2 } = ctx.settings;
    let connection: ClientSocket["data"];
    if (http2 === null || protocol.startsWith("http/1.")) connection = new H1Connection(socket, ctx, peer);
    else if (protocol === "h2") connection = new H2Connection(socket, ctx, peer, http2);
    else connection = new H1OrH2Connection(socket, ctx, peer, this);
    this.connections.replace(socket, connection);
    return connection;
  }

  http2Begun(socket: ByteSocket, peer: ClientPeer, chunk: Uint8Array): void {
    this.start(socket as ClientSocket, peer, "h2").onData(chunk);
  }
}
