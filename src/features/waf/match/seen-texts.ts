/** Texts remembered. */
const SLOTS = 8;
/** Bytes of a longer text are not worth a slot. */
const MAX_BYTES = 8192;
const MIN_BYTES = 64;

/**
 * Bodies that were looked through lately and hold no keyword: programs that poll or report send the same body again and again,
 * and to compare 4 KiB costs 0.1 µs where to look through them costs 5. Byte for byte, so that nothing else passes for one of
 * them; a body that is new costs the copy, 0.1 µs. docs/security.md#the-cost-of-inspection
 */
export class SeenTexts {
  private bytes: Buffer | null = null;
  /** Length of what each slot holds; 0 for nothing. */
  private readonly lengths: Int32Array = new Int32Array(SLOTS);

  /** Whether this very text was noted. */
  has(bytes: Uint8Array, from: number, to: number): boolean {
    const length = to - from;
    if (length < MIN_BYTES || length > MAX_BYTES) return false;
    const slot = slotOf(bytes, from, to);
    if (this.lengths[slot] !== length) return false;
    const at = slot * MAX_BYTES;
    return this.bytes!.compare(bytes, from, to, at, at + length) === 0;
  }

  /** Notes a text. */
  note(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (length < MIN_BYTES || length > MAX_BYTES) return;
    this.bytes ??= Buffer.allocUnsafeSlow(SLOTS * MAX_BYTES);
    const slot = slotOf(bytes, from, to);
    this.lengths[slot] = length;
    this.bytes.set(bytes.subarray(from, to), slot * MAX_BYTES);
  }
}

function slotOf(bytes: Uint8Array, from: number, to: number): number {
  const middle = (from + to) >> 1;
  const some = (bytes[from]! << 16) ^ (bytes[middle]! << 8) ^ bytes[to - 1]! ^ ((to - from) << 4);
  return (Math.imul(some, 0x9e3779b1) >>> 29) & (SLOTS - 1);
}
