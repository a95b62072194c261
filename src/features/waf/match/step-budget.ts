/**
 * Steps of the WAF's inspection for each byte of a request, a step being a byte that is examined. Source code, dumps of SQL,
 * minified scripts and the like take up to 30 each time they are read, since several analysers look at them; the worst that is
 * known of hostile bodies takes some 120. 64 KiB may so cost some 20 ms at most. Beyond it the request scores PROTOCOL-007.
 */
export const WAF_STEPS_PER_BYTE = 256;
/** A shorter request has the steps of one of so many bytes. */
export const WAF_LEAST_BYTES = 65_536;

/**
 * The steps that the inspection of one request may take. A step is a byte that is examined; what costs a bounded look
 * around a find is counted at once by its bound, so that counting costs nothing if nothing is found. Every analyser is
 * linear by itself: this is the last defence against one that is not. docs/security.md#the-cost-of-inspection
 */
export class StepBudget {
  /** Steps taken since `begin`. */
  taken = 0;
  private limit = Number.POSITIVE_INFINITY;
  private readonly perByte: number;

  /** @param perByte steps for each byte of a request */
  constructor(perByte: number = WAF_STEPS_PER_BYTE) {
    this.perByte = perByte;
  }

  /**
   * Another request comes, of which so many bytes are inspected.
   * @param taken steps that it has taken before this was known
   */
  begin(bytes: number, taken = 0): void {
    this.taken = taken;
    this.limit = this.perByte * Math.max(bytes, WAF_LEAST_BYTES);
  }

  /** Counts steps. @returns whether there are more: without, an analyser gives up */
  take(steps: number): boolean {
    this.taken += steps;
    return this.taken <= this.limit;
  }

  get isSpent(): boolean {
    return this.taken > this.limit;
  }
}
