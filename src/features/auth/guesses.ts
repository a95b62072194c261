import { BucketRate, type TokenBuckets } from "../../memory/token-bucket.ts";
import type { BucketKey } from "../../memory/token-bucket-key.ts";
import { placeOf } from "../../message/client-place.ts";
import type { Exchange } from "../../message/exchange.ts";
import type { NowMs } from "../../message/ports.ts";

/** Wrong passwords that an address may send for one user, and how long it waits for each further one. */
const GUESSES_OF_USER = 10;
const MS_PER_GUESS_OF_USER = 10_000;
/** The same for all users together. */
const GUESSES_OF_ADDRESS = 100;
const MS_PER_GUESS = 2000;

/**
 * How often an address may be wrong with the password of a user, and with those of all users together: a bucket for each, in all workers,
 * from which an attempt takes a token that a good password gives back. A user can come in from any other address meanwhile.
 * docs/authentication.md#guessing
 */
export class Guesses {
  private readonly buckets: TokenBuckets;
  private readonly clock: NowMs;
  private readonly userKey: BucketKey;
  private readonly addressKey: BucketKey;

  /** @param clock the same for all workers */
  constructor(buckets: TokenBuckets, clock: NowMs) {
    this.buckets = buckets;
    this.clock = clock;
    this.userKey = buckets.keyFor("auth guesses of a user");
    this.addressKey = buckets.keyFor("auth guesses of an address");
  }

  /** An attempt begins. @returns 0, or the whole seconds after which the next one may be made */
  begin(ex: Exchange, user: string): number {
    const { nowMs } = this.clock;
    const place = placeOf(ex);
    const waitMs = this.buckets.take(hashed(this.userKey, place + user), OF_USER, nowMs);
    if (waitMs > 0) return Math.ceil(waitMs / 1000);
    const allMs = this.buckets.take(hashed(this.addressKey, place), OF_ADDRESS, nowMs);
    if (allMs > 0) this.buckets.giveBack(hashed(this.userKey, place + user), OF_USER, nowMs);
    return Math.ceil(allMs / 1000);
  }

  /** It was no guess: the password is right, or was not looked at. @returns what takes the attempt back */
  undoer(ex: Exchange, user: string): () => void {
    const place = placeOf(ex);
    return () => {
      const { nowMs } = this.clock;
      this.buckets.giveBack(hashed(this.userKey, place + user), OF_USER, nowMs);
      this.buckets.giveBack(hashed(this.addressKey, place), OF_ADDRESS, nowMs);
    };
  }
}

function hashed(key: BucketKey, text: string): BucketKey {
  const bytes = Buffer.from(text, "utf8");
  key.hash(bytes, 0, bytes.length);
  return key;
}

const OF_USER = new BucketRate(1, MS_PER_GUESS_OF_USER, GUESSES_OF_USER);
const OF_ADDRESS = new BucketRate(1, MS_PER_GUESS, GUESSES_OF_ADDRESS);
