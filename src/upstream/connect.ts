import type { ByteSocket } from "../net/byte-socket.ts";
import type { H1UpstreamConnection } from "./h1-upstream-connection.ts";
import type { OriginSettings } from "./origin-pool.ts";

type UpstreamSocket = ByteSocket & { data: H1UpstreamConnection };

/** Opens a connection and reports to `connection`: `onOpen` when it can be written to, or `onConnectFailed`. */
export function connectSocket(settings: OriginSettings, connection: H1UpstreamConnection): void {
  const options = {
    hostname: settings.hostname,
    port: settings.port,
    allowHalfOpen: true,
    data: connection,
    socket: settings.tls === null ? PLAIN : SECURE,
    ...(settings.tls === null ? {} : { tls: settings.tls }),
  };
  Bun.connect(options as never).catch(() => {
    connection.pool.context.beginTurn();
    connection.onConnectFailed();
    connection.pool.context.endTurn();
  });
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
    connection.onOpen(socket);
    connection.pool.context.endTurn();
  },
};

/** With TLS nothing can be written before the handshake, and only the handshake says whether the peer is trusted. */
const SECURE = {
  ...COMMON,
  open(): void {},
  handshake(socket: UpstreamSocket, ok: boolean, error: TlsError | null): void {
    const connection = socket.data;
    const { context, settings } = connection.pool;
    context.beginTurn();
    const strict = settings.tls?.rejectUnauthorized !== false;
    if (strict ? ok && !error : !isBroken(error)) connection.onOpen(socket);
    else {
      connection.onConnectFailed();
      socket.terminate();
    }
    context.endTurn();
  },
};

interface TlsError {
  readonly code?: string;
}

/**
 * Whether the handshake failed, rather than the check of the certificate. Bun says `ok: false` for either (seen with a
 * self-signed certificate and verification off); only system errors look like EPROTO or ECONNRESET.
 */
function isBroken(error: TlsError | null): boolean {
  return error?.code !== undefined && /^E[A-Z]+$/.test(error.code);
}
