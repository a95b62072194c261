/** Inputs up to this length are split everywhere; of longer ones, the places where something can go wrong are taken. */
const SHORT_BYTES = 1500;
const EDGE_BYTES = 40;
/** Around a line's end and around the length limits of a line, so many bytes to both sides. */
const NEAR_BYTES = 3;
const LIMITS = [8192, 65536, 4096, 256];
const STRIDE_BYTES = 4093;

/** Every way to cut the bytes in two, or the interesting ones. */
export function twoPieceSplits(bytes: Buffer): Buffer[][] {
  return cutsOf(bytes).map((cut) => [bytes.subarray(0, cut), bytes.subarray(cut)]);
}

/** One byte a piece; of a long input, single bytes where it matters and longer pieces between. */
export function finePieces(bytes: Buffer): Buffer[] {
  return piecesAt(bytes, cutsOf(bytes));
}

/** The bytes cut at these offsets, which may be in any order and stand there more than once. */
export function piecesAt(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const inside = [...new Set(cuts)].filter((cut) => cut > 0 && cut < bytes.length).sort((a, b) => a - b);
  const ends = [...inside, bytes.length];
  return ends.map((end, i) => bytes.subarray(i === 0 ? 0 : ends[i - 1]!, end));
}

function cutsOf(bytes: Buffer): number[] {
  const length = bytes.length;
  if (length <= SHORT_BYTES) return Array.from({ length: Math.max(0, length - 1) }, (_, i) => i + 1);
  const cuts = new Set<number>();
  const addNear = (at: number, reach: number): void => {
    for (let cut = at - reach; cut <= at + reach; cut++) if (cut > 0 && cut < length) cuts.add(cut);
  };
  addNear(0, EDGE_BYTES);
  addNear(length, EDGE_BYTES);
  let lineFrom = 0;
  for (let lf = bytes.indexOf(0x0a); lf >= 0; lf = bytes.indexOf(0x0a, lf + 1)) {
    addNear(lf, NEAR_BYTES);
    for (const limit of LIMITS) addNear(lineFrom + limit, NEAR_BYTES);
    lineFrom = lf + 1;
  }
  for (const limit of LIMITS) {
    addNear(limit, NEAR_BYTES);
    addNear(lineFrom + limit, NEAR_BYTES);
  }
  for (let cut = STRIDE_BYTES; cut < length; cut += STRIDE_BYTES) cuts.add(cut);
  return [...cuts].sort((a, b) => a - b);
}
