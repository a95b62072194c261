import { Byte, equalsLower, isOws, latin1, skipOws } from "../../core/bytes.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";

/** The content codings that responses are sent in. RFC 9110 §8.4.1, RFC 7932, RFC 8878. */
export const enum Coding {
  Identity = 0,
  Brotli,
  Zstd,
  Gzip,
}

/** Number of members of Coding, for tables with one row each. */
export const CODING_COUNT = 4;

/** Names in Content-Encoding and Accept-Encoding. */
export const CODING_NAMES: readonly string[] = ["identity", "br", "zstd", "gzip"];

const NAME_BYTES: readonly Uint8Array[] = CODING_NAMES.map(latin1);
const X_GZIP = latin1("x-gzip");
const NOT_LISTED = -1;
const STAR = CODING_COUNT;

/** Weights in thousandths as the header being read gives them: one a coding and one for `*`. One call at a time uses it. */
const weights = new Int16Array(CODING_COUNT + 1);
/** What `codingWeights` gives. */
const preferred = new Int16Array(CODING_COUNT);

/**
 * How much a client wants each coding, in thousandths, 0 if it rather has the plain form. RFC 9110 §12.5.3.
 *
 * A coding that the client names wins over the plain form unless `identity` weighs more. A coding that only `*` allows
 * must weigh more than the plain form, so that a bare `*` gets the plain form, which every client can read.
 * @returns by Coding; it holds until the next call
 */
export function codingWeights(headers: HeaderBlock): Int16Array {
  weights.fill(NOT_LISTED);
  for (let i = headers.find(HeaderId.AcceptEncoding); i >= 0; i = headers.find(HeaderId.AcceptEncoding, i + 1)) {
    readWeights(headers.bytes, headers.valueFrom(i), headers.valueTo(i));
  }
  const star = Math.max(weights[STAR]!, 0);
  const plain = weights[Coding.Identity] === NOT_LISTED ? star : weights[Coding.Identity]!;
  for (let coding = 1; coding < CODING_COUNT; coding++) {
    const listed = weights[coding]! !== NOT_LISTED;
    const weight = listed ? weights[coding]! : star;
    preferred[coding] = (listed ? weight >= plain : weight > plain) ? weight : 0;
  }
  return preferred;
}

/** Reads one field value; elements that are not well formed count as not sent. */
function readWeights(bytes: Uint8Array, from: number, to: number): void {
  let at = from;
  while (at < to) {
    let end = at;
    while (end < to && bytes[end] !== Byte.Comma) end++;
    readElement(bytes, at, end);
    at = end + 1;
  }
}

function readElement(bytes: Uint8Array, from: number, to: number): void {
  let at = skipOws(bytes, from, to);
  const nameFrom = at;
  while (at < to && bytes[at] !== Byte.Semicolon && !isOws(bytes[at]!)) at++;
  const slot = slotOf(bytes, nameFrom, at);
  if (slot < 0) return;
  at = skipOws(bytes, at, to);
  if (at === to) {
    weights[slot] = 1000;
    return;
  }
  if (bytes[at] !== Byte.Semicolon) return;
  at = skipOws(bytes, at + 1, to);
  if (at + 1 >= to || (bytes[at]! | 0x20) !== 0x71 || bytes[at + 1] !== Byte.Equals) return;
  const weight = readWeight(bytes, at + 2, to);
  if (weight >= 0) weights[slot] = weight;
}

/** RFC 9110 §12.4.2: `0` or `1` with up to three decimals. Gives thousandths, or -1 if it is not one. */
function readWeight(bytes: Uint8Array, from: number, to: number): number {
  let end = to;
  while (end > from && isOws(bytes[end - 1]!)) end--;
  const first = bytes[from]! - Byte.Zero;
  if (end === from || end - from > 5 || (first !== 0 && first !== 1)) return -1;
  if (end - from > 1 && bytes[from + 1] !== Byte.Dot) return -1;
  let weight = first;
  for (let i = 2; i < 5; i++) {
    const digit = from + i < end ? bytes[from + i]! - Byte.Zero : 0;
    if (digit < 0 || digit > 9) return -1;
    weight = weight * 10 + digit;
  }
  return weight > 1000 ? -1 : weight;
}

/** The row in `weights` for a coding's name, or -1 for an unsupported one. */
function slotOf(bytes: Uint8Array, from: number, to: number): number {
  if (to - from === 1 && bytes[from] === Byte.Star) return STAR;
  for (let coding = 0; coding < CODING_COUNT; coding++) {
    if (equalsLower(bytes, from, to, NAME_BYTES[coding]!)) return coding;
  }
  // RFC 9110 §8.4.1.3: x-gzip is gzip.
  return equalsLower(bytes, from, to, X_GZIP) ? Coding.Gzip : -1;
}
