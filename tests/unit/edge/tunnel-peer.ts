import type { TunnelEnd } from "../../../src/message/ports.ts";

/** The far end of a tunnel, as a test plays it. */
export class TunnelPeer implements TunnelEnd {
  /** `start`, `end`, `writable`, `close`, in order. */
  readonly events: string[] = [];
  /** Whether it takes more after a write. */
  takesMore = true;
  text = "";

  tunnelStart(): void {
    this.events.push("start");
  }

  tunnelWrite(bytes: Uint8Array, from: number, to: number): boolean {
    this.text += Buffer.from(bytes.subarray(from, to)).toString("latin1");
    return this.takesMore;
  }

  tunnelEnd(): void {
    this.events.push("end");
  }

  tunnelWritable(): void {
    this.events.push("writable");
  }

  tunnelClose(): void {
    this.events.push("close");
  }
}
