import { Fault } from "../core/fault.ts";
import { FaultDetail } from "../core/fault-detail.ts";
import { ipVersion } from "../core/ip-address.ts";
import type { Leniency } from "../core/leniency.ts";
import { isDescriptorShortage, isSocketShortage } from "../core/shortage.ts";
import { TICK_MS, TimerNode, type TimerOwner, type TimerWheel, type Turn } from "../core/timer-wheel.ts";
import type { IdleExchangePorts } from "../message/exchange.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { lowestDescriptor } from "../net/descriptors.ts";
import { isNoName, type NameListener, type NameResolver } from "../net/name-resolver.ts";
import { SocketWriter, type UnsentOwner, type WriterGroup, type WriterOwner } from "../net/socket-buffers.ts";
import { isTlsError } from "../net/tls-error.ts";
import type { HandshakeError, PeerCertificate } from "../net/tls-upgrade.ts";
import { connectDetail, failureCode, nameDetail } from "./failure-detail.ts";
import { denialDetail, tlsOptions, trustDenial, type UpstreamTls } from "./origin-trust.ts";

/** What all upstream connections of one worker share. */
export interface UpstreamSocketPorts {
  readonly writers: WriterGroup;
  readonly wheel: TimerWheel;
  readonly turn: Turn;
  readonly idlePorts: IdleExchangePorts;
  /** The addresses of origins that are named. */
  readonly names: NameResolver;
  /**
   * An attempt at an origin has failed.
   * @param reason as the system or the TLS library puts it; the word of `detail` if neither says anything
   * @param requestId of the request that it was for; "" if that has none
   */
  onFailed(originKey: string, reason: string, detail: FaultDetail, requestId: string): void;
  /** The gateway accepted a response that departs from HTTP/1.1. */
  onLeniency(originKey: string, what: Leniency): void;
  /** A script wrote errors while it ran for a request: the kept beginning of its text. docs/php.md#errors */
  onScriptErrors?(originKey: string, requestId: string, script: string, text: string): void;
  /** An exception escaped from the handling of an upstream connection. */
  onException(error: unknown): void;
}

/** How to reach an origin. */
export interface OriginSettings {
  /** `scheme://host[:port]` or `unix:/path`, the name in metrics and logs. */
  readonly originKey: string;
  readonly hostname: string;
  readonly port: number;
  /** The path of a UNIX socket, in the place of name and port; "" or none for TCP. */
  readonly socketPath?: string;
  /** The Host field in place of the client's. */
  readonly authority: string;
  /** Whether the origin speaks HTTP/2. */
  readonly isHttp2?: boolean;
  /** TLS options for the connection, or null for cleartext. */
  readonly tls: UpstreamTls | null;
  readonly maxIdleConnections: number;
  /** Connections of HTTP/2 at one time; MAX_H2_ORIGIN_CONNECTIONS without it. */
  readonly maxConnections?: number;
  readonly idleTimeoutMs: number;
  /** Header fields of a response; more are malformed. */
  readonly maxResponseFields: number;
  /** Whether the gateway accepts malformed responses of old origins. docs/upstreams.md#old-origins */
  readonly isLenient?: boolean;
  /** Whether a connection leads back to this gateway, which is 508. Without it nothing checks. */
  readonly isRefused?: (socket: ByteSocket) => boolean;
  /** Whether a connection to an address may be made, judged right before it is; without it, to any. */
  readonly admits?: (address: string) => boolean;
}

/** Why there is no connection to an origin. */
export interface ConnectFailure {
  readonly fault: Fault;
  readonly detail: FaultDetail;
}

/** Who is notified of a connection to an origin. */
export interface UpstreamSocketOwner {
  /** The id of the request that wants the connection; "" if none does, or it has none. */
  readonly requestId: string;
  readonly pool: { readonly settings: OriginSettings; readonly context: UpstreamSocketPorts };
  /** The connection can be written to. */
  onOpen(socket: ByteSocket): void;
  onConnectFailed(failure: ConnectFailure): void;
  /** The origin has accepted the connection, and the TLS handshake begins. @param socket to be closed if its end is not waited for; null if others see to that */
  onReached(socket: ByteSocket | null): void;
  /** The TLS library has ended the connection, after its handshake: the origin has sent an alert, or bytes that are no TLS. */
  onTlsFault?(): void;
  /**
   * The connection waits for name servers, or has done so. The wait is bounded here, and none of the origin's: the time for
   * connecting begins with its end.
   */
  onNaming(isWaiting: boolean): void;
  onData(chunk: Uint8Array): void;
  onEnd(): void;
  onDrain(): void;
  /** @param reason why the socket closed, if that was not in order */
  onClose(reason?: unknown): void;
  onException(error: unknown): void;
}

type UpstreamSocket = ByteSocket & {
  data: UpstreamSocketOwner;
  readonly alpnProtocol?: string | false | null;
  /** With TLS alone. */
  getPeerX509Certificate?(): PeerCertificate | undefined;
};

/** A connection that is being made, and may be given up. */
export interface Dial {
  /** No request waits for it any more: no handshake goes on. */
  cancel(): void;
}

/**
 * Opens a connection and reports to `connection`: `onOpen` when it can be written to, or `onConnectFailed`; `onNaming` before, if name servers are waited for.
 * @returns null if no more than the socket that `onReached` has told is to be closed
 */
export function connectSocket(settings: OriginSettings, connection: UpstreamSocketOwner): Dial | null {
  const { hostname, socketPath } = settings;
  if (ipVersion(hostname) !== 0 || isSocket(socketPath)) {
    if (settings.admits?.(hostname) === false) connection.onConnectFailed(deniedAddress(settings, connection));
    else connectTo(hostname, settings, connection);
    return null;
  }
  const dial = new NamedDial(settings, connection);
  dial.start();
  return dial;
}

/** Whether connections to an origin wait for name servers, since nothing is known of its name. */
export function awaitsName({ hostname, socketPath }: OriginSettings, { names }: UpstreamSocketPorts): boolean {
  return ipVersion(hostname) === 0 && !isSocket(socketPath) && names.isAwaited(hostname);
}

/** Whether a connection is made to a UNIX socket. */
export function isSocket(path: string | undefined): path is string {
  return path !== undefined && path !== "";
}

/** The destination for the runtime. @param address in the place of a name */
export function dialOptions(
  { port, socketPath }: { readonly port: number; readonly socketPath?: string },
  address: string,
): object {
  return isSocket(socketPath) ? { unix: socketPath } : { hostname: address, port };
}

/** No address of the origin may be connected to. */
function deniedAddress({ originKey }: OriginSettings, { pool, requestId }: UpstreamSocketOwner): ConnectFailure {
  pool.context.onFailed(originKey, "address_denied", FaultDetail.None, requestId);
  return { fault: Fault.DestinationDenied, detail: FaultDetail.None };
}

function connectTo(address: string, settings: OriginSettings, connection: UpstreamSocketOwner): void {
  Bun.connect(socketOptions(address, settings, connection) as never).catch((error: unknown) => {
    const { context } = connection.pool;
    context.turn.begin();
    // The runtime says ECONNREFUSED if no descriptor is left, too.
    const code = lowestDescriptor() < 0 ? "EMFILE" : failureCode(error);
    const fault = connectFault(code);
    const detail = fault === Fault.UpstreamUnavailable ? connectDetail(code) : FaultDetail.None;
    context.onFailed(settings.originKey, code, detail, connection.requestId);
    connection.onConnectFailed({ fault, detail });
    context.writers.flushAll();
  });
}

/** The connection for the runtime, and its listener. */
function socketOptions(address: string, settings: OriginSettings, data: UpstreamSocketOwner): object {
  const { tls, port, socketPath } = settings;
  if (tls === null && !isSocket(socketPath)) {
    // Most connections; written out, since spreading costs 0.3 µs.
    return { hostname: address, port, allowHalfOpen: true, data, socket: PLAIN };
  }
  const common = { ...dialOptions(settings, address), allowHalfOpen: true, data };
  if (tls === null) return { ...common, socket: PLAIN };
  return { ...common, socket: SECURE, tls: tlsOptions(tls, settings.isHttp2 === true) };
}

/** The fault of a failed connection: the origin's, or a shortage on this side. */
function connectFault(code: string): Fault {
  if (isDescriptorShortage(code)) return Fault.OutOfDescriptors;
  return isSocketShortage(code) ? Fault.OutOfSockets : Fault.UpstreamUnavailable;
}

/**
 * A connection to a name: its addresses are tried one after the other, the next one also when one takes longer than
 * NEXT_ADDRESS_MS, and the first that can be used is taken (RFC 8305 §5). When none is left, the name is asked for again at
 * once: it may have moved. docs/operations.md#names
 */
class NamedDial implements Dial {
  private readonly settings: OriginSettings;
  private readonly owner: UpstreamSocketOwner;
  private readonly timer: TimerNode = new TimerNode(this);
  private startedMs = 0;
  private readonly tried: Set<string> = new Set();
  private readonly pending: Set<DialledAddress> = new Set();
  private left: readonly string[] = [];
  /** Which of `left` is next. */
  private at = 0;
  /** How long an address may take before others are tried beside it, and how many others. */
  private paceMs = NEXT_ADDRESS_MS;
  private stride = 1;
  private isRefreshed = false;
  private isWaiting = false;
  private isOver = false;
  private failure: ConnectFailure = { fault: Fault.UpstreamUnavailable, detail: FaultDetail.ConnectRefused };

  constructor(settings: OriginSettings, owner: UpstreamSocketOwner) {
    this.settings = settings;
    this.owner = owner;
  }

  start(): void {
    const { names } = this.owner.pool.context;
    this.whenNamed((listener) => names.resolve(this.settings.hostname, listener));
  }

  /** The current attempt is slow: the next one need not wait for it. */
  onTimer(): void {
    const { names, turn } = this.owner.pool.context;
    for (const { address, startedMs } of this.pending) {
      // A working address may be slower than the pace of hundreds of attempts.
      if (address !== this.proven || turn.nowMs - startedMs >= NEXT_ADDRESS_MS)
        names.failed(this.settings.hostname, address);
    }
    for (let count = 0; count < this.stride; count++) this.next();
  }

  cancel(): void {
    // What an address without TLS makes of it is worth knowing to the next connection.
    if (this.isOver || this.settings.tls === null) return;
    this.isOver = true;
    this.owner.pool.context.wheel.remove(this.timer);
    this.dropPending();
  }

  /** @returns whether the connection is accepted; else it is to be closed */
  onUsable(from: DialledAddress, socket: ByteSocket): boolean {
    this.pending.delete(from);
    if (this.isOver) return false;
    this.isOver = true;
    const { context } = this.owner.pool;
    context.wheel.remove(this.timer);
    context.names.worked(this.settings.hostname, from.address);
    this.dropPending();
    (socket as UpstreamSocket).data = this.owner;
    this.owner.onOpen(socket);
    return true;
  }

  get requestId(): string {
    return this.owner.requestId;
  }

  /** @returns whether the handshake is worth its while */
  onReached(): boolean {
    if (!this.isOver) this.owner.onReached(null);
    return !this.isOver;
  }

  private dropPending(): void {
    this.endSearch();
    for (const one of this.pending) one.drop();
    this.pending.clear();
  }

  /** Whether it is open what becomes of an address. */
  awaits(address: DialledAddress): boolean {
    return !this.isOver && this.pending.has(address);
  }

  onFailed(from: DialledAddress, failure: ConnectFailure): void {
    this.pending.delete(from);
    this.failure = failure;
    if (this.isOver) return;
    // A want of this side says nothing of the address.
    if (failure.fault === Fault.UpstreamUnavailable) {
      this.owner.pool.context.names.failed(this.settings.hostname, from.address);
    }
    this.next();
  }

  /** Goes on with the addresses, at once if they are known, else in a turn of its own. */
  private whenNamed(ask: (listener: NameListener) => void): void {
    const { context } = this.owner.pool;
    this.isWaiting = true;
    let isAtOnce = true;
    ask((addresses, failure) => {
      if (isAtOnce) return this.onNames(addresses, failure);
      context.turn.begin();
      this.owner.onNaming(false);
      this.onNames(addresses, failure);
      context.writers.flushAll();
    });
    isAtOnce = false;
    if (this.isWaiting) this.owner.onNaming(true);
  }

  private onNames(found: readonly string[], failure: string): void {
    this.isWaiting = false;
    const { context } = this.owner.pool;
    const { admits } = this.settings;
    const addresses = admits === undefined ? found : found.filter(admits);
    if (found.length > 0 && addresses.length === 0) return this.deny();
    this.startedMs = context.turn.nowMs;
    this.left = this.tried.size === 0 ? addresses : addresses.filter((address) => !this.tried.has(address));
    this.at = 0;
    this.paceMs = Math.max(TICK_MS, Math.min(NEXT_ADDRESS_MS, USUAL_DIAL_MS / addresses.length - TICK_MS));
    // The wheel is up to a tick late.
    this.stride = Math.ceil((addresses.length * (this.paceMs + TICK_MS)) / USUAL_DIAL_MS);
    if (addresses.length === 0) {
      const detail = nameDetail(failure);
      context.onFailed(this.settings.originKey, failure, detail, this.requestId);
      const fault = isNoName(failure) ? Fault.UpstreamUnavailable : Fault.NameUnresolved;
      if (this.tried.size === 0) this.failure = { fault, detail };
      // Asking again right after no response would give none.
      this.isRefreshed = true;
    }
    this.next();
  }

  private deny(): void {
    this.isOver = true;
    this.owner.pool.context.wheel.remove(this.timer);
    this.dropPending();
    this.owner.onConnectFailed(deniedAddress(this.settings, this.owner));
  }

  private next(): void {
    if (this.isOver || this.isWaiting) return;
    const { context } = this.owner.pool;
    const address = this.nextAddress();
    if (address !== "" && context.turn.nowMs - this.startedMs < MAX_DIAL_MS) {
      context.wheel.arm(this.timer, context.turn.nowMs + this.paceMs);
      // The rest comes when one of them has failed, when another connection has found one that works, or with the next connection.
      const isExtra = this.pending.size >= MAX_PENDING_ADDRESSES;
      if (isExtra && address !== this.proven && !this.isSearching()) return;
      this.tried.add(address);
      const dialled = new DialledAddress(this, this.owner.pool, address, isExtra);
      this.pending.add(dialled);
      connectTo(address, this.settings, dialled);
      return;
    }
    this.endSearch();
    if (!this.isRefreshed) {
      this.isRefreshed = true;
      this.whenNamed((listener) => context.names.refresh(this.settings.hostname, listener));
    } else if (this.pending.size === 0) {
      this.isOver = true;
      context.wheel.remove(this.timer);
      this.owner.onConnectFailed(this.failure);
    }
  }

  /** Whether this is the one connection to its name that may try more than MAX_PENDING_ADDRESSES; the others take what it finds. */
  private isSearching(): boolean {
    const { hostname } = this.settings;
    const searcher = searchers.get(hostname);
    if (searcher === undefined) searchers.set(hostname, this);
    return (searcher ?? this) === this && extraAddresses < MAX_EXTRA_ADDRESSES;
  }

  private endSearch(): void {
    const { hostname } = this.settings;
    if (searchers.get(hostname) === this) searchers.delete(hostname);
  }

  /** The next address: behind the first, one with a recent success. "" if none is left. */
  private nextAddress(): string {
    if (this.tried.size > 0 && this.proven !== "" && !this.tried.has(this.proven)) return this.proven;
    while (this.at < this.left.length && this.tried.has(this.left[this.at]!)) this.at++;
    return this.left[this.at] ?? "";
  }

  private get proven(): string {
    const proven = this.owner.pool.context.names.provenOf(this.settings.hostname);
    return proven !== "" && this.settings.admits?.(proven) === false ? "" : proven;
  }
}

/** In this thread: addresses that are tried beyond MAX_PENDING_ADDRESSES, and the connection that does so, by name. */
let extraAddresses = 0;
const searchers: Map<string, NamedDial> = new Map();

/** One address of a name, while it is not known whether it will be used. */
class DialledAddress implements UpstreamSocketOwner {
  readonly pool: UpstreamSocketOwner["pool"];
  readonly address: string;
  readonly startedMs: number;
  private readonly dial: NamedDial;
  private isExtra: boolean;
  /** While the handshake goes on. */
  private socket: ByteSocket | null = null;

  constructor(dial: NamedDial, pool: UpstreamSocketOwner["pool"], address: string, isExtra: boolean) {
    this.dial = dial;
    this.pool = pool;
    this.address = address;
    this.startedMs = pool.context.turn.nowMs;
    this.isExtra = isExtra;
    if (isExtra) extraAddresses++;
  }

  /** Gives a handshake up; the system gives up connections that are not there yet. */
  drop(): void {
    this.socket?.terminate();
  }

  private settle(): void {
    this.socket = null;
    if (this.isExtra) extraAddresses--;
    this.isExtra = false;
  }

  onOpen(socket: ByteSocket): void {
    this.settle();
    if (!this.dial.onUsable(this, socket)) socket.terminate();
  }

  get requestId(): string {
    return this.dial.requestId;
  }

  onConnectFailed(failure: ConnectFailure): void {
    this.settle();
    this.dial.onFailed(this, failure);
  }

  onReached(socket: ByteSocket): void {
    if (this.dial.onReached()) this.socket = socket;
    else socket.terminate();
  }

  /** The TLS library does not report a reset during the handshake as its failure. */
  onClose(reason?: unknown): void {
    this.settle();
    if (this.dial.awaits(this)) this.onConnectFailed(lostHandshake(this, reason));
  }

  // An unused connection has no other event; an abandoned one is closed already.
  onNaming(): void {}
  onData(): void {}
  onEnd(): void {}
  onDrain(): void {}
  onException(error: unknown): void {
    this.pool.context.onException(error);
  }
}

/** RFC 8305 §5 recommends 250 ms. */
const NEXT_ADDRESS_MS = 250;
/** A name with many addresses has them tried within this time. */
const USUAL_DIAL_MS = 1500;
/** Addresses that one connection tries at the same time: an attempt lasts until the system gives it up. */
const MAX_PENDING_ADDRESSES = 32;
/** How many more one connection for each name may try, of all names: the one address that lives is found among hundreds that swallow what is sent. */
const MAX_EXTRA_ADDRESSES = 1024;
/** After this long no further address is begun with; connect timeouts are shorter as a rule. */
const MAX_DIAL_MS = 10_000;

/** A connection was lost before its handshake was over, of which the TLS library says nothing. */
export function lostHandshake({ pool, requestId }: UpstreamSocketOwner, reason: unknown): ConnectFailure {
  const detail = FaultDetail.TlsHandshakeClosed;
  pool.context.onFailed(pool.settings.originKey, failureCode(reason ?? { code: "ECONNRESET" }), detail, requestId);
  return { fault: Fault.UpstreamUnavailable, detail };
}

const COMMON = {
  data(socket: UpstreamSocket, chunk: Buffer): void {
    const connection = socket.data;
    connection.pool.context.turn.begin();
    connection.onData(chunk);
    connection.pool.context.writers.flushAll();
  },
  end(socket: UpstreamSocket): void {
    const connection = socket.data;
    connection.pool.context.turn.begin();
    connection.onEnd();
    connection.pool.context.writers.flushAll();
  },
  drain(socket: UpstreamSocket): void {
    const connection = socket.data;
    connection.pool.context.turn.begin();
    connection.onDrain();
    connection.pool.context.writers.flushAll();
  },
  close(socket: UpstreamSocket, reason?: unknown): void {
    const connection = socket.data;
    connection.pool.context.turn.begin();
    connection.onClose(reason);
    connection.pool.context.writers.flushAll();
  },
  error(socket: UpstreamSocket, error: unknown): void {
    const connection = socket.data;
    if (isTlsError(error)) return connection.onTlsFault?.();
    connection.pool.context.turn.begin();
    connection.onException(error);
    connection.pool.context.writers.flushAll();
  },
  connectError(): void {
    // The rejected promise says the same.
  },
};

const PLAIN = {
  ...COMMON,
  open(socket: UpstreamSocket): void {
    const connection = socket.data;
    connection.pool.context.turn.begin();
    if (!refuses(connection, socket)) connection.onOpen(socket);
    connection.pool.context.writers.flushAll();
  },
};

/** Gives a connection up that leads back to this gateway, before anything is sent. @returns whether it did */
function refuses(connection: UpstreamSocketOwner, socket: UpstreamSocket): boolean {
  const { context, settings } = connection.pool;
  if (settings.isRefused?.(socket) !== true) return false;
  context.onFailed(settings.originKey, "loop", FaultDetail.None, connection.requestId);
  connection.onConnectFailed({ fault: Fault.LoopDetected, detail: FaultDetail.None });
  socket.terminate();
  return true;
}

/** With TLS nothing can be written before the handshake, and only the handshake says whether the peer is trusted. */
const SECURE = {
  ...COMMON,
  open(socket: UpstreamSocket): void {
    socket.data.onReached(socket);
  },
  handshake(socket: UpstreamSocket, ok: boolean, error: HandshakeError | null): void {
    const connection = socket.data;
    const { context, settings } = connection.pool;
    context.turn.begin();
    const denial = trustDenial(settings.tls!, socket, ok, error);
    const isTrusted = denial === "";
    // RFC 9113 §3.2: an origin that does not choose `h2` does not speak it.
    if (refuses(connection, socket)) {
      // It may show whatever certificate: the gateway's own are not for itself.
    } else if (isTrusted && (settings.isHttp2 !== true || socket.alpnProtocol === "h2")) connection.onOpen(socket);
    else {
      const detail = isTrusted ? FaultDetail.Http1OnH2 : denialDetail(denial, error);
      context.onFailed(settings.originKey, isTrusted ? "no_http2" : denial, detail, connection.requestId);
      connection.onConnectFailed({ fault: Fault.UpstreamUnavailable, detail });
      socket.terminate();
    }
    context.writers.flushAll();
  },
};

/** The socket of one upstream connection: its way out, its one timer, its flow, its end. */
export class UpstreamLink implements WriterOwner, UnsentOwner {
  /** Null until the connection is open. */
  writer: SocketWriter | null = null;
  /** Whether reading has stopped, since the client does not take its bytes. */
  held = false;
  /** Whether the origin has accepted the connection, and whether the TLS library has ended it after that. */
  isReached = false;
  hasTlsFault = false;
  /** While the connection is being made. */
  dial: Dial | null = null;
  /** While its handshake goes on; null if the dial keeps that. */
  private handshake: ByteSocket | null = null;
  private isClosed = false;
  private readonly context: UpstreamSocketPorts;
  private readonly timer: TimerNode;
  private socket: ByteSocket | null = null;
  private ending = false;
  private isSecure = true;
  /** Memory that received bytes keep while reading is stopped. */
  private kept = 0;

  constructor(context: UpstreamSocketPorts, holder: TimerOwner) {
    this.context = context;
    this.timer = new TimerNode(holder);
  }

  /** The origin has accepted the connection: a handshake begins, unless no request waits for it any more. */
  reach(socket: ByteSocket | null): void {
    this.isReached = true;
    if (this.isClosed) socket?.terminate();
    else this.handshake = socket;
  }

  /** The connection is there. @param isSecure whether its end needs a TLS alert first */
  open(socket: ByteSocket, isSecure = true): SocketWriter {
    this.dial = null;
    this.handshake = null;
    this.socket = socket;
    this.isSecure = isSecure;
    this.writer = new SocketWriter(socket, this.context.writers, this);
    return this.writer;
  }

  /** The connection's own timers run already: for the response, or for a body that is not taken. */
  onBlocked(): void {}

  /** Sets the one timer of the connection. @param ms 0 stops it */
  arm(ms: number): void {
    const { wheel, turn } = this.context;
    if (ms > 0) wheel.arm(this.timer, turn.nowMs + ms);
    else wheel.disarm(this.timer);
  }

  /**
   * Stops reading; the timer stops too, for it is the client who keeps us waiting.
   * @param keptBytes memory that the received data already keeps
   */
  hold(keptBytes = 0): void {
    if (this.held) return;
    this.held = true;
    this.kept = keptBytes;
    if (keptBytes > 0) this.context.writers.unsent.add(this, keptBytes);
    this.arm(0);
    this.socket?.pause();
  }

  /** @returns whether reading had been stopped */
  release(): boolean {
    if (!this.held) return false;
    this.held = false;
    this.keepNothing();
    this.socket?.resume();
    return true;
  }

  /** Ends our direction once all is sent; the origin may go on. */
  endWriting(): void {
    this.writer?.flushTurn();
    this.ending = this.writer?.blocked ?? false;
    if (!this.ending) this.socket?.shutdown();
  }

  /** The socket takes bytes again. @returns whether all is sent */
  onDrain(): boolean {
    if (this.writer === null || !this.writer.onDrain()) return false;
    if (this.ending) this.endWriting();
    return true;
  }

  /** @param abruptly cuts, so that the origin does not take a broken-off request for complete */
  close(abruptly: boolean): void {
    this.context.wheel.remove(this.timer);
    this.keepNothing();
    this.isClosed = true;
    this.dial?.cancel();
    this.handshake?.terminate();
    const { socket, writer } = this;
    this.socket = null;
    if (socket === null || writer === null) return;
    if (abruptly) socket.terminate();
    else {
      writer.flushTurn();
      if (this.isSecure) socket.end();
      else socket.close();
    }
    writer.close();
  }
  /** Too much waits: the connection learns of the socket's end as of any other. */
  abandon(): void {
    this.keepNothing();
    this.socket?.terminate();
  }

  private keepNothing(): void {
    if (this.kept === 0) return;
    this.context.writers.unsent.remove(this, this.kept);
    this.kept = 0;
  }
}
