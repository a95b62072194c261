import type { ClientConnection, ClientSocket } from "./client-connection.ts";

/** Connections that a worker holds back unread because another worker took the last place at the same time. */
const MAX_HELD_CONNECTIONS = 64;
/** Idle connections that a worker closes in one tick for connections that wait. */
const MAX_IDLE_CLOSED = 16;

/** A listener that can stop accepting for a while: what comes meanwhile waits in the kernel's queue. */
export interface PausableListener {
  /** @returns false if the system does not allow it */
  pause(): boolean;
  /** @returns false if that must be tried again */
  resume(): boolean;
  /** Connections that wait to be accepted; -1 if that is not known. */
  waiting(): number;
}

/** The open client connections of all workers. See ConnectionCounts. */
export interface OpenCounts {
  readonly addresses: {
    idOf(address: string): number;
    add(id: number, count: number): void;
    total(id: number): number;
  };
  add(count: number): void;
  total(): number;
  askForRoom(): void;
  isAskedForRoom(): boolean;
}

/** Notified of what the gate does. */
export interface GateObserver {
  /** No more is accepted for a while. */
  onPaused(isShortOfDescriptors: boolean): void;
  onIdleClosed(): void;
  /** An address has as many connections as it may. */
  onTooMany(address: string): void;
  /** A connection of a banned client is closed. */
  onBanned(): void;
  /** So many were refused since there is no queue in which they could wait. */
  onBeyond(count: number): void;
}

/** What the gate lets in. */
export interface GateLimits {
  /** Open client connections of all workers. */
  readonly maxConnections: number;
  /** Those of one address; 0 is no limit. */
  readonly maxPerAddress: number;
  /** Addresses without a limit: trusted proxies, which speak for many. */
  readonly exempt: { has(address: string): boolean };
  /** Whose connections are closed at once; null if no client is banned. */
  readonly bans: { isBanned(address: string): boolean } | null;
}

/** Whether a connection may come in, or why not. */
export const enum GateVerdict {
  Taken = 0,
  /** Its address has as many as it may. */
  TooMany,
  /** Its client is banned: the gateway says nothing to it. */
  Banned,
}

/** A connection that may be closed to make room. */
export interface IdleConnection {
  /** For how long it has had nothing to do, in milliseconds; -1 if it is busy, or has only just begun. */
  idleMs(nowMs: number): number;
  closeIdle(): void;
}

/** Open connections, of which an idle one may be closed: those of a ConnectionSet, and those of HTTP/3. */
export interface IdleSource {
  /** The one that has been idle longest, of some; null if none of them has been for a while. */
  longestIdle(nowMs: number): IdleConnection | null;
}

/** Goes on with a socket that was admitted. */
export interface Opener {
  opened(socket: ClientSocket): void;
}

/**
 * How many client connections there are: `server.max_connections` of all workers, `max_connections_per_ip` of one address.
 * At the limit no more is accepted, and what comes waits in the kernel's queue; where connections wait, the one that has
 * been idle longest is closed for it. The same where descriptors run short. docs/security.md#resources-of-one-client
 */
export class ConnectionGate {
  private limits: GateLimits;
  private readonly counts: OpenCounts;
  private readonly connections: IdleSource;
  private readonly observer: GateObserver;
  private readonly isShortOfDescriptors: () => boolean;
  private readonly listeners: Set<PausableListener> = new Set();
  /** Those of HTTP/3. */
  readonly others: Set<IdleSource> = new Set();
  /** Accepted by one worker while another took the last place: they wait as if they had not been accepted. */
  private readonly held: Set<HeldConnection> = new Set();
  /** By socket, or session of HTTP/3. */
  private readonly addressOf: Map<object, number> = new Map();
  private isPaused = false;

  constructor(
    limits: GateLimits,
    counts: OpenCounts,
    connections: IdleSource,
    observer: GateObserver,
    isShortOfDescriptors: () => boolean,
  ) {
    this.limits = limits;
    this.counts = counts;
    this.connections = connections;
    this.observer = observer;
    this.isShortOfDescriptors = isShortOfDescriptors;
  }

  /** Takes new limits; connections that are there stay. */
  use(limits: GateLimits): void {
    this.limits = limits;
  }

  /** Whether no address has a limit or may be banned, so that none need be known. */
  get isUnlimited(): boolean {
    return this.limits.maxPerAddress === 0 && this.limits.bans === null;
  }

  /** A listener that the gate may stop; one that is opened while nothing is accepted waits with the others. */
  add(listener: PausableListener): void {
    this.listeners.add(listener);
    if (this.isPaused) listener.pause();
  }

  delete(listener: PausableListener): void {
    this.listeners.delete(listener);
  }

  /** A socket was accepted: it is admitted, or held until there is room. */
  admit(socket: ClientSocket, opener: Opener): void {
    if (this.enter()) opener.opened(socket);
    else if (this.held.size < MAX_HELD_CONNECTIONS) {
      socket.pause();
      const held = new HeldConnection(socket, opener, this);
      socket.data = held;
      this.held.add(held);
    } else {
      socket.data = DETACHED;
      socket.terminate();
    }
  }

  /** One more connection, if there is room. It is given back by `leave`. */
  enter(): boolean {
    this.counts.add(1);
    const total = this.counts.total();
    const { maxConnections } = this.limits;
    if (total >= maxConnections) this.pause(false);
    if (total <= maxConnections) return true;
    this.counts.add(-1);
    return false;
  }

  /** A connection is over. */
  leave(): void {
    this.counts.add(-1);
  }

  /** Connections beyond the limit were refused that cannot wait. */
  refused(count: number): void {
    this.observer.onBeyond(count);
  }

  /**
   * Whether its address may have one connection more; it is counted until `closed`.
   * @param socket or whatever else the connection is
   */
  takesAddress(socket: object, address: string): GateVerdict {
    const { maxPerAddress, exempt, bans } = this.limits;
    if (bans?.isBanned(address) === true) {
      this.observer.onBanned();
      return GateVerdict.Banned;
    }
    if (maxPerAddress === 0 || exempt.has(address)) return GateVerdict.Taken;
    const { addresses } = this.counts;
    const id = addresses.idOf(address);
    if (addresses.total(id) >= maxPerAddress) {
      this.observer.onTooMany(address);
      return GateVerdict.TooMany;
    }
    addresses.add(id, 1);
    this.addressOf.set(socket, id);
    return GateVerdict.Taken;
  }

  /** TLS was laid on a socket: it is that one's close that will be told. */
  moved(from: ClientSocket, to: ClientSocket): void {
    const id = this.addressOf.get(from);
    if (id === undefined) return;
    this.addressOf.delete(from);
    this.addressOf.set(to, id);
  }

  /** A socket is closed. */
  closed(socket: object): void {
    if (this.addressOf.size === 0) return;
    const id = this.addressOf.get(socket);
    if (id === undefined) return;
    this.addressOf.delete(socket);
    this.counts.addresses.add(id, -1);
  }

  /** A held connection is gone before there was room. */
  forget(held: HeldConnection): void {
    this.held.delete(held);
  }

  /** To be called every TICK_MS, as a turn: lets in who waits, and makes room. @param nowMs the turn's time */
  tick(nowMs: number): void {
    this.serveHeld();
    const isShort = this.isShortOfDescriptors();
    const isFull = this.counts.total() >= this.limits.maxConnections;
    const isAsked = this.counts.isAskedForRoom();
    if (isFull || isShort) {
      this.pause(isShort);
      const wanted = this.waiting();
      if (wanted > 0 || isShort) this.closeIdle(Math.min(Math.max(1, wanted), MAX_IDLE_CLOSED), nowMs, true);
      else if (isAsked) this.closeIdle(1, nowMs, false);
    } else if (this.isPaused) this.resume();
  }

  /** The gateway is shutting down: no connection is accepted any more. */
  drain(): void {
    for (const held of this.held) held.cut();
  }

  private pause(isShort: boolean): void {
    if (this.isPaused) return;
    this.isPaused = true;
    for (const listener of this.listeners) listener.pause();
    this.observer.onPaused(isShort);
  }

  private resume(): void {
    this.isPaused = false;
    for (const listener of this.listeners) if (!listener.resume()) this.isPaused = true;
  }

  /** Connections that wait, as far as the system tells. */
  private waiting(): number {
    let sum = this.held.size;
    for (const listener of this.listeners) {
      const waiting = listener.waiting();
      sum += waiting < 0 ? 1 : waiting;
    }
    return sum;
  }

  private serveHeld(): void {
    for (const held of this.held) {
      if (!this.enter()) return;
      this.held.delete(held);
      held.start();
    }
  }

  private longestIdle(nowMs: number): IdleConnection | null {
    let longest = this.connections.longestIdle(nowMs);
    for (const others of this.others) {
      const other = others.longestIdle(nowMs);
      if (other !== null && (longest === null || other.idleMs(nowMs) > longest.idleMs(nowMs))) longest = other;
    }
    return longest;
  }

  private closeIdle(count: number, nowMs: number, asksOthers: boolean): void {
    for (let i = 0; i < count; i++) {
      const idle = this.longestIdle(nowMs);
      if (idle === null) {
        if (asksOthers) this.counts.askForRoom();
        return;
      }
      idle.closeIdle();
      this.observer.onIdleClosed();
    }
  }
}

/** A socket that was accepted beyond the limit. Nothing is read of it. */
class HeldConnection implements ClientConnection {
  place = -1;
  private readonly socket: ClientSocket;
  private readonly opener: Opener;
  private readonly gate: ConnectionGate;

  constructor(socket: ClientSocket, opener: Opener, gate: ConnectionGate) {
    this.socket = socket;
    this.opener = opener;
    this.gate = gate;
  }

  start(): void {
    this.opener.opened(this.socket);
    this.socket.resume();
  }

  cut(): void {
    this.gate.forget(this);
    this.socket.data = DETACHED;
    this.socket.terminate();
  }

  onClose(): void {
    this.gate.forget(this);
  }

  onException(): void {
    this.cut();
  }

  onData(): void {}
  onDrain(): void {}
  onEnd(): void {}
  drain(): void {}
  idleMs(): number {
    return -1;
  }
  closeIdle(): void {}
}

/** In charge of a socket that is being closed, or has TLS on it. */
export const DETACHED: ClientConnection = {
  place: -1,
  onData(): void {},
  onDrain(): void {},
  onEnd(): void {},
  onClose(): void {},
  onException(): void {},
  drain(): void {},
  idleMs: () => -1,
  closeIdle(): void {},
};
