import { ScalarType } from "@bufbuild/protobuf";
import { trimmedEnd } from "../../core/trimming.ts";

/** Whether a scalar is a number. */
export function isNumber(type: ScalarType): boolean {
  return type !== ScalarType.BOOL && type !== ScalarType.STRING && type !== ScalarType.BYTES;
}

/** Whether a number has a fraction. */
export function isFraction(type: ScalarType): boolean {
  return type === ScalarType.DOUBLE || type === ScalarType.FLOAT;
}

/**
 * A number that is written as a text, as the library reads it: that of a whole number is its digits, whatever its spelling, `1e3` and `1.0` too.
 * @throws for a text that is no number in JSON, such as `0x10`, ` 1` and `+1`, but for `NaN`, `Infinity` and `-Infinity` where fractions are taken
 */
export function protoNumberText(type: ScalarType, text: string): string {
  if (text.length <= MAX_DIGITS && PLAIN_WHOLE.test(text)) return text;
  if (isFraction(type) && NO_NUMBERS.includes(text)) return text;
  if (!NUMBER.test(text)) throw new Error(`${JSON.stringify(text)} is not a number`);
  if (isFraction(type)) return text;
  const digits = wholeDigits(text);
  // No type has so many digits: the first of them are as much out of its range, and the library names the field.
  if (digits === null && text.length > MAX_DIGITS && PLAIN_WHOLE.test(text)) return text.slice(0, MAX_DIGITS + 2);
  if (digits === null && text.length > MAX_DIGITS) throw new Error(`a whole number has at most ${MAX_DIGITS} digits`);
  return digits ?? text;
}

/** The digits of a whole number: `9.5e1` is `95`. Null for one with a fraction, and beyond MAX_DIGITS. @param text as JSON has numbers */
export function wholeDigits(text: string): string | null {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] = NUMBER.exec(text) ?? [];
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, "");
  if (/^0*$/.test(digits)) return "0";
  const bare = trimmedEnd(digits, "0");
  const zeros = Number(exponent) - fraction.length + digits.length - bare.length;
  if (zeros < 0 || bare.length + zeros > MAX_DIGITS) return null;
  return sign + bare + "0".repeat(zeros);
}

const PLAIN_WHOLE = /^-?(?:0|[1-9]\d*)$/;
const NUMBER = /^(-?)(0|[1-9]\d*)(?:\.(\d+))?(?:[eE]([+-]?\d{1,9}))?$/;
const NO_NUMBERS: readonly string[] = ["NaN", "Infinity", "-Infinity"];
/** More than any field has. What makes integers of texts takes time that grows with the square of their length. */
export const MAX_DIGITS = 40;
