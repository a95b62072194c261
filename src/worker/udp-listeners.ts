import type { ListenAddress } from "../routes/streams/stream-config.ts";
import { DatagramListener, type DatagramPorts } from "../streams/datagrams.ts";
import type { Streams } from "./streams.ts";

/** Whether two are one. */
function isSameAddress(a: ListenAddress, b: ListenAddress): boolean {
  return a.host === b.host && a.port === b.port;
}

/**
 * The UDP listeners of one worker. The runtime cannot take over a UDP socket: a successor opens its own beside them, and the kernel gives clients to
 * either until these are closed. docs/streams.md#udp
 */
export class UdpListeners {
  private readonly ctx: DatagramPorts;
  private readonly streams: () => Streams | null;
  private open: readonly DatagramListener[] = [];

  constructor(ctx: DatagramPorts, streams: () => Streams | null) {
    this.ctx = ctx;
    this.streams = streams;
  }

  /**
   * Listens at these addresses and no others; those that stay keep their sessions.
   * @throws when one cannot be had
   */
  async use(addresses: readonly ListenAddress[]): Promise<void> {
    const before = this.open;
    const stay = before.filter((one) => addresses.some((at) => isSameAddress(one, at)));
    const added = addresses
      .filter((at) => !stay.some((one) => isSameAddress(one, at)))
      .map((at) => new DatagramListener(this.ctx, at.host, at.port, () => this.streams()?.datagramsAt(at) ?? null));
    this.open = [...stay, ...added];
    for (const one of before) if (!stay.includes(one)) one.close();
    for (const one of added) await one.open();
  }

  /** Ends all sessions. */
  close(): void {
    for (const one of this.open) one.close();
    this.open = [];
  }
}
