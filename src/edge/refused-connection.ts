import type { TimerOwner } from "../core/timer-wheel.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { ClientConnection } from "./client-connection.ts";
import { ClientLink, type ClientSocketPorts } from "./client-socket.ts";

/** A connection that gets one last response, whatever it sends, and is then closed so that the response arrives. */
export class RefusedConnection implements ClientConnection, TimerOwner {
  place = -1;
  private readonly ctx: ClientSocketPorts;
  private readonly life: ClientLink;

  /** @param response what is sent; a few hundred bytes */
  constructor(socket: ByteSocket, ctx: ClientSocketPorts, response: Uint8Array) {
    this.ctx = ctx;
    this.life = new ClientLink(socket, ctx, this, false);
    this.life.writer.copy(response, 0, response.length);
    this.life.startClosing(true);
  }

  onData(chunk: Uint8Array): void {
    this.life.onLateData(chunk.length);
  }

  onDrain(): void {
    this.life.onDrain();
  }

  onEnd(): void {
    this.life.clientEnded = true;
    this.life.onLateEnd();
  }

  onClose(): void {
    this.life.markClosed();
  }

  onException(error: unknown): void {
    this.ctx.observer.onException(error);
    this.life.reset();
  }

  onTimer(): void {
    this.life.reset();
  }

  /** It is closing anyway. */
  drain(): void {}

  idleMs(): number {
    return -1;
  }

  closeIdle(): void {}
}
