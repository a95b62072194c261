import { createHmac, randomBytes } from "node:crypto";
import { FairTurns, type TurnTaker } from "../../core/fair-turns.ts";
import type { NowMs } from "../../message/ports.ts";

/** Passwords that a worker checks at the same time: each takes the memory that its hash asks for, 64 MiB with argon2id's default. */
export const MAX_PASSWORD_CHECKS = 2;
/** Passwords that wait for that in a worker, in turns by network and client; beyond, the client with most waiting gets 503. */
export const MAX_WAITING_PASSWORDS = 64;
/** How long a password that was found good is not checked again. */
export const CREDENTIAL_MEMORY_MS = 300_000;
/** Good passwords that a worker remembers; beyond, the oldest is forgotten. */
export const MAX_REMEMBERED_CREDENTIALS = 4096;

/** Verifies a password against a hash; it takes its time, off the event loop. */
type HashCheck = (password: string, hash: string) => Promise<boolean>;

/** Is told how a check came out. @param isGood null if there was no room for it */
type PasswordListener = (isGood: boolean | null) => void;

/** A password and what it is checked with. */
interface PasswordCheck {
  readonly password: string;
  /** Its hash first. The others are checked if it does not fit, for the time that this takes: whether one fits says nothing. */
  readonly hashes: readonly [string, ...string[]];
}

interface WaitingCheck extends PasswordCheck {
  readonly listener: PasswordListener;
}

/** Whose name and password a field has shown, with the hash that they fit. */
interface ShownBefore {
  readonly name: string;
  readonly hash: string;
  /** On the clock. */
  readonly untilMs: number;
}

/**
 * Checks passwords, a few at the same time, since one takes much memory and time by design; others wait in a bounded queue, in which
 * networks and their clients take turns. Good ones are remembered for CREDENTIAL_MEMORY_MS under a keyed hash. docs/authentication.md#passwords
 */
export class Passwords {
  private readonly check: HashCheck;
  private readonly clock: NowMs;
  private readonly key: Buffer = randomBytes(32);
  /** When each is forgotten, in milliseconds of the clock; the one that was remembered longest ago comes first. */
  private readonly known: Map<string, number> = new Map();
  private readonly fields: Map<string, ShownBefore> = new Map();
  /** Has taken up the key, which is half of what hashing a field costs. */
  private readonly hasher = new Bun.CryptoHasher("sha256", randomBytes(32));
  private readonly waiting: FairTurns<WaitingCheck> = new FairTurns(MAX_WAITING_PASSWORDS);
  private running = 0;

  constructor(check: HashCheck, clock: NowMs) {
    this.check = check;
    this.clock = clock;
  }

  /** Whether this password was found to be the hash's a short while ago. */
  knows(password: string, hash: string): boolean {
    return this.knownUntil(password, hash) > 0;
  }

  /** Until when the password counts as the hash's, in milliseconds of the clock; 0 if it does not. */
  knownUntil(password: string, hash: string): number {
    const key = this.keyOf(password, hash);
    const until = this.known.get(key);
    if (until === undefined) return 0;
    if (until > this.clock.nowMs) return until;
    this.known.delete(key);
    return 0;
  }

  /** Whose `Authorization` these bytes were a short while ago; null if that is not known: it need not be read again. */
  shown(field: Uint8Array): ShownBefore | null {
    const key = this.fieldKeyOf(field);
    const found = this.fields.get(key);
    if (found === undefined) return null;
    if (found.untilMs > this.clock.nowMs) return found;
    this.fields.delete(key);
    return null;
  }

  /** Remembers whose field it is, under a keyed hash. */
  noteShown(field: Uint8Array, whose: ShownBefore): void {
    if (this.fields.size >= MAX_REMEMBERED_CREDENTIALS) this.fields.delete(this.fields.keys().next().value!);
    this.fields.set(this.fieldKeyOf(field), whose);
  }

  /** Checks a password; the listener is called once: with null if there is no room, perhaps at once. @param taker who shows it */
  verify(check: PasswordCheck, taker: TurnTaker, listener: PasswordListener): void {
    const one = { ...check, listener };
    if (this.running < MAX_PASSWORD_CHECKS) return void this.run(one);
    const lost = this.waiting.add(taker, one);
    if (lost === one) listener(null);
    else if (lost !== null) queueMicrotask(() => lost.listener(null));
  }

  private async run({ password, hashes: [own, ...others], listener }: WaitingCheck): Promise<void> {
    this.running++;
    const isGood = await this.fits(password, own);
    if (isGood) this.remember(password, own);
    else for (const hash of others) await this.fits(password, hash);
    this.running--;
    const next = this.waiting.next();
    if (next !== null) void this.run(next);
    listener(isGood);
  }

  private async fits(password: string, hash: string): Promise<boolean> {
    try {
      return await this.check(password, hash);
    } catch {
      // A hash that looked well and cannot be verified is no one's.
      return false;
    }
  }

  private remember(password: string, hash: string): void {
    const key = this.keyOf(password, hash);
    this.known.delete(key);
    if (this.known.size >= MAX_REMEMBERED_CREDENTIALS) this.known.delete(this.known.keys().next().value!);
    this.known.set(key, this.clock.nowMs + CREDENTIAL_MEMORY_MS);
  }

  private fieldKeyOf(field: Uint8Array): string {
    return this.hasher.copy().update(field).digest("base64");
  }

  /** The hash is of fixed form, so that no two pairs give the same text. */
  private keyOf(password: string, hash: string): string {
    return createHmac("sha256", this.key).update(`${hash}\n${password}`).digest("base64");
  }
}
