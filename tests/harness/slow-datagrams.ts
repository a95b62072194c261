import { createSocket, type Socket } from "node:dgram";
import type { AddressInfo } from "node:net";

/**
 * A slow line between one client and a UDP server: what the client sends passes at once, what the server sends at so many bytes a
 * second. Datagrams that find too many in the queue are lost, as in a router.
 */
export class SlowDatagrams {
  private readonly near: Socket = createSocket("udp4");
  private readonly far: Socket = createSocket("udp4");
  private readonly queue: Buffer[] = [];
  private queued = 0;
  private client: { readonly port: number; readonly address: string } | null = null;
  private readonly timer: Timer;

  private constructor(serverPort: number, bytesPerSecond: number) {
    this.near.on("message", (datagram, { port, address }) => {
      this.client = { port, address };
      this.far.send(datagram, serverPort, "127.0.0.1");
    });
    this.far.on("message", (datagram) => {
      if (this.queued + datagram.length > QUEUE_BYTES) return;
      this.queued += datagram.length;
      this.queue.push(datagram);
    });
    let lastMs = performance.now();
    let room = 0;
    this.timer = setInterval(() => {
      const nowMs = performance.now();
      // A line that was idle does not send the more for it.
      room = Math.min(room + ((nowMs - lastMs) * bytesPerSecond) / 1000, bytesPerSecond / 10);
      lastMs = nowMs;
      for (; room > 0 && this.queue.length > 0 && this.client !== null; ) {
        const datagram = this.queue.shift()!;
        this.queued -= datagram.length;
        room -= datagram.length;
        this.near.send(datagram, this.client.port, this.client.address);
      }
    }, TICK_MS);
  }

  static async start(serverPort: number, bytesPerSecond: number): Promise<SlowDatagrams> {
    const line = new SlowDatagrams(serverPort, bytesPerSecond);
    for (const socket of [line.near, line.far]) {
      await new Promise<void>((resolve) => socket.bind(0, "127.0.0.1", resolve));
    }
    return line;
  }

  get port(): number {
    return (this.near.address() as AddressInfo).port;
  }

  stop(): void {
    clearInterval(this.timer);
    this.near.close();
    this.far.close();
  }
}

const QUEUE_BYTES = 16 * 1024;
const TICK_MS = 5;
