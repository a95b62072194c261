/** The time of day, read at each call, in milliseconds since the epoch. */
export const WALL_CLOCK = {
  get nowMs(): number {
    return Date.now();
  },
};

/**
 * The time of the current event, read once an event, and the Date header's bytes, made once a second.
 * Sans-IO: the owner of the event loop calls `update`.
 */
export class Clock {
  /** Milliseconds since the epoch at the last update. */
  nowMs: number;
  /** The 29 bytes of an IMF-fixdate (RFC 9110 §5.6.7) for `nowMs`. */
  readonly dateBytes: Uint8Array = new Uint8Array(29);
  /** Seconds since the epoch that `dateBytes` tells. */
  second = -1;
  private readonly read: () => number;

  /** @param read gives milliseconds since the epoch */
  constructor(read: () => number) {
    this.read = read;
    this.nowMs = 0;
    this.update();
  }

  /** Reads the time anew. */
  update(): void {
    this.nowMs = this.read();
    const second = Math.floor(this.nowMs / 1000);
    if (second === this.second) return;
    this.second = second;
    const text = new Date(second * 1000).toUTCString();
    for (let i = 0; i < 29; i++) this.dateBytes[i] = text.charCodeAt(i);
  }
}
