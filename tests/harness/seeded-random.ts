/** A small generator (mulberry32) with a seed, so that a run can be repeated exactly. */
export class SeededRandom {
  private state: number;

  constructor(seed: number) {
    this.state = seed >>> 0;
  }

  /** 0 up to, not including, 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = this.state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  }

  /** An integer from `from` to `to`, both included. */
  integer(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  /** True with the given probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of the choices. */
  pick<T>(choices: readonly T[]): T {
    return choices[this.integer(0, choices.length - 1)]!;
  }

  /** Random bytes. */
  bytes(count: number): Buffer {
    const bytes = Buffer.alloc(count);
    for (let at = 0; at + 4 <= count; at += 4) bytes.writeUInt32LE(Math.floor(this.next() * 4294967296), at);
    for (let at = count - (count % 4); at < count; at++) bytes[at] = this.integer(0, 255);
    return bytes;
  }
}
