/** Walks over parameters as `params.ts` writes them, for protocols that write the same ones in another form. */
export class ParamWalk {
  nameFrom = 0;
  nameTo = 0;
  valueTo = 0;
  private readonly bytes: Uint8Array;
  private readonly to: number;
  private at: number;

  constructor(bytes: Uint8Array, from: number, to: number) {
    this.bytes = bytes;
    this.at = from;
    this.to = to;
  }

  /** Goes to the next parameter, whose value begins where its name ends. @returns false if there is none */
  next(): boolean {
    if (this.at >= this.to) return false;
    const name = this.length();
    const value = this.length();
    this.nameFrom = this.at;
    this.nameTo = this.at + name;
    this.valueTo = this.nameTo + value;
    this.at = this.valueTo;
    return true;
  }

  private length(): number {
    const { bytes } = this;
    const first = bytes[this.at++]!;
    if (first < 128) return first;
    const length = ((first & 0x7f) << 24) | (bytes[this.at]! << 16) | (bytes[this.at + 1]! << 8) | bytes[this.at + 2]!;
    this.at += 3;
    return length;
  }
}
