import type { X509Certificate } from "node:crypto";
import type { Socket } from "bun";
import { BYTE_SOCKET_HANDLERS, type ByteSocket, PATIENCE_MS } from "./byte-socket.ts";
import { RawClient, type Reply } from "./raw-client.ts";

/** How a client holds its handshake. No certificate of a server is checked. */
export interface TlsClientOptions {
  /** Name in the ClientHello; none without it. */
  readonly serverName?: string;
  /** Application protocols that are offered; none without it. */
  readonly protocols?: readonly string[];
  /** The address of the server; 127.0.0.1 without it. */
  readonly hostname?: string;
  /** Own certificate and key, PEM. */
  readonly cert?: string;
  readonly key?: string;
}

/** What a TLS socket of Bun has that its types do not tell. */
interface SecureSocket {
  readonly alpnProtocol: string | false | null;
  getPeerX509Certificate(): X509Certificate | undefined;
}

/** A client over TLS that sends exactly the bytes it is told to. */
export class TlsClient extends RawClient {
  private constructor(
    /** DNS names of the server's certificate. */
    readonly names: readonly string[],
    /** What ALPN settled on; "" where nothing was offered. */
    readonly protocol: string,
  ) {
    super();
  }

  /** Connects to a loopback port and shakes hands; fails with the code of what went wrong. */
  static async open(port: number, options: TlsClientOptions = {}): Promise<TlsClient> {
    const { serverName, protocols, cert, key, hostname = "127.0.0.1" } = options;
    const done = Promise.withResolvers<TlsClient>();
    const early = new RawClient();
    await Bun.connect<ByteSocket>({
      hostname,
      port,
      allowHalfOpen: true,
      data: early,
      tls: {
        rejectUnauthorized: false,
        ...(serverName === undefined ? {} : { serverName }),
        ...(protocols === undefined ? {} : { ALPNProtocols: wireOf(protocols) }),
        ...(cert === undefined ? {} : { cert, key: key! }),
      } as never,
      socket: {
        ...BYTE_SOCKET_HANDLERS,
        open(): void {},
        handshake(socket: Socket<ByteSocket>, _ok: boolean, error: Error | null): void {
          const secure = socket as unknown as SecureSocket;
          const certificate = secure.getPeerX509Certificate();
          if (certificate === undefined) {
            done.reject(error ?? new Error("no handshake"));
            return;
          }
          const names = (certificate.subjectAltName ?? "").split(", ").flatMap((name) => name.split("DNS:").slice(1));
          const client = new TlsClient(names, secure.alpnProtocol || "");
          socket.data = client;
          client.attach(socket);
          done.resolve(client);
        },
        close(socket: Socket<ByteSocket>, error?: Error): void {
          done.reject(error ?? new Error("closed within the handshake"));
          BYTE_SOCKET_HANDLERS.close?.(socket, error);
        },
      } as never,
    });
    const patience = setTimeout(() => done.reject(new Error("no handshake in time")), PATIENCE_MS);
    return done.promise.finally(() => clearTimeout(patience));
  }

  /** One request on a connection of its own. */
  static async once(port: number, request: string | Uint8Array, options: TlsClientOptions = {}): Promise<Reply> {
    const client = await TlsClient.open(port, options);
    try {
      return await client.exchange(request);
    } finally {
      client.close();
    }
  }
}

function wireOf(protocols: readonly string[]): Buffer {
  return Buffer.concat(protocols.map((name) => Buffer.from([name.length, ...Buffer.from(name, "latin1")])));
}
