/** How long fetched keys count as fresh: what their Cache-Control says within these bounds, or the usual time. */
const JWKS_MIN_AGE_MS = 60_000;
const JWKS_MAX_AGE_MS = 3_600_000;
const JWKS_USUAL_AGE_MS = 600_000;
/** Milliseconds between two requests for keys that tokens with unknown keys cause, all workers together. */
const UNKNOWN_KEY_PAUSE_MS = 10_000;

/** A JWK set as it was fetched. */
export interface FetchedText {
  readonly text: string;
  /** The value of Cache-Control; "" without one. */
  readonly cacheControl: string;
}

/** The keys of a set, and why others were passed over. */
export interface KeyReading<Key> {
  readonly keys: readonly Key[];
  readonly notes: readonly string[];
}

/** What an owner learns of its source, and tells of it. */
interface OwnerPorts<Key> {
  /** Fetches the set: bounded in time and size. @throws why it cannot be had */
  fetch(): Promise<FetchedText>;
  /** Milliseconds on a clock that never goes back. */
  now(): number;
  /** Runs something later. @returns a way to call it off */
  after(ms: number, act: () => void): () => void;
  /** Reads the keys of a set. @returns why it is none that can be used, as an Error */
  read(text: string): KeyReading<Key> | Error;
  /** The keys are others than before. @param notes why keys were passed over */
  onKeys(keys: readonly Key[], notes: readonly string[]): void;
  /** @param failures in a row @param retryInMs until it is tried again */
  onFailure(reason: string, failures: number, retryInMs: number): void;
}

/**
 * Keeps the keys of one issuer: fetches them at the start and before they are too old, and when a token names one that is not there; not
 * more often than UNKNOWN_KEY_PAUSE_MS for that. While the issuer is away, the last ones stay. docs/authentication.md#keys
 */
export class KeySetOwner<Key> {
  keys: readonly Key[] | null = null;
  /** When they were fetched, on the clock of the ports. */
  fetchedMs = 0;
  fetches = 0;
  failures = 0;
  private readonly ports: OwnerPorts<Key>;
  private askedMs = Number.NEGATIVE_INFINITY;
  private failed = 0;
  private running: Promise<void> | null = null;
  private callOff: () => void = () => {};
  private isStopped = false;

  constructor(ports: OwnerPorts<Key>) {
    this.ports = ports;
  }

  /** Fetches now, unless that is under way. @returns when that has ended, well or not */
  fetch(): Promise<void> {
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
    return this.running;
  }

  /**
   * A token names a key that is not there: fetches now, unless it was asked for a short while ago.
   * @returns for how many milliseconds it is of no use to come again
   */
  async wanted(): Promise<number> {
    if (this.running !== null || this.ports.now() - this.askedMs >= UNKNOWN_KEY_PAUSE_MS) await this.fetch();
    return Math.max(0, this.askedMs + UNKNOWN_KEY_PAUSE_MS - this.ports.now());
  }

  /** The configuration was read again: the cause of a failure may have been mended. */
  hurry(): void {
    if (this.failed > 0) void this.fetch();
  }

  stop(): void {
    this.isStopped = true;
    this.callOff();
  }

  private async run(): Promise<void> {
    const { ports } = this;
    this.callOff();
    this.askedMs = ports.now();
    let waitMs: number;
    try {
      const { text, cacheControl } = await ports.fetch();
      if (this.isStopped) return;
      this.take(text);
      waitMs = freshMs(cacheControl);
    } catch (error) {
      if (this.isStopped) return;
      this.failures++;
      waitMs = this.retryMs(this.failed++);
      ports.onFailure(error instanceof Error ? error.message : String(error), this.failed, waitMs);
    }
    this.callOff = ports.after(waitMs, () => void this.fetch());
  }

  private take(text: string): void {
    const read = this.ports.read(text);
    if (read instanceof Error) throw read;
    this.fetches++;
    this.failed = 0;
    this.fetchedMs = this.ports.now();
    const isSame = this.keys !== null && JSON.stringify(this.keys) === JSON.stringify(read.keys);
    if (isSame) return;
    this.keys = read.keys;
    this.ports.onKeys(read.keys, read.notes);
  }

  /** Without keys a route is down: it is tried again soon. */
  private retryMs(failed: number): number {
    const [first, most] =
      this.keys === null ? [FIRST_RETRY_MS, MAX_RETRY_MS] : [UNKNOWN_KEY_PAUSE_MS, MAX_KEPT_RETRY_MS];
    return Math.min(most, first * 2 ** Math.min(failed, 16));
  }
}

/** For how long a set is fresh, from its Cache-Control. RFC 9111 §5.2.2 */
export function freshMs(cacheControl: string): number {
  const directives = cacheControl
    .toLowerCase()
    .split(",")
    .map((one) => one.trim());
  if (directives.includes("no-store") || directives.includes("no-cache")) return JWKS_MIN_AGE_MS;
  const age = directives.map((one) => /^max-age="?(\d{1,10})"?$/.exec(one)?.[1]).find((one) => one !== undefined);
  if (age === undefined) return JWKS_USUAL_AGE_MS;
  return Math.min(JWKS_MAX_AGE_MS, Math.max(JWKS_MIN_AGE_MS, Number(age) * 1000));
}

const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 30_000;
const MAX_KEPT_RETRY_MS = 300_000;
