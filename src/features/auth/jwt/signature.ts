import { constants, createHmac, timingSafeEqual, verify } from "node:crypto";
import { MAX_SLOW_SIGNATURES, MAX_WAITING_SIGNATURES } from "../../../core/limits.ts";
import { ALGORITHMS, type AlgorithmName } from "../../../proto/jwt/key-set.ts";
import type { ReadyKey } from "./key-ring.ts";

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

/** Signatures that take milliseconds: they are verified off the event loop, a few at a time. */
export class SlowSignatures {
  private readonly waiting: (() => void)[] = [];
  private running = 0;

  /** Verifies like `isSignedBy`. @param listener called once, later @returns false where there is no room: it is not called */
  verify({ object }: ReadyKey, { algorithm, data, signature }: Signed, listener: (isGood: boolean) => void): boolean {
    if (this.running >= MAX_SLOW_SIGNATURES && this.waiting.length >= MAX_WAITING_SIGNATURES) return false;
    const { family, hash } = ALGORITHMS[algorithm];
    const run = (): void => {
      this.running++;
      const done = (isGood: boolean): void => {
        this.running--;
        this.waiting.shift()?.();
        listener(isGood);
      };
      try {
        const options = { key: object, ...OPTIONS[family] };
        verify(hash, data, options, signature, (error, isGood) => done(!error && isGood));
      } catch {
        queueMicrotask(() => done(false));
      }
    };
    if (this.running < MAX_SLOW_SIGNATURES) run();
    else this.waiting.push(run);
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
