import { errorReason } from "./error-reason.ts";
import type { LoadTarget } from "./load-target.ts";

/** What a user of a socket is told. After `ended` or `failed` comes nothing more. */
interface LoadSocketListener {
  /** Bytes may be sent now. */
  opened(): void;
  received(chunk: Uint8Array): void;
  /** The peer has ended the connection, in order or by a reset. */
  ended(wasReset: boolean): void;
  /** There is no connection; in a few words, why. */
  failed(reason: string): void;
}

/** One TCP or TLS connection to the target, with everything written in the end, whatever the kernel takes at once. */
export class LoadSocket {
  private socket: Bun.Socket<undefined> | null = null;
  private unsent: Uint8Array | null = null;
  private isOver = false;

  /** Connects; certificates are not verified, since the target is chosen on the command line. */
  constructor(
    target: LoadTarget,
    private readonly listener: LoadSocketListener,
  ) {
    const socket: Bun.SocketHandler<undefined> = {
      open: (opened) => this.opened(opened),
      data: (_, chunk) => {
        if (!this.isOver) this.listener.received(chunk);
      },
      drain: () => this.flush(),
      close: (_, error) => this.ended(error !== undefined && error !== null),
      error: () => this.ended(true),
      connectError: (_, error) => this.failed(errorReason(error)),
    };
    const { hostname, address, port, isTls } = target;
    const tls = isTls ? { tls: { rejectUnauthorized: false, serverName: hostname } } : {};
    Bun.connect({ hostname: address, port, socket, ...tls }).catch((error: unknown) => this.failed(errorReason(error)));
  }

  /** Of the peer, once there is a connection. */
  get remoteAddress(): string {
    return this.socket?.remoteAddress ?? "";
  }

  /** Sends bytes; one call at a time, while the connection is open. */
  send(bytes: Uint8Array): void {
    this.unsent = bytes;
    this.flush();
  }

  /** Ends the connection; the listener gets nothing more. */
  terminate(): void {
    this.isOver = true;
    this.unsent = null;
    this.socket?.terminate();
  }

  private opened(socket: Bun.Socket<undefined>): void {
    this.socket = socket;
    // An attempt cannot be cancelled: it ends here.
    if (this.isOver) socket.terminate();
    else this.listener.opened();
  }

  private flush(): void {
    if (this.unsent === null || this.socket === null) return;
    const written = this.socket.write(this.unsent);
    if (written < 0) return;
    this.unsent = written < this.unsent.length ? this.unsent.subarray(written) : null;
  }

  private ended(wasReset: boolean): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.socket === null) this.listener.failed("the connection was closed");
    else this.listener.ended(wasReset);
  }

  private failed(reason: string): void {
    if (this.isOver) return;
    this.isOver = true;
    this.listener.failed(reason);
  }
}
