/**
 * Spreads waits, so that many who began together do not all come at one moment.
 * @param ms milliseconds in the mean @param share how far from it a wait may be, 0 to 1 @param random 0 to below 1
 */
export function spreadWait(ms: number, share: number, random: () => number = Math.random): number {
  return ms * (1 - share + 2 * share * random());
}
