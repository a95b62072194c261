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
  handshake(socket: UpstreamSocket, ok: boolean, error: Error | null): void {
    const connection = socket.data;
    connection.pool.context.beginTurn();
    const strict = connection.pool.settings.tls?.rejectUnauthorized !== false;
    if (ok && (!strict || error === null || error === undefined)) connection.onOpen(socket);
    else {
      connection.onConnectFailed();
      socket.terminate();
    }
    connection.pool.context.endTurn();
  },
};
