/**
 * The Huffman code of RFC 7541 Appendix B. It is canonical: the codes of one length follow each other in the order of
 * their symbols, so that the lengths alone give the code.
 */

/** Length of each symbol's code, 0 to 255 and the end of the string: `a` is 5 bits, `z` is 30. */
const LENGTHS =
  "isxxxxxxxtzxxzxxxxxxxxzxxxxxxxxxbffhibdgffdgdbbbaaabbbbbbbcdkbhfibccccccccccccccccccccccdcdioijbkabababbbaccbbbabcba" +
  "abccccckgjixprpprrrsrssssststtrstssssqrsrsstrqprrssqsrrtqrssqqrqsrssprrrsrrsvvporsruvvvwwvtuoqvwwvwtqqvvxwwwptpqrqq" +
  "srruuttvsvwvvwwwwwxwwwwwvz";
const MIN_BITS = 5;
const SYMBOLS = 257;
const END_OF_STRING = 256;

const BITS: Uint8Array = Uint8Array.from(LENGTHS, (letter) => letter.charCodeAt(0) - 97 + MIN_BITS);
const CODES: Uint32Array = canonicalCodes();

/** Entry of `STEPS`: the next state in the low byte, the symbol above it, and these. */
const EMITS = 1 << 16;
const FAILS = 1 << 17;
/** One row of 16 a state, indexed by the next four bits of input. No code is shorter than five bits: one symbol at most. */
const { steps: STEPS, mayEnd: MAY_END } = decodeTables();

/**
 * Decodes a string. RFC 7541 §5.2.
 * @param out has room for `(to - from) * 8 / 5` bytes after `at`
 * @returns the offset after the text, or -1 if it is malformed: the end symbol in it, or padding that is none
 */
export function decodeHuffman(bytes: Uint8Array, from: number, to: number, out: Uint8Array, at: number): number {
  let state = 0;
  let end = at;
  for (let i = from; i < to; i++) {
    const byte = bytes[i]!;
    const high = STEPS[(state << 4) | (byte >> 4)]!;
    if ((high & EMITS) !== 0) out[end++] = (high >> 8) & 255;
    const low = STEPS[((high & 255) << 4) | (byte & 15)]!;
    if ((low & EMITS) !== 0) out[end++] = (low >> 8) & 255;
    if (((high | low) & FAILS) !== 0) return -1;
    state = low & 255;
  }
  return MAY_END[state] === 1 ? end : -1;
}

/** Bytes that `encodeHuffman` writes. */
export function huffmanLength(bytes: Uint8Array, from: number, to: number): number {
  let bits = 0;
  for (let i = from; i < to; i++) bits += BITS[bytes[i]!]!;
  return (bits + 7) >> 3;
}

/**
 * Encodes a string, padded with the beginning of the end symbol. RFC 7541 §5.2.
 * @returns the offset after it
 */
export function encodeHuffman(bytes: Uint8Array, from: number, to: number, out: Uint8Array, start: number): number {
  let at = start;
  let held = 0;
  let heldBits = 0;
  for (let i = from; i < to; i++) {
    let bits = BITS[bytes[i]!]!;
    const code = CODES[bytes[i]!]!;
    while (bits > 0) {
      const taken = Math.min(bits, 8 - heldBits);
      bits -= taken;
      held = (held << taken) | ((code >>> bits) & ((1 << taken) - 1));
      heldBits += taken;
      if (heldBits === 8) {
        out[at++] = held;
        held = 0;
        heldBits = 0;
      }
    }
  }
  if (heldBits > 0) out[at++] = (held << (8 - heldBits)) | (255 >> heldBits);
  return at;
}

function canonicalCodes(): Uint32Array {
  const codes = new Uint32Array(SYMBOLS);
  const order = Array.from({ length: SYMBOLS }, (_, symbol) => symbol).sort((a, b) => BITS[a]! - BITS[b]! || a - b);
  let code = 0;
  let bits = MIN_BITS;
  for (const symbol of order) {
    code = (code << (BITS[symbol]! - bits)) >>> 0;
    bits = BITS[symbol]!;
    codes[symbol] = code++;
  }
  return codes;
}

function decodeTables(): { readonly steps: Uint32Array; readonly mayEnd: Uint8Array } {
  // The code as a tree: two children a node; a child below 0 is the symbol ~child, 0 is not there yet.
  const children: number[] = [0, 0];
  for (let symbol = 0; symbol < SYMBOLS; symbol++) {
    let node = 0;
    for (let bit = BITS[symbol]! - 1; bit >= 0; bit--) {
      const at = node * 2 + ((CODES[symbol]! >>> bit) & 1);
      if (bit === 0) children[at] = ~symbol;
      else if (children[at] === 0) {
        children[at] = children.length / 2;
        children.push(0, 0);
      }
      node = children[at]!;
    }
  }
  const states = children.length / 2;
  const steps = new Uint32Array(states * 16);
  for (let state = 0; state < states; state++) {
    for (let nibble = 0; nibble < 16; nibble++) steps[state * 16 + nibble] = step(children, state, nibble);
  }
  // RFC 7541 §5.2: padding is fewer than eight bits, all of them ones.
  const mayEnd = new Uint8Array(states);
  for (let node = 0, depth = 0; depth < 8; depth++) {
    mayEnd[node] = 1;
    node = children[node * 2 + 1]!;
  }
  return { steps, mayEnd };
}

function step(children: readonly number[], state: number, nibble: number): number {
  let node = state;
  let emitted = 0;
  for (let bit = 3; bit >= 0; bit--) {
    const child = children[node * 2 + ((nibble >> bit) & 1)]!;
    node = child;
    if (child >= 0) continue;
    if (~child === END_OF_STRING) return FAILS;
    emitted = EMITS | (~child << 8);
    node = 0;
  }
  return emitted | node;
}
