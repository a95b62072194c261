import { Fault } from "../core/fault.ts";
import { TimerNode, type TimerOwner } from "../core/timer-wheel.ts";
import { ClientPeer, UNKNOWN_CLIENT } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { ProxyHeader, ProxyHeaderParser } from "../proto/proxy-protocol/proxy-header-parser.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import { peerAddress } from "./peer-address.ts";

/** Who goes on with the connection once its PROXY header is there. */
export interface ProxyHeaderHandler {
  /** @param rest the bytes after the header that have come already */
  proxied(socket: ByteSocket, peer: ClientPeer, rest: Uint8Array): void;
}

/**
 * A connection of a peer that must begin with a PROXY header: until that is complete, nothing is read as HTTP and nothing
 * is answered. It is cut when something else comes, or nothing in time.
 */
export class ProxiedConnection implements ClientConnection, TimerOwner {
  place = -1;
  private readonly socket: ByteSocket;
  private readonly ctx: ClientSocketPorts;
  private readonly handler: ProxyHeaderHandler;
  private readonly parser: ProxyHeaderParser = new ProxyHeaderParser();
  private readonly timer: TimerNode;
  private hasBegun = false;
  private isOver = false;

  constructor(socket: ByteSocket, ctx: ClientSocketPorts, handler: ProxyHeaderHandler) {
    this.socket = socket;
    this.ctx = ctx;
    this.handler = handler;
    this.timer = new TimerNode(this);
    ctx.wheel.arm(this.timer, ctx.turn.nowMs + ctx.settings.headerTimeoutMs);
  }

  onData(chunk: Uint8Array): void {
    if (this.isOver) return;
    this.hasBegun = true;
    const outcome = this.parser.push(chunk, 0, chunk.length);
    if (outcome === ProxyHeader.NeedMore) return;
    if (outcome === ProxyHeader.Malformed) {
      this.refuse();
      return;
    }
    this.isOver = true;
    this.ctx.wheel.remove(this.timer);
    const told = this.parser.sourceAddress === "" ? UNKNOWN_CLIENT : this.parser.sourceAddress;
    const peer = new ClientPeer(peerAddress(this.ctx, this.socket), false, 0, told);
    peer.toldPort = this.parser.sourcePort;
    this.handler.proxied(this.socket, peer, chunk.subarray(this.parser.consumed));
  }

  onDrain(): void {}

  /** The peer has ended before the header was complete; with no byte sent it only tried whether the port is open. */
  onEnd(): void {
    if (this.hasBegun) this.refuse();
    else this.cut();
  }

  onClose(): void {
    this.close();
  }

  onException(error: unknown): void {
    this.ctx.observer.onException(error);
    this.cut();
  }

  onTimer(): void {
    this.onEnd();
  }

  /** No request has begun. */
  drain(): void {
    this.cut();
  }

  /** A header is due, and `header_timeout` sees to it. */
  idleMs(): number {
    return -1;
  }

  closeIdle(): void {}

  private refuse(): void {
    if (!this.isOver) this.ctx.observer.onRefused(Fault.BadProxyHeader, peerAddress(this.ctx, this.socket));
    this.cut();
  }

  private cut(): void {
    if (this.isOver) return;
    this.close();
    this.socket.terminate();
  }

  private close(): void {
    if (this.isOver) return;
    this.isOver = true;
    this.ctx.wheel.remove(this.timer);
    this.ctx.observer.onClose();
  }
}
