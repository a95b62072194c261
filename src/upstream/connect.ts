import { Fault } from "../core/fault.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { isTlsError } from "../net/tls-error.ts";
import type { OriginSettings, UpstreamTls } from "./origin-pool.ts";
import { type HandshakeError, isUsable } from "./tls-verdict.ts";
import type { UpstreamContext } from "./upstream-context.ts";

/** Who hears of a connection to an origin. */
export interface UpstreamSocketOwner {
  readonly pool: { readonly settings: OriginSettings; readonly context: UpstreamContext };
  /** The connection can be written to. */
  onOpen(socket: ByteSocket): void;
  onConnectFailed(fault: Fault): void;
  onData(chunk: Uint8Array): void;
  onEnd(): void;
  onDrain(): void;
  onClose(): void;
  onException(error: unknown): void;
}

type UpstreamSocket = ByteSocket & { data: UpstreamSocketOwner; readonly alpnProtocol?: string | false | null };

/** Opens a connection and reports to `connection`: `onOpen` when it can be written to, or `onConnectFailed`. */
export function connectSocket(settings: OriginSettings, connection: UpstreamSocketOwner): void {
  const options = {
    hostname: settings.hostname,
    port: settings.port,
    allowHalfOpen: true,
    data: connection,
    socket: settings.tls === null ? PLAIN : SECURE,
    ...(settings.tls === null ? {} : { tls: tlsOptions(settings.tls, settings.isHttp2 === true) }),
  };
  Bun.connect(options as never).catch((error: unknown) => {
    const { context } = connection.pool;
    context.beginTurn();
    context.onConnectFailed(settings.originKey, failureCode(error));
    connection.onConnectFailed(Fault.UpstreamUnavailable);
    context.endTurn();
  });
}

/** A word for the log: what the system or the TLS library calls a failure. */
export function failureCode(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "failed");
}

const COMMON = {
  data(socket: UpstreamSocket, chunk: Buffer): void {
    const connection = socket.data;
    connection.pool.context.beginTurn();
    connection.onData(chunk);
    connection.pool.context.endTurn();
  },
  end(socket: UpstreamSocket): void {
    const connection = socket.data;
    connection.pool.context.beginTurn();
    connection.onEnd();
    connection.pool.context.endTurn();
  },
  drain(socket: UpstreamSocket): void {
    const connection = socket.data;
    connection.pool.context.beginTurn();
    connection.onDrain();
    connection.pool.context.endTurn();
  },
  close(socket: UpstreamSocket): void {
    const connection = socket.data;
    connection.pool.context.beginTurn();
    connection.onClose();
    connection.pool.context.endTurn();
  },
  error(socket: UpstreamSocket, error: unknown): void {
    if (isTlsError(error)) return;
    const connection = socket.data;
    connection.pool.context.beginTurn();
    connection.onException(error);
    connection.pool.context.endTurn();
  },
  connectError(): void {
    // The rejected promise says the same.
  },
};

const PLAIN = {
  ...COMMON,
  open(socket: UpstreamSocket): void {
    const connection = socket.data;
    connection.pool.context.beginTurn();
    if (!refuses(connection, socket)) connection.onOpen(socket);
    connection.pool.context.endTurn();
  },
};

/** Gives a connection up that leads back to this gateway, before anything is sent. @returns whether it did */
function refuses(connection: UpstreamSocketOwner, socket: UpstreamSocket): boolean {
  const { context, settings } = connection.pool;
  if (settings.isRefused?.(socket) !== true) return false;
  context.onConnectFailed(settings.originKey, "loop");
  connection.onConnectFailed(Fault.LoopDetected);
  socket.terminate();
  return true;
}

/** With TLS nothing can be written before the handshake, and only the handshake says whether the peer is trusted. */
const SECURE = {
  ...COMMON,
  open(): void {},
  handshake(socket: UpstreamSocket, ok: boolean, error: HandshakeError | null): void {
    const connection = socket.data;
    const { context, settings } = connection.pool;
    context.beginTurn();
    const isTrusted = isUsable(settings.tls?.rejectUnauthorized !== false, ok, error);
    // RFC 9113 §3.2: an origin that does not choose `h2` does not speak it.
    if (refuses(connection, socket)) {
      // It may show whatever certificate: the gateway's own are not for itself.
    } else if (isTrusted && (settings.isHttp2 !== true || socket.alpnProtocol === "h2")) connection.onOpen(socket);
    else {
      context.onConnectFailed(settings.originKey, isTrusted ? "no_http2" : failureCode(error));
      connection.onConnectFailed(Fault.UpstreamUnavailable);
      socket.terminate();
    }
    context.endTurn();
  },
};

/** What the library is told of a TLS connection to an origin. RFC 9113 §3.3: HTTP/2 is asked for by ALPN. */
export function tlsOptions(tls: UpstreamTls, isHttp2: boolean): object {
  return isHttp2 ? { ...tls, ALPNProtocols: ALPN_H2 } : tls;
}

/** Length and name. RFC 7301 §3.1. */
const ALPN_H2: Buffer = Buffer.from("\x02h2");
