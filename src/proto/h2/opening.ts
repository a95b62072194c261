/** Priorities of one connection that are kept; browsers send six at most. */
const MAX_PRIORITIES = 32;
/** Settings of a frame that are kept; there are fewer than ten. */
const MAX_SETTINGS = 32;

/**
 * How a client begins an HTTP/2 connection, up to its first request: settings, the window of the connection, priorities and the order of
 * pseudo-headers, in the form that Akamai published: `1:65536;2:0;4:6291456;6:262144|15663105|0|m,a,s,p`. docs/fingerprints.md#http2
 */
export class ClientOpening {
  /** Complete with the first request; "" before. */
  text = "";
  private settings: string | null = null;
  private window = 0;
  private readonly priorities: string[] = [];

  /** The payload of a SETTINGS frame. The first one counts. */
  onSettings(bytes: Uint8Array, from: number, to: number): void {
    if (this.settings !== null) return;
    const found: string[] = [];
    for (let at = from; at + 6 <= to && found.length < MAX_SETTINGS; at += 6) {
      const view = new DataView(bytes.buffer, bytes.byteOffset + at, 6);
      found.push(`${view.getUint16(0)}:${view.getUint32(2)}`);
    }
    this.settings = found.join(";");
  }

  /** WINDOW_UPDATE of the connection. The first one counts. */
  onWindow(increment: number): void {
    if (this.text === "" && this.window === 0) this.window = increment;
  }

  /** The payload of a PRIORITY frame. */
  onPriority(streamId: number, bytes: Uint8Array, from: number): void {
    if (this.text !== "" || this.priorities.length >= MAX_PRIORITIES) return;
    const view = new DataView(bytes.buffer, bytes.byteOffset + from, 5);
    const word = view.getUint32(0);
    this.priorities.push(`${streamId}:${word >>> 31}:${word & 0x7fff_ffff}:${view.getUint8(4) + 1}`);
  }

  /** The first request. @param places where its pseudo-headers begin, in the order m, a, s, p; 0 for an absent one */
  onRequest(places: readonly number[]): void {
    const order = [..."masp"]
      .map((letter, i) => ({ letter, place: places[i]! }))
      .filter(({ place }) => place > 0)
      .sort((a, b) => a.place - b.place)
      .map(({ letter }) => letter);
    const window = this.window === 0 ? "00" : String(this.window);
    const priorities = this.priorities.join(",") || "0";
    this.text = `${this.settings ?? ""}|${window}|${priorities}|${order.join(",") || "0"}`;
  }
}
