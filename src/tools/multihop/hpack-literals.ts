// As much of HPACK (RFC 7541) as it takes to ask without Huffman coding or tables, and to read the status of a response.

/** Encodes fields as literals without indexing, byte for byte as they are: nothing is checked. RFC 7541 §6.2.2. */
export function encodeLiterals(fields: readonly (readonly [string, string])[]): Buffer {
  return Buffer.concat(
    fields.flatMap(([name, value]) => [Buffer.from([0x00]), encodeString(name), encodeString(value)]),
  );
}

/** The `:status` of a header block; 0 if there is none to be read. RFC 9113 §8.3.2: it comes first. */
export function statusOf(block: Buffer): number {
  const reader = { block, at: 0 };
  while (reader.at < block.length) {
    const first = block[reader.at]!;
    if (first >= 0x80) {
      const status = STATIC_STATUS[readInteger(reader, 7)];
      if (status !== undefined) return status;
      return 0;
    }
    // A change of the dynamic table's size. RFC 7541 §6.3.
    if ((first & 0xe0) === 0x20) {
      readInteger(reader, 5);
      continue;
    }
    const nameIndex = readInteger(reader, first >= 0x40 ? 6 : 4);
    const name = nameIndex === 0 ? readString(reader) : "";
    const value = readString(reader);
    if (name === ":status" || nameIndex in STATIC_STATUS) return Number(value) || 0;
    return 0;
  }
  return 0;
}

interface Reader {
  readonly block: Buffer;
  at: number;
}

function encodeString(text: string): Buffer {
  const bytes = Buffer.from(text, "latin1");
  return Buffer.concat([encodeLength(bytes.length), bytes]);
}

/** RFC 7541 §5.1, with a prefix of 7 bits. */
function encodeLength(length: number): Buffer {
  if (length < 0x7f) return Buffer.from([length]);
  const bytes = [0x7f];
  let rest = length - 0x7f;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

function readInteger(reader: Reader, prefixBits: number): number {
  const mask = (1 << prefixBits) - 1;
  let value = reader.block[reader.at++]! & mask;
  if (value < mask) return value;
  for (let shift = 0; shift < 28; shift += 7) {
    const byte = reader.block[reader.at++] ?? 0;
    value += (byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return value;
}

function readString(reader: Reader): string {
  const isHuffman = (reader.block[reader.at] ?? 0) >= 0x80;
  const length = readInteger(reader, 7);
  const bytes = reader.block.subarray(reader.at, reader.at + length);
  reader.at += length;
  return isHuffman ? digitsOf(bytes) : bytes.toString("latin1");
}

/** Huffman codes of the digits, the only characters of a status. RFC 7541 Appendix B. */
function digitsOf(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  let digits = "";
  for (let at = 0; at < bits.length; ) {
    const code = DIGIT_CODES.findIndex((each) => bits.startsWith(each, at));
    if (code < 0) break;
    digits += code;
    at += DIGIT_CODES[code]!.length;
  }
  return digits;
}

const DIGIT_CODES = ["00000", "00001", "00010", "011001", "011010", "011011", "011100", "011101", "011110", "011111"];

/** Entries 8 to 14 of the static table. RFC 7541 Appendix A. */
const STATIC_STATUS: Readonly<Record<number, number>> = {
  8: 200,
  9: 204,
  10: 206,
  11: 304,
  12: 400,
  13: 404,
  14: 500,
};
