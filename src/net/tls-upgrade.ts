import type { ByteSocket } from "./byte-socket.ts";
import type { TlsContext } from "./tls-context.ts";

/** What this project uses of a TLS socket beyond `ByteSocket`. */
export interface TlsSocket extends ByteSocket {
  /** -1 if the socket is closed. */
  readonly fd: number;
  /** What ALPN settled on; false or "" if the client offered nothing. */
  readonly alpnProtocol: string | false | null;
  isSessionReused(): boolean;
  /** Such as `TLSv1.3`. */
  getTLSVersion(): string;
  getPeerX509Certificate(): PeerCertificate | undefined;
}

/** What this project uses of `X509Certificate`. */
export interface PeerCertificate {
  readonly subject: string;
  readonly subjectAltName: string | undefined;
  readonly fingerprint256: string;
  readonly validTo: string;
}

/** How a handshake is to be held. */
export interface HandshakeOptions {
  /** Names of protocols in our order of preference, each with its length before it. RFC 7301 §3.1. */
  readonly ALPNProtocols: Buffer;
  readonly requestCert: boolean;
  /** Whether a handshake without a client certificate fails. */
  readonly rejectUnauthorized: boolean;
}

/** What the library says of a handshake; without a request for a certificate there is always one, which says nothing. */
export interface HandshakeError {
  readonly code?: string;
  readonly message?: string;
}

/** Events of a socket with TLS on it. */
interface TlsHandlers<T> {
  open(socket: TlsSocket & { data: T }): void;
  handshake(socket: TlsSocket & { data: T }, ok: boolean, error: HandshakeError | null): void;
  data(socket: TlsSocket & { data: T }, chunk: Buffer): void;
  drain(socket: TlsSocket & { data: T }): void;
  end(socket: TlsSocket & { data: T }): void;
  close(socket: TlsSocket & { data: T }): void;
  error(socket: TlsSocket & { data: T }, error: unknown): void;
}

/** What an upgrade is made of. */
interface UpgradeInit<T> {
  readonly context: TlsContext;
  readonly options: HandshakeOptions;
  /** The bytes that have been read already. They must stay unchanged. */
  readonly received: Uint8Array;
  readonly handlers: TlsHandlers<T>;
  readonly data: T;
}

/**
 * Lays TLS on an accepted socket, whose first bytes have been read. From then on its own events are ciphertext, and must
 * be left alone. Handlers may be called before this returns.
 *
 * Bun offers a context a listener, or one a name, but none a name and protocol as RFC 8737 asks for; its own `node:tls`
 * uses these options of `upgradeTLS`.
 * @returns whether it could be done
 */
export function upgradeToTls<T>(socket: ByteSocket, init: UpgradeInit<T>): boolean {
  const upgraded = (socket as unknown as Upgradable).upgradeTLS({
    isServer: true,
    initialData: init.received,
    secureContext: init.context,
    tls: init.options,
    data: init.data,
    socket: init.handlers,
  });
  return upgraded !== undefined;
}

interface Upgradable {
  upgradeTLS(options: object): unknown;
}

/** The wire form of protocol names. RFC 7301 §3.1. */
export function alpnWire(protocols: readonly string[]): Buffer {
  return Buffer.concat(protocols.map((name) => Buffer.from([name.length, ...Buffer.from(name, "latin1")])));
}
