/**
 * The values of a data section of the MaxMind DB format 2.0, read where they are: nothing is decoded but what is asked for, nothing
 * recurses, and one question takes a bounded number of steps, whatever the bytes say.
 */
export class MmdbSection {
  private readonly bytes: Uint8Array;
  /** What pointers count from. */
  private readonly base: number;
  private readonly end: number;
  /** Of the value that was opened last; -1 if it is none. */
  private type: number = -1;
  /** Of its payload in bytes; of a map its pairs, of an array its entries, of a boolean its value, of a pointer where it leads. */
  private size = 0;
  /** Where its payload begins. */
  private payload = 0;
  private stepsLeft = 0;

  /** @param base where the section begins @param end where it ends; nothing at or beyond it is read */
  constructor(bytes: Uint8Array, base: number, end: number) {
    this.bytes = bytes;
    this.base = base;
    this.end = end;
  }

  /** The value of a key of the map at `at`: where it begins, or -1 if there is no such map or key. @param key ASCII */
  memberAt(at: number, key: string): number {
    this.stepsLeft = MAX_STEPS;
    if (!this.openFollowed(at) || !this.is(Type.Map)) return -1;
    let pairs = this.size;
    let next = this.payload;
    while (pairs-- > 0) {
      if (!this.open(next)) return -1;
      const behindKey = this.is(Type.Pointer) ? this.payload : this.payload + this.size;
      if (this.is(Type.Pointer) && !this.open(this.size)) return -1;
      if (!this.is(Type.Text)) return -1;
      if (this.isText(key)) return behindKey;
      next = this.behind(behindKey);
      if (next < 0) return -1;
    }
    return -1;
  }

  /** The text at `at`, one character a byte; "" for what is none, or longer than any text that is asked for. */
  textAt(at: number): string {
    this.stepsLeft = MAX_STEPS;
    if (!this.openFollowed(at) || !this.is(Type.Text) || this.size > MAX_TEXT_BYTES) return "";
    let text = "";
    for (let i = 0; i < this.size; i++) text += String.fromCharCode(this.bytes[this.payload + i]!);
    return text;
  }

  /** The unsigned whole number at `at`; -1 for what is none, and beyond 2^53. */
  numberAt(at: number): number {
    this.stepsLeft = MAX_STEPS;
    if (!this.openFollowed(at) || !NUMBERS.has(this.type) || this.size > MAX_NUMBER_BYTES) return -1;
    let number = 0;
    for (let i = 0; i < this.size; i++) number = number * 256 + this.bytes[this.payload + i]!;
    return Number.isSafeInteger(number) ? number : -1;
  }

  /** Whether the text that is open is this one. */
  private isText(text: string): boolean {
    if (this.size !== text.length) return false;
    for (let i = 0; i < text.length; i++) if (this.bytes[this.payload + i] !== text.charCodeAt(i)) return false;
    return true;
  }

  /** Where the next value begins after the one at `at` with all that is in it; -1 if that cannot be found. */
  private behind(at: number): number {
    let left = 1;
    let next = at;
    while (left > 0) {
      if (!this.open(next)) return -1;
      left--;
      next = this.payload;
      if (this.is(Type.Map)) left += this.size * 2;
      else if (this.is(Type.Array)) left += this.size;
      else if (!this.is(Type.Pointer) && !this.is(Type.Boolean)) next += this.size;
    }
    return next;
  }

  /** Opens a value, or the one that it points at: a pointer never leads to another. */
  private openFollowed(at: number): boolean {
    if (!this.open(at)) return false;
    return !this.is(Type.Pointer) || (this.open(this.size) && !this.is(Type.Pointer));
  }

  private is(type: Type): boolean {
    return this.type === type;
  }

  /** Reads a value's type and size. @returns whether there is one, whole, within the section */
  private open(at: number): boolean {
    if (this.stepsLeft-- <= 0 || at < this.base || at >= this.end) return false;
    const control = this.bytes[at]!;
    let next = at + 1;
    this.type = control >> 5;
    if (this.is(Type.Pointer)) return this.openPointer(control, next);
    if (this.is(Type.Extended)) {
      if (next >= this.end) return false;
      this.type = 7 + this.bytes[next++]!;
      if (this.type <= Type.Map || this.type > Type.Float) return false;
    }
    const short = control & 0x1f;
    const more = short < 29 ? 0 : short - 28;
    if (next + more > this.end) return false;
    this.size = more === 0 ? short : this.bigEndian(next, more) + SIZE_FLOORS[more]!;
    this.payload = next + more;
    if (this.is(Type.Map) || this.is(Type.Array) || this.is(Type.Boolean)) return true;
    return this.payload + this.size <= this.end;
  }

  private openPointer(control: number, next: number): boolean {
    const more = ((control >> 3) & 3) + 1;
    if (next + more > this.end) return false;
    const high = more === 4 ? 0 : (control & 7) * 256 ** more;
    this.size = this.base + high + this.bigEndian(next, more) + POINTER_FLOORS[more]!;
    this.payload = next + more;
    return true;
  }

  private bigEndian(at: number, count: number): number {
    let number = 0;
    for (let i = 0; i < count; i++) number = number * 256 + this.bytes[at + i]!;
    return number;
  }
}

/** MaxMind DB 2.0, "Data Field Format". */
const enum Type {
  Extended = 0,
  Pointer = 1,
  Text = 2,
  Uint16 = 5,
  Uint32 = 6,
  Map = 7,
  Uint64 = 9,
  Array = 11,
  Boolean = 14,
  Float = 15,
}

const NUMBERS: ReadonlySet<number> = new Set([Type.Uint16, Type.Uint32, Type.Uint64]);
/** What a size or a pointer counts from, by how many further bytes it has. */
const SIZE_FLOORS: readonly number[] = [0, 29, 285, 65_821];
const POINTER_FLOORS: readonly number[] = [0, 0, 2048, 526_336, 0];
const MAX_NUMBER_BYTES = 8;
const MAX_TEXT_BYTES = 256;
/** Values that one question may look at; a record of a city has some hundred. */
const MAX_STEPS = 4096;
