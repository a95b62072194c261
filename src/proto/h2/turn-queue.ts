import type { OutWay } from "./send-flow.ts";

/** A stream whose DATA waits. */
interface WaitingStream {
  readonly id: number;
  isQueued: boolean;
  /** It is its turn: it sends what may go, and queues again where something is left. */
  onWindow(): void;
}

/** Streams that wait for their connection's window or for the kernel, each in its turn. */
export class TurnQueue {
  private readonly ids: number[] = [];

  add(stream: WaitingStream): void {
    if (stream.isQueued) return;
    stream.isQueued = true;
    this.ids.push(stream.id);
  }

  /** Gives each stream its turn, as far as the connection's window and the kernel let something through. */
  serve({ session, writer }: OutWay, streams: ReadonlyMap<number, WaitingStream>): void {
    for (let turns = this.ids.length; turns > 0 && session.sendWindow > 0 && !writer.blocked; turns--) {
      const stream = streams.get(this.ids.shift()!);
      // Streams come and go, and with them their numbers here.
      if (stream === undefined || !stream.isQueued) continue;
      stream.isQueued = false;
      stream.onWindow();
    }
  }

  clear(): void {
    this.ids.length = 0;
  }
}
