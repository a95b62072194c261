/**
 * Reads the TLVs behind the addresses of a version 2 header, byte by byte, and keeps none. In good order they fill the block exactly, and the
 * header has the checksum that one of them may tell. proxy-protocol.txt, 2.2.
 */
export class TlvReader {
  /** CRC32C of the header so far, with zeros in the place of the sum that it tells. */
  private sum = ALL_ONES;
  private told = 0;
  private sums = 0;
  private type = 0;
  /** How many bytes of a TLV's type and length are there; 0 between two TLVs. */
  private prefixLength = 0;
  /** Bytes of the value that are still to come. */
  private left = 0;
  private isSound = true;

  /** Takes bytes before the TLVs, which count for the checksum alone. */
  skip(byte: number): void {
    this.add(byte);
  }

  push(byte: number): void {
    if (this.prefixLength < PREFIX_BYTES) return this.takePrefix(byte);
    const isSum = this.type === CRC32C;
    if (isSum) this.told = (this.told << 8) | byte;
    this.add(isSum ? 0 : byte);
    this.left--;
    this.endIfOver();
  }

  /** Whether the block may end here. */
  get isInOrder(): boolean {
    if (!this.isSound || this.prefixLength > 0) return false;
    return this.sums === 0 || (this.sums === 1 && (this.told ^ this.sum) === ALL_ONES);
  }

  private takePrefix(byte: number): void {
    this.add(byte);
    if (this.prefixLength === 0) this.type = byte;
    else this.left = (this.prefixLength === 1 ? 0 : this.left << 8) | byte;
    this.prefixLength++;
    if (this.prefixLength < PREFIX_BYTES) return;
    if (this.type === CRC32C) {
      this.sums++;
      if (this.left !== CRC32C_BYTES) this.isSound = false;
    }
    this.endIfOver();
  }

  private endIfOver(): void {
    if (this.left === 0) this.prefixLength = 0;
  }

  private add(byte: number): void {
    this.sum = (this.sum >>> 8) ^ TABLE[(this.sum ^ byte) & 0xff]!;
  }
}

const CRC32C = 0x03;
const CRC32C_BYTES = 4;
const PREFIX_BYTES = 3;
const ALL_ONES = -1;
/** The polynomial of Castagnoli, its bits reversed. RFC 3720, B.4 */
const POLYNOMIAL = 0x82f6_3b78;
const TABLE: Int32Array = Int32Array.from({ length: 256 }, (_, byte) => {
  let sum = byte;
  for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ ((sum & 1) === 1 ? POLYNOMIAL : 0);
  return sum;
});
