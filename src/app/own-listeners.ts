import type { RuntimeConfig } from "../config/runtime-config.ts";
import { isLoopback, unmapped } from "../message/exchange.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { type ListenerPlace, listenersOf } from "./listeners.ts";

/**
 * The TCP addresses at which this gateway itself listens: a sidecar connects to none of them, by whatever name or address
 * it was asked to. docs/security.md#sidecar
 */
export class OwnListeners {
  private readonly places: readonly ListenerPlace[];

  constructor(config: RuntimeConfig) {
    this.places = listenersOf(config);
  }

  /**
   * Whether a connection that has just been made leads to one of them. The system has resolved the name by now, so that
   * what is judged is what is spoken to.
   * @param port that was connected to
   */
  isAt(socket: ByteSocket, port: number): boolean {
    if (!this.places.some((place) => place.port === port)) return false;
    const remote = unmapped(socket.remoteAddress ?? "");
    // A connection to an address of this machine comes from that same address.
    const isHere = isLoopback(remote) || remote === unmapped(socket.localAddress ?? "");
    return isHere && this.covers(remote, port);
  }

  /** Whether one of them is at this host, as a request names it: what can be said without connecting. */
  isNamed(hostname: string, port: number): boolean {
    const addresses = LOCAL_NAMES.get(hostname) ?? [unmapped(hostname)];
    return addresses.some((address) => isLoopback(address) && this.covers(address, port));
  }

  private covers(address: string, port: number): boolean {
    return this.places.some((place) => place.port === port && listensAt(place.host, address));
  }
}

/** One loopback address is as good as another: nothing else listens at the port there. */
function listensAt(host: string, address: string): boolean {
  if (host === "::" || host === "0.0.0.0" || unmapped(host) === address) return true;
  return isLoopback(address) && (host === "localhost" || isLoopback(host));
}

const LOCAL_NAMES: ReadonlyMap<string, readonly string[]> = new Map([
  ["localhost", ["127.0.0.1", "::1"]],
  ["0.0.0.0", ["127.0.0.1"]],
  ["::", ["::1", "127.0.0.1"]],
]);
