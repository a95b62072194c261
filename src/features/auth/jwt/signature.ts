import { constants, createHmac, timingSafeEqual, verify } from "node:crypto";
import { FairTurns, type TurnTaker } from "../../../core/fair-turns.ts";
import { ALGORITHMS, type AlgorithmName } from "../../../proto/jwt/key-set.ts";
import type { ReadyKey } from "./key-ring.ts";

/** Signatures of slow algorithms that a worker verifies at a time off its event loop, and all that wait; beyond: 503. */
const MAX_SLOW_SIGNATURES = 2;
const MAX_WAITING_SIGNATURES = 64;

/** A signature, and the bytes that it is for. */
export interface Signed {
  readonly algorithm: AlgorithmName;
  readonly data: Buffer;
  readonly signature: Buffer;
}

/**
 * Whether the key has made the signature, found at once: handing a few dozen microseconds of work to another thread costs more than the
 * work. RFC 7518 §3
 */
export function isSignedBy({ object }: ReadyKey, { algorithm, data, signature }: Signed): boolean {
  const { family, hash } = ALGORITHMS[algorithm];
  try {
    if (family !== "secret") return verify(hash, data, { key: object, ...OPTIONS[family] }, signature);
    const own = createHmac(hash, object).update(data).digest();
    return own.length === signature.length && timingSafeEqual(own, signature);
  } catch {
    return false;
  }
}

/** One that waits for its turn. */
interface WaitingSignature {
  readonly run: () => void;
  readonly listener: (isGood: boolean | null) => void;
}

/** Signatures that take milliseconds: they are verified off the event loop, a few at a time, in turns of networks and clients. */
export class SlowSignatures {
  private readonly waiting: FairTurns<WaitingSignature> = new FairTurns(MAX_WAITING_SIGNATURES);
  private running = 0;

  /**
   * Verifies like `isSignedBy`.
   * @param listener called once, later; with null where others have taken the room meanwhile
   * @returns false if there is no room: the listener is not called
   */
  verify(
    { object }: ReadyKey,
    { algorithm, data, signature }: Signed,
    taker: TurnTaker,
    listener: (isGood: boolean | null) => void,
  ): boolean {
    const { family, hash } = ALGORITHMS[algorithm];
    const run = (): void => {
      this.running++;
      const done = (isGood: boolean): void => {
        this.running--;
        this.waiting.next()?.run();
        listener(isGood);
      };
      try {
        const options = { key: object, ...OPTIONS[family] };
        verify(hash, data, options, signature, (error, isGood) => done(!error && isGood));
      } catch {
        queueMicrotask(() => done(false));
      }
    };
    if (this.running < MAX_SLOW_SIGNATURES) {
      run();
      return true;
    }
    const one = { run, listener };
    const lost = this.waiting.add(taker, one);
    if (lost === one) return false;
    if (lost !== null) queueMicrotask(() => lost.listener(null));
    return true;
  }
}

const OPTIONS = {
  secret: {},
  rsa: { padding: constants.RSA_PKCS1_PADDING },
  "rsa-pss": { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST },
  ec: { dsaEncoding: "ieee-p1363" },
  edwards: {},
} as const;
