/**
 * Whether an interim answer of an origin goes on to the client: 102 and 103. RFC 9110 §15.2 lets a proxy keep 100 to itself where
 * it has asked for it, and what it does not know tells a client nothing.
 */
export function isPassedOn(status: number): boolean {
  return status === 102 || status === 103;
}
