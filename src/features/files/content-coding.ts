import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { CODING_COUNT, Coding, codingWeights } from "../../proto/semantics/accept-encoding.ts";

/** What is put after a file's name to name its precompressed sibling, by Coding. */
export const CODING_SUFFIXES: readonly string[] = ["", ".br", ".zst", ".gz"];

/**
 * The coding of a file to answer with: of the codings that the client wants most, the first of Coding. docs/files.md
 * @param headers the request's fields
 * @param available bit `1 << coding` for every coding that there is; identity always is
 */
export function chooseCoding(headers: HeaderBlock, available: number): Coding {
  if (available === 1 || headers.find(HeaderId.AcceptEncoding) < 0) return Coding.Identity;
  const weights = codingWeights(headers);
  let best: Coding = Coding.Identity;
  let bestWeight = 0;
  for (let coding = 1; coding < CODING_COUNT; coding++) {
    if ((available & (1 << coding)) === 0 || weights[coding]! <= bestWeight) continue;
    best = coding;
    bestWeight = weights[coding]!;
  }
  return best;
}
