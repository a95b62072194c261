/** What a fuzz run found wrong, with all that is needed to see it again. */
export class FuzzFailure extends Error {
  constructor(
    readonly what: string,
    readonly seed: number,
    readonly round: number,
    readonly bytes: string,
    readonly detail: string,
  ) {
    super(
      `${what}\n  seed ${seed}, round ${round}\n  bytes ${JSON.stringify(bytes)}\n` +
        `  base64 ${Buffer.from(bytes, "latin1").toString("base64")}\n  ${detail}`,
    );
  }
}

/** When a run ends. */
export interface FuzzLimits {
  readonly seed: number;
  readonly rounds: number;
  /** After which it ends, once the tally has some of each kind: a slow machine takes longer for them. */
  readonly seconds: number;
}

/** More than these must be good and refused for a run to say something. */
export const LEAST_OF_A_KIND = 10;

/** How much a run has done. */
export interface FuzzTally {
  rounds: number;
  /** Messages that the reference takes for good, refuses, and leaves open. */
  good: number;
  refused: number;
  open: number;
}
