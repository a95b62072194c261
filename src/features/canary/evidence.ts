/** How much worse the alternatives are, as factors of the least of them. */
const FACTORS = [1, 1.5, 2.25, 4, 8, 20, 60] as const;

/** Requests of both versions in a moment, and bad ones among them. */
export interface RolloutMoment {
  readonly newAll: number;
  readonly newBad: number;
  readonly oldAll: number;
  readonly oldBad: number;
}

/**
 * Joins moments until both versions have had requests: with one request a minute no single second has requests of both, and one version alone says
 * nothing. When a joined moment ends depends on the number of requests alone, not on how they went, so that the test holds.
 */
export class JoinedMoments {
  private joined: RolloutMoment = NO_REQUESTS;

  /** @returns all since the last result; null while one version has had no requests */
  add({ newAll, newBad, oldAll, oldBad }: RolloutMoment): RolloutMoment | null {
    const { joined } = this;
    this.joined = {
      newAll: joined.newAll + newAll,
      newBad: joined.newBad + newBad,
      oldAll: joined.oldAll + oldAll,
      oldBad: joined.oldBad + oldBad,
    };
    if (this.joined.newAll <= 0 || this.joined.oldAll <= 0) return null;
    const all = this.joined;
    this.joined = NO_REQUESTS;
    return all;
  }
}

const NO_REQUESTS: RolloutMoment = { newAll: 0, newBad: 0, oldAll: 0, oldBad: 0 };

/**
 * How much speaks for a new version having more bad requests than the old one: a mixture sequential probability ratio test (mSPRT) of two
 * rates. Given how many requests were bad, and how many each version had, each bad one is the new version's by a chance that only the ratio of
 * both rates decides. The evidence is the mean of the likelihood ratios of several ratios above 1, against 1. However often a caller looks
 * at it, it exceeds 1/α by chance in a share α of all rollouts at most, if the new version is no worse (Ville's inequality). docs/pressure.md#canaries
 */
export class WorseEvidence {
  /** Logarithms of the likelihood ratios. */
  readonly logs: number[];
  private readonly ratios: readonly number[];

  /** @param least the least ratio of bad requests that counts as worse, above 1 @param logs of an evidence that goes on */
  constructor(least: number, logs: readonly number[] = []) {
    this.ratios = FACTORS.map((factor) => least * factor);
    this.logs = this.ratios.map((_, i) => logs[i] ?? 0);
  }

  note({ newAll, newBad, oldAll, oldBad }: RolloutMoment): void {
    if (newAll <= 0 || oldAll <= 0 || newBad + oldBad <= 0) return;
    this.ratios.forEach((ratio, i) => {
      const rest = Math.log((newAll + oldAll) / (ratio * newAll + oldAll));
      this.logs[i]! += newBad * (Math.log(ratio) + rest) + oldBad * rest;
    });
  }

  /** Whether no request was bad so far. */
  get isNone(): boolean {
    return this.logs.every((log) => log === 0);
  }

  /** The logarithm of the evidence: 0 is none, less speaks against it. */
  get log(): number {
    const most = Math.max(...this.logs);
    const sum = this.logs.reduce((all, log) => all + Math.exp(log - most), 0);
    return most + Math.log(sum / this.logs.length);
  }
}
