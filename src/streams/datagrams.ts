import { ipVersion } from "../core/ip-address.ts";
import { TimerNode, type TimerOwner, type TimerWheel, type Turn } from "../core/timer-wheel.ts";
import type { StreamEnd } from "../memory/stream-counters.ts";
import { unmapped } from "../message/client-peer.ts";
import type { NameResolver } from "../net/name-resolver.ts";
import { connectUdp, listenUdp, type UdpListener, type UdpSocket } from "../net/udp-socket.ts";
import { proxyHeader } from "../proto/proxy-protocol/proxy-header-writer.ts";
import type { ForwardTarget, StreamAttempt, StreamRoute } from "./stream-route.ts";

/** Datagrams that wait for the socket of their session. */
const MAX_WAITING_DATAGRAMS = 16;

/** What the datagrams of a worker are forwarded with. */
export interface DatagramPorts {
  readonly turn: Turn;
  readonly wheel: TimerWheel;
  readonly names: Pick<NameResolver, "resolve">;
  onException(error: unknown): void;
}

/** A UDP stream, as its listener asks for it. */
export interface DatagramStream {
  readonly route: StreamRoute;
  /** Datagrams of the target for each of the client's, after which a session is over; -1 if that is not known. */
  readonly responses: number;
  /** Sessions at one address in one worker. */
  readonly maxSessions: number;
}

/**
 * An address where datagrams come in, in one worker. The datagrams of one client, address and port, are a session: they go to one target by
 * a socket of its own, which takes what comes from that target alone. docs/streams.md#udp
 */
export class DatagramListener {
  readonly host: string;
  readonly port: number;
  private readonly ctx: DatagramPorts;
  private readonly stream: () => DatagramStream | null;
  /** By the client, the one that was silent for longest first. */
  private readonly sessions: Map<string, Session> = new Map();
  private socket: UdpListener | null = null;
  private isOver = false;

  /** @param stream asked for each session; null if there is none any more */
  constructor(ctx: DatagramPorts, host: string, port: number, stream: () => DatagramStream | null) {
    this.ctx = ctx;
    this.host = host;
    this.port = port;
    this.stream = stream;
  }

  /** @throws when the address cannot be had */
  async open(): Promise<void> {
    const socket = await listenUdp(this.host, this.port, (data, port, address) => this.onDatagram(data, port, address));
    if (this.isOver) socket.close();
    else this.socket = socket;
  }

  /** Ends all sessions, and takes no more. */
  close(): void {
    this.isOver = true;
    for (const session of [...this.sessions.values()]) session.over("shutdown");
    this.socket?.close();
    this.socket = null;
  }

  /** Sends a datagram to a client. @returns whether the kernel has taken it */
  answer(data: Uint8Array, port: number, address: string): boolean {
    try {
      return this.socket?.send(data, port, address) === true;
    } catch {
      // Lost, as any datagram may be.
      return false;
    }
  }

  /** A session is over. */
  forget(key: string): void {
    this.sessions.delete(key);
  }

  private onDatagram(data: Buffer, port: number, address: string): void {
    this.ctx.turn.begin();
    try {
      const key = `${address} ${port}`;
      const known = this.sessions.get(key);
      // Banned clients cost no session and no line of the log.
      if (this.stream()?.route.bans?.isBanned(unmapped(address)) === true) return known?.over("banned");
      const session = known ?? this.begin(key, port, address);
      if (session === null) return;
      this.sessions.delete(key);
      this.sessions.set(key, session);
      session.send(data);
    } catch (error) {
      this.ctx.onException(error);
    }
  }

  private begin(key: string, port: number, address: string): Session | null {
    const stream = this.stream();
    if (stream === null || this.isOver) return null;
    if (this.sessions.size >= stream.maxSessions) {
      const [oldest] = this.sessions.values();
      oldest!.over("max_sessions");
    }
    const session = new Session(this.ctx, this, stream, key, port, address);
    return session.begin() ? session : null;
  }
}

/** The datagrams between a client and its target. */
class Session implements TimerOwner, StreamAttempt {
  triedTargets = 0;
  attemptedMs = -1;
  readonly upstreamMs = -1;
  isTrial = false;
  isForced = false;
  readonly clientIp: string;
  private readonly ctx: DatagramPorts;
  private readonly listener: DatagramListener;
  private readonly route: StreamRoute;
  private readonly responses: number;
  private readonly key: string;
  private readonly clientPort: number;
  private readonly clientAddress: string;
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly beganMs: number;
  private target: ForwardTarget | null = null;
  private socket: UdpSocket | null = null;
  /** Datagrams that came before there is a socket. */
  private waiting: Uint8Array[] = [];
  private connectMs = -1;
  private sent = 0;
  private received = 0;
  private bytesIn = 0;
  private bytesOut = 0;
  private isOver = false;

  constructor(
    ctx: DatagramPorts,
    listener: DatagramListener,
    stream: DatagramStream,
    key: string,
    port: number,
    address: string,
  ) {
    this.ctx = ctx;
    this.listener = listener;
    this.route = stream.route;
    this.responses = stream.responses;
    this.key = key;
    this.clientPort = port;
    this.clientAddress = address;
    this.clientIp = unmapped(address);
    this.beganMs = ctx.turn.nowMs;
    this.route.counters.begun();
    this.route.open.enter(0);
  }

  /** @returns false if the client may not come in, or there is no target */
  begin(): boolean {
    const { route } = this;
    if (!route.admits(this.clientIp)) this.over("address_refused");
    else {
      this.target = route.choose(this);
      if (this.target === null) this.over("no_target");
      else this.dial(this.target.dial.hostname, this.target.dial.port);
    }
    return !this.isOver;
  }

  /** A datagram of the client. */
  send(data: Uint8Array): void {
    this.arm();
    if (this.socket === null) {
      if (this.waiting.length < MAX_WAITING_DATAGRAMS) this.waiting.push(data);
      return;
    }
    const isFirst = this.sent++ === 0;
    if (!this.deliver(isFirst && this.route.sendProxy !== "" ? Buffer.concat([this.header(), data]) : data)) return;
    this.bytesIn += data.length;
    this.route.counters.bytesIn(data.length);
    if (this.responses === 0) this.over("closed");
  }

  onTimer(): void {
    this.over("idle_timeout");
  }

  onException(error: unknown): void {
    this.ctx.onException(error);
    this.over("exception");
  }

  over(end: StreamEnd): void {
    if (this.isOver) return;
    this.isOver = true;
    const { route, ctx, target } = this;
    ctx.wheel.remove(this.timer);
    this.listener.forget(this.key);
    this.socket?.close();
    if (target !== null) this.release(target, end === "target_refused" && this.received === 0);
    route.open.leave();
    route.counters.ended(end);
    route.log?.({
      route: route.label,
      protocol: "udp",
      clientIp: this.clientIp,
      host: "",
      target: target?.dial.originKey ?? "",
      bytesIn: this.bytesIn,
      bytesOut: this.bytesOut,
      durationMs: ctx.turn.nowMs - this.beganMs,
      connectMs: this.connectMs,
      end,
    });
  }

  private release({ node }: ForwardTarget, isRefused: boolean): void {
    if (this.received > 0) node.disconnected();
    else node.onNotConnected(this, !isRefused);
  }

  private dial(hostname: string, port: number): void {
    if (ipVersion(hostname) !== 0) return this.connect(hostname, port);
    this.ctx.names.resolve(hostname, ([address]) => {
      if (address === undefined) this.inTurn(() => this.over("connect_failed"));
      else this.connect(address, port);
    });
  }

  private connect(address: string, port: number): void {
    const onDatagram = (data: Uint8Array) => this.inTurn(() => this.onAnswer(data));
    const onRefused = () => this.inTurn(() => this.over("target_refused"));
    connectUdp(address, port, onDatagram, onRefused).then(
      (socket) => this.inTurn(() => this.onSocket(socket)),
      () => this.inTurn(() => this.over("connect_failed")),
    );
  }

  private onSocket(socket: UdpSocket): void {
    if (this.isOver) return socket.close();
    this.socket = socket;
    const { waiting } = this;
    this.waiting = [];
    for (const data of waiting) if (!this.isOver) this.send(data);
  }

  /** A datagram of the target. */
  private onAnswer(data: Uint8Array): void {
    if (this.isOver) return;
    this.arm();
    if (this.received++ === 0) {
      this.connectMs = this.ctx.turn.nowMs - this.beganMs;
      this.target!.node.onConnected(this);
    }
    if (this.listener.answer(data, this.clientPort, this.clientAddress)) {
      this.bytesOut += data.length;
      this.route.counters.bytesOut(data.length);
    }
    if (this.responses > 0 && this.received >= this.responses * this.sent) this.over("closed");
  }

  private deliver(data: Uint8Array): boolean {
    try {
      return this.socket!.send(data);
    } catch {
      // Too large with the header, or for the way: lost, as any datagram may be.
      return false;
    }
  }

  private header(): Uint8Array {
    const source = { address: this.clientIp, port: this.clientPort };
    return proxyHeader("v2", source, { address: this.listener.host, port: this.listener.port }, true);
  }

  private inTurn(work: () => void): void {
    this.ctx.turn.begin();
    try {
      work();
    } catch (error) {
      this.onException(error);
    }
  }

  private arm(): void {
    this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + this.route.idleMs);
  }
}
