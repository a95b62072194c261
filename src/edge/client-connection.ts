// A client connection, and the socket that it is in charge of.
import type { ByteSocket } from "../net/byte-socket.ts";

/** A client connection, as its listener sees it. */
export interface ClientConnection {
  /** Its index in its ConnectionSet; -1 if it is in none. */
  place: number;
  onData(chunk: Uint8Array): void;
  onDrain(): void;
  onEnd(): void;
  /** @param reason why the socket closed, if that was not in order; some owners tell a reset apart by it */
  onClose(reason?: unknown): void;
  onException(error: unknown): void;
  /** The gateway is shutting down. */
  drain(): void;
  /** For how long it has had nothing to do, in milliseconds; -1 if it is busy, or has only just begun. */
  idleMs(nowMs: number): number;
  /** Its place is wanted: an idle connection closes in order. */
  closeIdle(): void;
  /** Ends it at once. Without it, the connection learns that its peer is gone. */
  endNow?(): void;
}

/** A client's socket. Its current owner is its `data`. */
export type ClientSocket = ByteSocket & { data: ClientConnection };
