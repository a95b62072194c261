import { Byte, isDigit } from "../../../core/bytes.ts";

/**
 * A number of a JSON text, as readers with and without doubles see it. Inexact are: an integer beyond ±9007199254740991, or `-0`;
 * with a point or an exponent, more than 17 digits that count, or a size that doubles have not, from 1e308 on and below 1e-307.
 */
export class JsonNumber {
  /** The offset behind it. */
  end = 0;
  /** Whether JSON does not write numbers so. RFC 8259 §6 */
  isMalformed = false;
  isInexact = false;
  /** Digits from the first that is not 0, and of those the ones up to the last that is not 0. */
  private digits = 0;
  private counting = 0;
  /** The value of the first 16 digits. */
  private value = 0;

  /** Reads the number that begins at `from`. */
  read(bytes: Uint8Array, from: number, to: number): void {
    this.digits = 0;
    this.counting = 0;
    this.value = 0;
    const isNegative = bytes[from] === Byte.Dash;
    const whole = isNegative ? from + 1 : from;
    let at = this.passDigits(bytes, whole, to);
    const wholeDigits = this.digits;
    let isMalformed = at === whole || (bytes[whole] === Byte.Zero && at > whole + 1);
    let isInteger = true;
    // Of ten, of the first digit that counts.
    let power = wholeDigits - 1;
    if (at < to && bytes[at] === Byte.Dot) {
      isInteger = false;
      const fraction = at + 1;
      at = this.passDigits(bytes, fraction, to);
      isMalformed ||= at === fraction;
      if (wholeDigits === 0) power = this.digits - (at - fraction) - 1;
    }
    if (at < to && (bytes[at]! | 0x20) === LOWER_E) {
      isInteger = false;
      const isSigned = bytes[at + 1] === Byte.Dash || bytes[at + 1] === Byte.Plus;
      const sign = bytes[at + 1] === Byte.Dash ? -1 : 1;
      const first = at + (isSigned ? 2 : 1);
      let exponent = 0;
      for (at = first; at < to && isDigit(bytes[at]!); at++)
        exponent = Math.min(exponent * 10 + bytes[at]! - Byte.Zero, MAX_EXPONENT);
      isMalformed ||= at === first;
      power += sign * exponent;
    }
    const end = at;
    while (at < to && isNumberByte(bytes[at]!)) at++;
    this.end = at;
    this.isMalformed = isMalformed || at > end;
    this.isInexact = isInteger ? this.isBeyondIntegers(isNegative) : this.isBeyondDoubles(power);
  }

  private passDigits(bytes: Uint8Array, from: number, to: number): number {
    let at = from;
    for (; at < to && isDigit(bytes[at]!); at++) {
      const digit = bytes[at]! - Byte.Zero;
      if (digit === 0 && this.digits === 0) continue;
      this.digits++;
      if (digit !== 0) this.counting = this.digits;
      if (this.digits <= MAX_SAFE_DIGITS) this.value = this.value * 10 + digit;
    }
    return at;
  }

  private isBeyondIntegers(isNegative: boolean): boolean {
    if (this.digits === 0) return isNegative;
    return this.digits > MAX_SAFE_DIGITS || this.value > Number.MAX_SAFE_INTEGER;
  }

  private isBeyondDoubles(power: number): boolean {
    if (this.digits === 0) return false;
    return this.counting > MAX_DOUBLE_DIGITS || power >= MAX_POWER || power < MIN_POWER;
  }
}

function isNumberByte(byte: number): boolean {
  return isDigit(byte) || byte === Byte.Dot || byte === Byte.Dash || byte === Byte.Plus || (byte | 0x20) === LOWER_E;
}

const LOWER_E = 0x65;
const MAX_SAFE_DIGITS = 16;
const MAX_DOUBLE_DIGITS = 17;
const MAX_POWER = 308;
const MIN_POWER = -307;
const MAX_EXPONENT = 1_000_000;
