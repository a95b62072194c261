import { closeSync } from "node:fs";
import { Fault } from "../core/fault.ts";
import { ClientPeer } from "../message/client-peer.ts";
import { duplicate, originalDestination, waitingOn } from "../net/system-socket.ts";
import type { ClientSocket } from "./client-connection.ts";
import { type ClientSocketPorts, type ConnectionSet, connectionEvents } from "./client-socket.ts";
import { type ConnectionGate, DETACHED, GateVerdict, type Opener, type PausableListener } from "./connection-gate.ts";
import { ConnectionStarter } from "./connection-starter.ts";
import { peerAddress } from "./peer-address.ts";
import { ProxiedConnection, type ProxyHeaderHandler } from "./proxied-connection.ts";
import { plainRefusal } from "./refusal.ts";
import { RefusedConnection } from "./refused-connection.ts";

/** Where to listen: at an address, or on a socket that listens already. */
export type ListenAt = { readonly hostname: string; readonly port: number } | { readonly fd: number };

/** A socket that is listened on. */
export interface Listener {
  readonly fd: number;
  /** Whether that descriptor is ours beside the runtime's own. */
  readonly isKept: boolean;
  /** Accepts no more; connections that are there go on. */
  stop(): void;
}

/** What a listener does with its sockets. */
interface ListenerEvents {
  open(socket: ClientSocket): void;
  data(socket: ClientSocket, chunk: Buffer): void;
  drain(socket: ClientSocket): void;
  end(socket: ClientSocket): void;
  /** @param reason why, if that was not in order */
  close(socket: ClientSocket, reason?: unknown): void;
  error(socket: ClientSocket, error: unknown): void;
}

/**
 * Listens for cleartext HTTP/1.1 and HTTP/2.
 * @param isRedirected whether connections may come here by a rule of the firewall, so that the system is asked where they were going
 * @throws when the address cannot be had
 */
export function listenPlain(
  ctx: ClientSocketPorts,
  connections: ConnectionSet,
  where: ListenAt,
  isRedirected: () => boolean = () => false,
): Listener {
  const starter = new ConnectionStarter(ctx, connections);
  const { isUnix } = ctx.listener;
  const handler: ProxyHeaderHandler = {
    proxied(socket: ClientSocket, peer, rest): void {
      const admission = admits(ctx, socket, peer);
      if (admission === GateVerdict.Taken) starter.start(socket, peer, "");
      else refuse(socket, admission);
      if (rest.length > 0) socket.data.onData(rest);
    },
  };
  const refuse = (socket: ClientSocket, admission: GateVerdict): void => {
    if (admission === GateVerdict.Banned) {
      connections.delete(socket.data);
      cut(ctx, socket);
      return;
    }
    connections.replace(socket, new RefusedConnection(socket, ctx, plainRefusal(Fault.TooManyConnections, ctx.clock)));
  };
  const opener: Opener = {
    opened(socket): void {
      const isKnown = isUnix || ctx.settings.logsAddresses;
      const peer = new ClientPeer(isKnown ? peerAddress(ctx, socket) : socket, false, 0);
      if (isRedirected()) peer.destination = originalDestination(socket.fd);
      ctx.observer.onOpen();
      if (ctx.settings.proxies?.has(peer.address) === true) {
        connections.replace(socket, new ProxiedConnection(socket, ctx, handler));
        return;
      }
      const admission = ctx.gate.isUnlimited ? GateVerdict.Taken : admits(ctx, socket, peer);
      if (admission === GateVerdict.Taken) starter.start(socket, peer, "");
      else refuse(socket, admission);
    },
  };
  return listen(where, ctx.gate, {
    ...connectionEvents(ctx, connections),
    open(socket: ClientSocket): void {
      ctx.turn.begin();
      ctx.gate.admit(socket, opener);
    },
  });
}

/** Whether the address of a connection may have one more; the peers of a UNIX socket have none that could be counted. */
export function admits({ gate, listener }: ClientSocketPorts, socket: ClientSocket, peer: ClientPeer): GateVerdict {
  return listener.isUnix && peer.isDirect() ? GateVerdict.Taken : gate.takesAddress(socket, peer.address);
}

/** Closes a connection of which nothing was read: there is no way to say why before TLS, and banned clients hear nothing. */
export function cut(ctx: ClientSocketPorts, socket: ClientSocket): void {
  socket.data = DETACHED;
  socket.close();
  ctx.observer.onClose();
}

/**
 * Listens for TCP connections; several workers may listen at one address.
 * @param gate may stop it for a while
 * @throws when the address cannot be had
 */
export function listen(where: ListenAt, gate: ConnectionGate, events: ListenerEvents): Listener {
  const listener = new OpenListener(where, gate, events);
  gate.add(listener);
  return listener;
}

/**
 * A socket that is listened on. The runtime can only close a listener, so a second descriptor keeps the socket open: while the
 * runtime has none of it, connections wait in the kernel's queue.
 */
class OpenListener implements Listener, PausableListener {
  private readonly gate: ConnectionGate;
  private readonly events: ListenerEvents;
  private readonly kept: number;
  private server: RuntimeListener | null;
  private readonly firstFd: number;
  private isOver = false;

  constructor(where: ListenAt, gate: ConnectionGate, events: ListenerEvents) {
    this.gate = gate;
    this.events = events;
    this.server = this.open(where);
    this.firstFd = "fd" in where ? where.fd : this.server.fd;
    this.kept = duplicate(this.firstFd);
  }

  get fd(): number {
    return this.kept < 0 ? this.firstFd : this.kept;
  }

  get isKept(): boolean {
    return this.kept >= 0;
  }

  pause(): boolean {
    if (this.kept < 0) return false;
    this.server?.stop(false);
    this.server = null;
    return true;
  }

  resume(): boolean {
    if (this.server !== null || this.isOver) return true;
    const fd = duplicate(this.kept);
    if (fd < 0) return false;
    this.server = this.open({ fd });
    return true;
  }

  waiting(): number {
    return waitingOn(this.kept);
  }

  stop(): void {
    this.isOver = true;
    this.gate.delete(this);
    this.server?.stop(false);
    this.server = null;
    if (this.kept >= 0) closeSync(this.kept);
  }

  private open(where: ListenAt): RuntimeListener {
    const options = { ...where, reusePort: !("fd" in where), allowHalfOpen: true, socket: this.events };
    return Bun.listen(options as never) as unknown as RuntimeListener;
  }
}

interface RuntimeListener {
  readonly fd: number;
  stop(closeAll?: boolean): void;
}
