/** Values remembered, a power of two. */
const SLOTS = 64;
/** Bytes of a longer value are not worth a slot, and those of a shorter one are examined as fast. */
const MAX_BYTES = 512;
const MIN_BYTES = 16;

/**
 * Values that were examined lately and hold nothing: browsers send the same User-Agent, Referer and Cookie with
 * request after request, and to compare one costs a quarter of looking through it. Byte for byte, so that nothing else
 * passes for one of them; a client that sends another value each time costs 25 ns more.
 */
export class SeenValues {
  private bytes: Buffer | null = null;
  /** Length, kind and a few bytes of what each slot holds; 0 for nothing. */
  private readonly tags: Int32Array = new Int32Array(SLOTS);
  private tag = 0;

  /**
   * Whether this very value was noted.
   * @param kind what it was examined for: the same bytes may be harmless as one thing and not as another
   */
  has(kind: number, bytes: Uint8Array, from: number, to: number): boolean {
    const length = to - from;
    this.tag = 0;
    if (length < MIN_BYTES || length > MAX_BYTES) return false;
    const tag = tagOf(kind, bytes, from, to);
    this.tag = tag;
    const slot = slotOf(tag);
    if (this.tags[slot] !== tag) return false;
    // The tag holds the length.
    const at = slot * MAX_BYTES;
    return this.bytes!.compare(bytes, from, to, at, at + length) === 0;
  }

  /** Notes the value that `has` was just asked for. */
  note(bytes: Uint8Array, from: number, to: number): void {
    const { tag } = this;
    if (tag === 0) return;
    this.bytes ??= Buffer.allocUnsafeSlow(SLOTS * MAX_BYTES);
    const slot = slotOf(tag);
    this.tags[slot] = tag;
    this.bytes.set(bytes.subarray(from, to), slot * MAX_BYTES);
  }
}

/** Never 0, since a length is not. */
function tagOf(kind: number, bytes: Uint8Array, from: number, to: number): number {
  const middle = (from + to) >> 1;
  const some = (bytes[to - 1]! << 12) ^ (bytes[to - 2]! << 8) ^ (bytes[middle]! << 4) ^ bytes[middle + 1]!;
  return ((to - from) << 22) | (kind << 20) | (some & 0xfffff);
}

function slotOf(tag: number): number {
  return (Math.imul(tag, 0x9e3779b1) >>> 26) & (SLOTS - 1);
}

/** Texts remembered. */
const TEXT_SLOTS = 8;
/** Bytes of a longer text are not worth a slot. */
const MAX_TEXT_BYTES = 8192;
const MIN_TEXT_BYTES = 64;

/**
 * Bodies that were examined lately and hold no keyword: programs that poll or report send the same body again and again,
 * and to compare 4 KiB costs 0.1 µs where to look through them costs 5. Byte for byte, so that nothing else passes for one of
 * them; a body that is new costs the copy, 0.1 µs. docs/security.md#the-cost-of-inspection
 */
export class SeenTexts {
  private bytes: Buffer | null = null;
  /** Length of what each slot holds; 0 for nothing. */
  private readonly lengths: Int32Array = new Int32Array(TEXT_SLOTS);

  /** Whether this very text was noted. */
  has(bytes: Uint8Array, from: number, to: number): boolean {
    const length = to - from;
    if (length < MIN_TEXT_BYTES || length > MAX_TEXT_BYTES) return false;
    const slot = textSlotOf(bytes, from, to);
    if (this.lengths[slot] !== length) return false;
    const at = slot * MAX_TEXT_BYTES;
    return this.bytes!.compare(bytes, from, to, at, at + length) === 0;
  }

  /** Notes a text. */
  note(bytes: Uint8Array, from: number, to: number): void {
    const length = to - from;
    if (length < MIN_TEXT_BYTES || length > MAX_TEXT_BYTES) return;
    this.bytes ??= Buffer.allocUnsafeSlow(TEXT_SLOTS * MAX_TEXT_BYTES);
    const slot = textSlotOf(bytes, from, to);
    this.lengths[slot] = length;
    this.bytes.set(bytes.subarray(from, to), slot * MAX_TEXT_BYTES);
  }
}

function textSlotOf(bytes: Uint8Array, from: number, to: number): number {
  const middle = (from + to) >> 1;
  const some = (bytes[from]! << 16) ^ (bytes[middle]! << 8) ^ bytes[to - 1]! ^ ((to - from) << 4);
  return (Math.imul(some, 0x9e3779b1) >>> 29) & (TEXT_SLOTS - 1);
}
