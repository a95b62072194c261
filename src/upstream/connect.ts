import { isIP } from "node:net";
import { Fault } from "../core/fault.ts";
import { isDescriptorShortage, isSocketShortage } from "../core/shortage.ts";
import { TimerNode } from "../core/timer-wheel.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { lowestDescriptor } from "../net/descriptors.ts";
import type { NameListener } from "../net/name-resolver.ts";
import { isTlsError } from "../net/tls-error.ts";
import type { OriginSettings, UpstreamTls } from "./origin-pool.ts";
import { type HandshakeError, isUsable } from "./tls-verdict.ts";
import type { UpstreamContext } from "./upstream-context.ts";

/** Who hears of a connection to an origin. */
export interface UpstreamSocketOwner {
  readonly pool: { readonly settings: OriginSettings; readonly context: UpstreamContext };
  /** The connection can be written to. */
  onOpen(socket: ByteSocket): void;
  onConnectFailed(fault: Fault): void;
  onData(chunk: Uint8Array): void;
  onEnd(): void;
  onDrain(): void;
  onClose(): void;
  onException(error: unknown): void;
}

type UpstreamSocket = ByteSocket & { data: UpstreamSocketOwner; readonly alpnProtocol?: string | false | null };

/** Opens a connection and reports to `connection`: `onOpen` when it can be written to, or `onConnectFailed`. */
export function connectSocket(settings: OriginSettings, connection: UpstreamSocketOwner): void {
  const { hostname } = settings;
  if (isIP(hostname) !== 0) connectTo(hostname, settings, connection);
  else new NamedDial(settings, connection).start();
}

function connectTo(address: string, settings: OriginSettings, connection: UpstreamSocketOwner): void {
  const options = {
    hostname: address,
    port: settings.port,
    allowHalfOpen: true,
    data: connection,
    socket: settings.tls === null ? PLAIN : SECURE,
    ...(settings.tls === null ? {} : { tls: tlsOptions(settings.tls, settings.isHttp2 === true) }),
  };
  Bun.connect(options as never).catch((error: unknown) => {
    const { context } = connection.pool;
    context.beginTurn();
    // The runtime says ECONNREFUSED where no descriptor is left, too.
    const code = lowestDescriptor() < 0 ? "EMFILE" : failureCode(error);
    context.onConnectFailed(settings.originKey, code);
    connection.onConnectFailed(connectFault(code));
    context.endTurn();
  });
}

/** What the failure of a connection is: the origin's, or the want of something on this side. */
function connectFault(code: string): Fault {
  if (isDescriptorShortage(code)) return Fault.OutOfDescriptors;
  return isSocketShortage(code) ? Fault.OutOfSockets : Fault.UpstreamUnavailable;
}

/**
 * A connection to a name: its addresses are tried one after the other, the next one also when one takes longer than
 * NEXT_ADDRESS_MS, and the first that can be used is taken (RFC 8305 §5). When none is left, the name is asked for again at
 * once: it may have moved. docs/operations.md#names
 */
class NamedDial {
  private readonly settings: OriginSettings;
  private readonly owner: UpstreamSocketOwner;
  private readonly timer: TimerNode = new TimerNode(this);
  private readonly startedMs: number;
  private readonly tried: Set<string> = new Set();
  private readonly pending: Set<DialledAddress> = new Set();
  private left: readonly string[] = [];
  private isRefreshed = false;
  private isWaiting = false;
  private isOver = false;
  private fault = Fault.UpstreamUnavailable;

  constructor(settings: OriginSettings, owner: UpstreamSocketOwner) {
    this.settings = settings;
    this.owner = owner;
    this.startedMs = owner.pool.context.turn.nowMs;
  }

  start(): void {
    const { names } = this.owner.pool.context;
    this.whenNamed((listener) => names.resolve(this.settings.hostname, listener));
  }

  /** The address that is being tried is slow: the next one need not wait for it. */
  onTimer(): void {
    this.next();
  }

  /** @returns whether the connection is taken; else it is to be closed */
  onUsable(from: DialledAddress, socket: ByteSocket): boolean {
    this.pending.delete(from);
    if (this.isOver) return false;
    this.isOver = true;
    const { context } = this.owner.pool;
    context.wheel.remove(this.timer);
    // Those that were begun before and are not there yet are slow.
    for (const { address } of this.pending) context.names.failed(this.settings.hostname, address);
    (socket as UpstreamSocket).data = this.owner;
    this.owner.onOpen(socket);
    return true;
  }

  onFailed(from: DialledAddress, fault: Fault): void {
    this.pending.delete(from);
    this.fault = fault;
    if (this.isOver) return;
    // A want of this side says nothing of the address.
    if (fault === Fault.UpstreamUnavailable) {
      this.owner.pool.context.names.failed(this.settings.hostname, from.address);
    }
    this.next();
  }

  /** Goes on with the addresses, at once where they are known, else in a turn of its own. */
  private whenNamed(ask: (listener: NameListener) => void): void {
    const { context } = this.owner.pool;
    this.isWaiting = true;
    let isAtOnce = true;
    ask((addresses, failure) => {
      if (!isAtOnce) context.beginTurn();
      this.onNames(addresses, failure);
      if (!isAtOnce) context.endTurn();
    });
    isAtOnce = false;
  }

  private onNames(addresses: readonly string[], failure: string): void {
    this.isWaiting = false;
    if (addresses.length === 0) this.owner.pool.context.onConnectFailed(this.settings.originKey, failure);
    this.left = addresses.filter((address) => !this.tried.has(address));
    // Asking again right after no answer would give none.
    if (addresses.length === 0) this.isRefreshed = true;
    this.next();
  }

  private next(): void {
    if (this.isOver || this.isWaiting) return;
    const { context } = this.owner.pool;
    const [address, ...left] = this.left;
    if (address !== undefined && context.turn.nowMs - this.startedMs < MAX_DIAL_MS) {
      this.left = left;
      this.tried.add(address);
      const dialled = new DialledAddress(this, this.owner.pool, address);
      this.pending.add(dialled);
      context.wheel.arm(this.timer, context.turn.nowMs + NEXT_ADDRESS_MS);
      connectTo(address, this.settings, dialled);
    } else if (!this.isRefreshed) {
      this.isRefreshed = true;
      this.whenNamed((listener) => context.names.refresh(this.settings.hostname, listener));
    } else if (this.pending.size === 0) {
      this.isOver = true;
      context.wheel.remove(this.timer);
      this.owner.onConnectFailed(this.fault);
    }
  }
}

/** One address of a name, while it is not known whether it will be used. */
class DialledAddress implements UpstreamSocketOwner {
  readonly pool: UpstreamSocketOwner["pool"];
  readonly address: string;
  private readonly dial: NamedDial;

  constructor(dial: NamedDial, pool: UpstreamSocketOwner["pool"], address: string) {
    this.dial = dial;
    this.pool = pool;
    this.address = address;
  }

  onOpen(socket: ByteSocket): void {
    if (!this.dial.onUsable(this, socket)) socket.terminate();
  }

  onConnectFailed(fault: Fault): void {
    this.dial.onFailed(this, fault);
  }

  // Before it is used, a connection says nothing; what has been given up is closed already.
  onData(): void {}
  onEnd(): void {}
  onDrain(): void {}
  onClose(): void {}
  onException(error: unknown): void {
    this.pool.context.onException(error);
  }
}

/** RFC 8305 §5 recommends 250 ms. */
const NEXT_ADDRESS_MS = 250;
/** After this long no further address is begun with; connect timeouts are shorter as a rule. */
const MAX_DIAL_MS = 10_000;

/** A word for the log: what the system or the TLS library calls a failure. */
export function failureCode(error: unknown): string {
  return String((error as { code?: unknown } | null)?.code ?? "failed");
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
    if (isTlsError(error)) return;
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
    if (!refuses(connection, socket)) connection.onOpen(socket);
    connection.pool.context.endTurn();
  },
};

/** Gives a connection up that leads back to this gateway, before anything is sent. @returns whether it did */
function refuses(connection: UpstreamSocketOwner, socket: UpstreamSocket): boolean {
  const { context, settings } = connection.pool;
  if (settings.isRefused?.(socket) !== true) return false;
  context.onConnectFailed(settings.originKey, "loop");
  connection.onConnectFailed(Fault.LoopDetected);
  socket.terminate();
  return true;
}

/** With TLS nothing can be written before the handshake, and only the handshake says whether the peer is trusted. */
const SECURE = {
  ...COMMON,
  open(): void {},
  handshake(socket: UpstreamSocket, ok: boolean, error: HandshakeError | null): void {
    const connection = socket.data;
    const { context, settings } = connection.pool;
    context.beginTurn();
    const isTrusted = isUsable(settings.tls?.rejectUnauthorized !== false, ok, error);
    // RFC 9113 §3.2: an origin that does not choose `h2` does not speak it.
    if (refuses(connection, socket)) {
      // It may show whatever certificate: the gateway's own are not for itself.
    } else if (isTrusted && (settings.isHttp2 !== true || socket.alpnProtocol === "h2")) connection.onOpen(socket);
    else {
      context.onConnectFailed(settings.originKey, isTrusted ? "no_http2" : failureCode(error));
      connection.onConnectFailed(Fault.UpstreamUnavailable);
      socket.terminate();
    }
    context.endTurn();
  },
};

/** What the library is told of a TLS connection to an origin. RFC 9113 §3.3: HTTP/2 is asked for by ALPN. */
export function tlsOptions(tls: UpstreamTls, isHttp2: boolean): object {
  return isHttp2 ? { ...tls, ALPNProtocols: ALPN_H2 } : tls;
}

/** Length and name. RFC 7301 §3.1. */
const ALPN_H2: Buffer = Buffer.from("\x02h2");
