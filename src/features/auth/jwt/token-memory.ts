import { randomBytes } from "node:crypto";

/** Verified tokens that a worker remembers for each method, and the bytes that they take; beyond, the oldest are forgotten. */
const MAX_REMEMBERED_TOKENS = 8192;
const MAX_REMEMBERED_TOKEN_BYTES = 8 * 1024 * 1024;

/** What was found of a token, for as long as that holds. */
interface Remembered<T> {
  readonly token: Buffer;
  readonly finding: T;
  readonly untilMs: number;
}

/**
 * What was found of tokens, by their exact bytes: a token that was verified before costs a hash of its end, which is its signature,
 * and one comparison. Only tokens with a good signature come in here, so that clients cannot fill it. Bounded in number and bytes: the
 * oldest go first.
 */
export class TokenMemory<T> {
  private readonly entries: Map<number, Remembered<T>> = new Map();
  private readonly seed: number = randomBytes(4).readInt32LE();
  private bytes = 0;

  /** The finding of the token in `bytes[from, to)`; null if there is none, or none that still holds. */
  find(bytes: Uint8Array, from: number, to: number, nowMs: number): T | null {
    const entry = this.entries.get(this.hash(bytes, from, to));
    if (entry === undefined || entry.untilMs <= nowMs) return null;
    const { token } = entry;
    if (token.length !== to - from || token.compare(bytes, from, to) !== 0) return null;
    return entry.finding;
  }

  /** Remembers the finding of a token until a time on the clock of `find`. */
  keep(token: Buffer, finding: T, untilMs: number): void {
    const hash = this.hash(token, 0, token.length);
    this.remove(hash);
    this.entries.set(hash, { token, finding, untilMs });
    this.bytes += costOf(token);
    while (this.entries.size > MAX_REMEMBERED_TOKENS || this.bytes > MAX_REMEMBERED_TOKEN_BYTES) {
      this.remove(this.entries.keys().next().value!);
    }
  }

  /** Forgets all. */
  clear(): void {
    this.entries.clear();
    this.bytes = 0;
  }

  private remove(hash: number): void {
    const entry = this.entries.get(hash);
    if (entry === undefined) return;
    this.entries.delete(hash);
    this.bytes -= costOf(entry.token);
  }

  private hash(bytes: Uint8Array, from: number, to: number): number {
    let hash = this.seed ^ (to - from);
    for (let i = Math.max(from, to - HASHED_BYTES); i < to; i++) hash = Math.imul(hash ^ bytes[i]!, FNV_PRIME);
    return hash;
  }
}

/** The token, and what its claims take as text. */
function costOf(token: Buffer): number {
  return token.length * 3 + ENTRY_BYTES;
}

const ENTRY_BYTES = 256;
const HASHED_BYTES = 24;
const FNV_PRIME = 0x0100_0193;
