import type { ClientPeer } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { CertificateStore } from "./certificate-store.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import { HandshakeSet } from "./handshake-set.ts";
import type { WantedCertificates } from "./wanted-certificates.ts";

/** A connection that is forwarded as it is. */
export interface ForwardedConnection extends ClientConnection {
  /** Begins. @param received what the client has sent already; it is kept */
  start(received: Uint8Array): void;
}

/** Says which names are passed through: their connections go to a server that ends TLS itself. docs/streams.md#tls-pass-through */
export interface PassedNames {
  /** @param serverName lower-case */
  isPassed(serverName: string, listener: string): boolean;
  /** Whether some name of a listener is. */
  isBusy(listener: string): boolean;
  /**
   * Makes the connection of a client that asks for a name.
   * @param serverName lower-case
   * @param isOpen whether its TLS has ended here, and the socket gives clear text
   * @returns null for a connection that has requests for the gateway
   */
  forward(
    ctx: ClientSocketPorts,
    socket: ByteSocket,
    peer: ClientPeer,
    serverName: string,
    isOpen: boolean,
  ): ForwardedConnection | null;
}

/** What the connections of one TLS listener share, in one worker. */
export class TlsEndpoint {
  certificates: CertificateStore;
  /** Whether HTTP/2 is offered. */
  hasHttp2 = true;
  readonly handshakes: HandshakeSet = new HandshakeSet();

  /** Where certificates are obtained for the names that clients ask for; else null. */
  wanted: WantedCertificates | null = null;
  /** Null if no name is passed through. */
  passed: PassedNames | null = null;

  constructor(certificates: CertificateStore) {
    this.certificates = certificates;
  }
}
