import type { Exchange } from "../message/exchange.ts";
import type { TunnelEnd } from "../message/ports.ts";
import type { InputBuffer } from "../net/socket-buffers.ts";
import type { ClientLink } from "./client-socket.ts";
import { TUNNEL_IDLE_MS } from "./limits.ts";

/** Who learns when the tunnel is over. */
export interface TunnelOwner {
  tunnelOver(): void;
}

/** The client's end of a tunnel, after a 101: bytes go through as they come. RFC 9110 §7.8. */
export class ClientTunnel implements TunnelEnd {
  private readonly life: ClientLink;
  private readonly owner: TunnelOwner;
  private readonly input: InputBuffer;
  private readonly ex: Exchange;
  private readonly origin: TunnelEnd;
  private over = false;

  /** @param input bytes that the client has sent early, which go through first */
  constructor(life: ClientLink, owner: TunnelOwner, input: InputBuffer, ex: Exchange, origin: TunnelEnd) {
    this.life = life;
    this.owner = owner;
    this.input = input;
    this.ex = ex;
    this.origin = origin;
    life.arm(TUNNEL_IDLE_MS);
  }

  // ── what the client does ──────────────────────────────────────────────────────────────────────────────────────

  onData(chunk: Uint8Array): void {
    this.life.arm(TUNNEL_IDLE_MS);
    this.ex.bodyBytes += chunk.length;
    if (!this.origin.tunnelWrite(chunk, 0, chunk.length)) this.life.pause();
  }

  onEnd(): void {
    this.origin.tunnelEnd();
  }

  onDrain(): void {
    this.life.arm(TUNNEL_IDLE_MS);
    this.origin.tunnelWritable();
  }

  /** The client is gone, or nothing has gone through for too long. */
  onLost(): void {
    if (this.over) return;
    this.over = true;
    this.origin.tunnelClose();
  }

  // ── what the origin does ──────────────────────────────────────────────────────────────────────────────────────

  tunnelStart(): void {
    const { bytes, from, to } = this.input;
    this.input.lend();
    this.input.clear();
    if (to > from && !this.origin.tunnelWrite(bytes, from, to)) this.life.pause();
    else this.life.resume();
    if (this.life.clientEnded) this.origin.tunnelEnd();
  }

  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean {
    if (this.over) return true;
    this.life.arm(TUNNEL_IDLE_MS);
    this.ex.sentBytes += to - from;
    return this.life.writer.write(bytes, from, to);
  }

  /** With one direction gone the other is of no use to the protocols that are tunnelled: both ends close. */
  tunnelEnd(): void {
    this.tunnelClose();
    this.origin.tunnelClose();
  }

  tunnelWritable(): void {
    this.life.resume();
  }

  tunnelClose(): void {
    if (this.over) return;
    this.over = true;
    this.owner.tunnelOver();
  }
}
