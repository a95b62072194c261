import { blamesOrigin } from "../core/fault.ts";
import { RETURNED_CHUNK_BYTES } from "../core/limits.ts";
import { TimerNode, type TimerOwner } from "../core/timer-wheel.ts";
import type { ClientConnection } from "../edge/client-connection.ts";
import type { StreamEnd } from "../memory/stream-counters.ts";
import type { ClientPeer } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import type { UnsentOwner } from "../net/socket-buffers.ts";
import { proxyHeader } from "../proto/proxy-protocol/proxy-header-writer.ts";
import {
  type ConnectFailure,
  connectSocket,
  type Dial,
  type OriginSettings,
  type UpstreamSocketOwner,
  type UpstreamSocketPorts,
} from "../upstream/origin-socket.ts";
import type { ForwardTarget, StreamAttempt, StreamRoute } from "./stream-route.ts";

/** What a forwarded connection needs of its worker. */
export interface StreamForwardPorts {
  readonly upstream: UpstreamSocketPorts;
  /** The client's connection is over. */
  onClose(): void;
  onException(error: unknown): void;
}

/**
 * A connection that is forwarded to a target as it is, in both directions:
 *
 *   Dialling ──connected──▶ Open ──both ends have ended, or one is reset, or nothing comes for idle_timeout──▶ Over
 *      └── no connection: the next target, up to `attempts` ── none is left ─────────────────────────────────────┘
 *
 * What one end does not take is held, one received chunk at most, while the other is paused. An end of one direction (FIN) is passed on
 * and the other direction goes on; a reset is passed on as a reset. docs/streams.md
 */
export class Forwarding implements ClientConnection, TimerOwner, StreamAttempt, UnsentOwner {
  place = -1;
  triedTargets = 0;
  attemptedMs = -1;
  readonly upstreamMs = -1;
  isTrial = false;
  isForced = false;
  private readonly ctx: StreamForwardPorts;
  private readonly route: StreamRoute;
  private readonly host: string;
  private readonly peer: ClientPeer;
  private readonly client: End;
  /** Null until a target has taken the connection. */
  private target: End | null = null;
  private dialling: Dialling | null = null;
  private chosen: ForwardTarget | null = null;
  private left: number;
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly beganMs: number;
  private lookedMs: number;
  private connectMs = -1;
  private bytesIn = 0;
  private bytesOut = 0;
  /** Memory that waiting chunks keep. */
  private kept = 0;
  private hasEntered = false;
  private isOver = false;

  /**
   * @param peer the client; with a port where a PROXY header told one
   * @param host the name that it asked for; "" if none is known
   */
  constructor(ctx: StreamForwardPorts, route: StreamRoute, socket: ByteSocket, peer: ClientPeer, host: string) {
    this.ctx = ctx;
    this.route = route;
    this.host = host;
    this.client = new End(socket);
    this.peer = peer;
    this.left = route.attempts;
    this.beganMs = ctx.upstream.turn.nowMs;
    this.lookedMs = this.beganMs;
  }

  /** Asked for if it is needed: it costs a system call, and a socket that is closed has none. */
  get clientIp(): string {
    return this.peer.address;
  }

  /** Begins; what the client has sent already goes first. */
  start(received: Uint8Array): void {
    const { route } = this;
    route.counters.begun();
    if (route.needsAddress && !route.admits(this.clientIp)) return this.over("address_refused");
    this.hasEntered = route.open.enter(route.maxConnections);
    if (!this.hasEntered) return this.over("max_connections");
    if (received.length > 0) this.hold(this.client, received, received.buffer.byteLength);
    this.dial();
  }

  // ── the client ─────────────────────────────────────────────────────────────────────────────────────────────────

  onData(chunk: Uint8Array): void {
    if (this.isOver) return;
    const { target } = this;
    // What a socket reads is a buffer of its own. Asking for that buffer costs 0.4 µs.
    if (target === null) this.hold(this.client, chunk, chunk.length);
    else {
      this.bytesIn += chunk.length;
      this.route.counters.bytesIn(chunk.length);
      this.pass(chunk, this.client, target);
    }
  }

  onDrain(): void {
    if (this.target !== null) this.drained(this.client, this.target);
  }

  onEnd(): void {
    this.ended(this.client, this.target);
  }

  onClose(reason?: unknown): void {
    this.closed(this.client, this.target, reason, "client_reset");
  }

  onException(error: unknown): void {
    this.ctx.onException(error);
    this.over("exception");
  }

  /** The gateway is shutting down: what is under way goes on, for `server.shutdown_timeout` at most. */
  drain(): void {}

  /** Whether it is in use is not known. */
  idleMs(): number {
    return -1;
  }

  closeIdle(): void {}

  /** The time for draining is over. */
  endNow(): void {
    this.over("shutdown");
  }

  // ── the target ─────────────────────────────────────────────────────────────────────────────────────────────────

  /** A target has taken the connection. */
  onConnected(socket: ByteSocket): void {
    const { chosen, route } = this;
    this.dialling = null;
    chosen!.node.onConnected(this);
    this.connectMs = this.now - this.beganMs;
    const target = new End(socket);
    this.target = target;
    this.arm(route.idleMs);
    const { waiting } = this.client;
    this.client.waiting = [];
    this.keep(-this.kept);
    if (route.sendProxy !== "") this.pass(this.header(route.sendProxy), this.client, target);
    for (const chunk of waiting) this.onData(chunk);
    if (this.isOver || target.waiting.length > 0) return;
    if (this.client.hasEnded) this.finish(target);
    else this.client.resume();
  }

  /** @param isOurs whether that says nothing of the target */
  onNotConnected(isOurs: boolean): void {
    this.dialling = null;
    this.chosen!.node.onNotConnected(this, isOurs);
    this.triedTargets |= this.chosen!.bit;
    this.chosen = null;
    if (this.left > 0) this.dial();
    else this.over("connect_failed");
  }

  targetData(chunk: Uint8Array): void {
    if (this.isOver) return;
    this.bytesOut += chunk.length;
    this.route.counters.bytesOut(chunk.length);
    this.pass(chunk, this.target!, this.client);
  }

  targetDrained(): void {
    this.drained(this.target!, this.client);
  }

  targetEnded(): void {
    this.ended(this.target!, this.client);
  }

  targetClosed(reason: unknown): void {
    this.closed(this.target!, this.client, reason, "target_reset");
  }

  /** The time for connecting is the target's alone; the wait for name servers is bounded by itself. */
  onNaming(isWaiting: boolean): void {
    if (isWaiting) this.ctx.upstream.wheel.disarm(this.timer);
    else this.arm(this.route.connectMs);
  }

  onTimer(): void {
    if (this.dialling === null) return this.over("idle_timeout");
    this.dialling.giveUp();
    this.onNotConnected(false);
  }

  /** Too much waits for peers that do not read, and these have taken nothing for longest. */
  abandon(): void {
    this.over("abandoned");
  }

  // ── both ───────────────────────────────────────────────────────────────────────────────────────────────────────

  private dial(): void {
    const target = this.route.choose(this);
    if (target === null) return this.over(this.triedTargets === 0 ? "no_target" : "connect_failed");
    this.left--;
    this.chosen = target;
    this.dialling = new Dialling(this, this.ctx.upstream, target.dial);
    this.arm(this.route.connectMs);
    this.dialling.begin();
  }

  /** Where the client is, and where it came to. */
  private header(version: "v1" | "v2"): Uint8Array {
    const { socket } = this.client;
    const { localAddress = "", localPort, remotePort = 0 } = socket;
    const source = { address: this.clientIp, port: this.peer.toldPort || remotePort };
    return proxyHeader(version, source, { address: localAddress, port: localPort });
  }

  /** Whether the client has been banned since it came in; looked up once a second at most. */
  private isBanned(): boolean {
    const { bans } = this.route;
    if (bans === null || this.now - this.lookedMs < BAN_LOOK_MS) return false;
    this.lookedMs = this.now;
    return bans.isBanned(this.clientIp);
  }

  /**
   * Keeps what comes before a target is there; from MAX_EARLY_BYTES on, nothing more is read meanwhile.
   * @param bytes memory that the chunk keeps
   */
  private hold(end: End, chunk: Uint8Array, bytes: number): void {
    end.waiting.push(chunk);
    this.keep(bytes);
    if (this.kept >= MAX_EARLY_BYTES) end.pause();
  }

  private pass(chunk: Uint8Array, from: End, to: End): void {
    if (this.isBanned()) return this.over("banned");
    this.arm(this.route.idleMs);
    const sent = to.waiting.length > 0 ? 0 : to.socket.write(chunk, 0, chunk.length);
    if (sent === chunk.length) {
      giveBack(chunk);
      return;
    }
    // The socket is closed; it says so in a moment.
    if (sent < 0) return;
    to.waiting.push(sent === 0 ? chunk : chunk.subarray(sent));
    from.pause();
    this.keep(chunk.buffer.byteLength);
  }

  /** An end takes bytes again. */
  private drained(to: End, from: End): void {
    const { waiting } = to;
    if (this.isOver || waiting.length === 0) return;
    this.arm(this.route.idleMs);
    this.ctx.upstream.writers.unsent.progressed(this);
    while (waiting.length > 0) {
      const chunk = waiting[0]!;
      const sent = to.socket.write(chunk, 0, chunk.length);
      if (sent < 0) return;
      if (sent < chunk.length) {
        waiting[0] = chunk.subarray(sent);
        return;
      }
      waiting.shift();
      this.keep(-chunk.buffer.byteLength);
      giveBack(chunk);
    }
    if (from.hasEnded) this.finish(to);
    else from.resume();
  }

  /** One end sends nothing more. */
  private ended(from: End, to: End | null): void {
    if (this.isOver || from.hasEnded) return;
    from.hasEnded = true;
    if (to !== null && to.waiting.length === 0) this.finish(to);
  }

  /** All of one direction has been passed on. */
  private finish(to: End): void {
    const target = this.target!;
    to.isFinished = true;
    if (this.client.isFinished && target.isFinished) this.over("closed");
    else to.socket.shutdown();
  }

  /** The socket of one end is gone. @param reason undefined if both directions had ended */
  private closed(from: End, to: End | null, reason: unknown, reset: StreamEnd): void {
    from.isClosed = true;
    if (this.isOver) return;
    if (to === null) return this.over("client_left");
    // Both of its directions are over in order: what is left for the other end still goes there.
    if (reason === undefined && from.isFinished) this.ended(from, to);
    else this.over(reset);
  }

  private over(end: StreamEnd): void {
    if (this.isOver) return;
    this.isOver = true;
    const { ctx, route, client, target } = this;
    ctx.upstream.wheel.remove(this.timer);
    this.dialling?.giveUp();
    if (this.dialling !== null) this.chosen!.node.onNotConnected(this, true);
    else this.chosen?.node.disconnected();
    if (this.hasEntered) route.open.leave();
    this.letGo();
    const isOrderly = end === "closed" || end === "idle_timeout" || end === "shutdown";
    client.close(isOrderly);
    target?.close(isOrderly);
    route.counters.ended(end);
    route.log?.({
      route: route.label,
      protocol: route.protocol,
      clientIp: this.clientIp,
      host: this.host,
      target: target === null ? "" : this.chosen!.dial.originKey,
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      durationMs: this.now - this.beganMs,
      connectMs: this.connectMs,
      end,
    });
    ctx.onClose();
  }

  private keep(bytes: number): void {
    if (bytes === 0) return;
    this.kept += bytes;
    const { unsent } = this.ctx.upstream.writers;
    if (this.kept > 0) unsent.add(this, bytes);
    else unsent.remove(this, -bytes);
  }

  private letGo(): void {
    this.client.waiting.length = 0;
    if (this.target !== null) this.target.waiting.length = 0;
    this.keep(-this.kept);
  }

  private arm(ms: number): void {
    const { upstream } = this.ctx;
    upstream.wheel.arm(this.timer, upstream.turn.nowMs + ms);
  }

  private get now(): number {
    return this.ctx.upstream.turn.nowMs;
  }
}

/** A client that is slow to be connected rarely sends more meanwhile, and stopping it costs two system calls. */
const MAX_EARLY_BYTES = 16_384;

/** Milliseconds between two looks whether the client is banned. */
const BAN_LOOK_MS = 1000;

/** One end of a forwarded connection. */
class End {
  readonly socket: ByteSocket;
  /** What it has not taken; of the client before there is a target, what it has sent. */
  waiting: Uint8Array[] = [];
  /** Whether it has sent all that it will. */
  hasEnded = false;
  /** Whether it has been sent all that it will get. */
  isFinished = false;
  isClosed = false;
  private isPaused = false;

  constructor(socket: ByteSocket) {
    this.socket = socket;
  }

  pause(): void {
    if (this.isPaused) return;
    this.isPaused = true;
    this.socket.pause();
  }

  resume(): void {
    if (!this.isPaused) return;
    this.isPaused = false;
    this.socket.resume();
  }

  /** @param isOrderly with an end, and not with a reset */
  close(isOrderly: boolean): void {
    if (this.isClosed) return;
    this.isClosed = true;
    if (isOrderly) this.socket.close();
    else this.socket.terminate();
  }
}

/** A connection to a target, from the first attempt to its end. */
class Dialling implements UpstreamSocketOwner {
  readonly context: UpstreamSocketPorts;
  readonly settings: OriginSettings;
  private owner: Forwarding | null;
  private dial: Dial | null = null;
  private handshake: ByteSocket | null = null;

  constructor(owner: Forwarding, context: UpstreamSocketPorts, settings: OriginSettings) {
    this.owner = owner;
    this.context = context;
    this.settings = settings;
  }

  get pool(): UpstreamSocketOwner["pool"] {
    return this;
  }

  begin(): void {
    this.dial = connectSocket(this.settings, this);
  }

  /** What still comes of it is closed. */
  giveUp(): void {
    this.owner = null;
    this.dial?.cancel();
    this.handshake?.terminate();
  }

  onReached(socket: ByteSocket | null): void {
    if (this.owner === null) socket?.terminate();
    else this.handshake = socket;
  }

  onNaming(isWaiting: boolean): void {
    this.owner?.onNaming(isWaiting);
  }

  onOpen(socket: ByteSocket): void {
    this.handshake = null;
    if (this.owner === null) socket.terminate();
    else this.owner.onConnected(socket);
  }

  /** No request has a connection that is forwarded as it is. */
  readonly requestId = "";

  onConnectFailed({ fault }: ConnectFailure): void {
    this.owner?.onNotConnected(!blamesOrigin(fault));
  }

  onData(chunk: Uint8Array): void {
    this.owner?.targetData(chunk);
  }

  onEnd(): void {
    this.owner?.targetEnded();
  }

  onDrain(): void {
    this.owner?.targetDrained();
  }

  onClose(reason?: unknown): void {
    this.owner?.targetClosed(reason);
  }

  onException(error: unknown): void {
    if (this.owner === null) this.context.onException(error);
    else this.owner.onException(error);
  }
}

/** Left to the garbage collector, large chunks would walk through memory that no cache holds; see InputBuffer.giveBack. */
function giveBack(chunk: Uint8Array): void {
  if (chunk.length < RETURNED_CHUNK_BYTES) return;
  const { buffer } = chunk;
  if (buffer instanceof ArrayBuffer && buffer.byteLength === chunk.length) buffer.transfer(0);
}
