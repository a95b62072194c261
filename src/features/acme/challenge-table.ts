/** Bytes of all HTTP-01 responses that are expected at once: some 370 names. */
export const MAX_CHALLENGE_BYTES = 65536;

/**
 * The responses to HTTP-01 challenges that are expected now, written by the control thread and seen by all workers at once.
 *
 *     version, bytes (Int32) | key authorizations, one a line
 *
 * A key authorization begins with its token and a dot (RFC 8555 §8.1), so that nothing else needs to be kept. The version
 * is odd while the writer is at work; readers parse the lines once for each version.
 */
export function createChallengeTable(): SharedArrayBuffer {
  return new SharedArrayBuffer(HEADER_BYTES + MAX_CHALLENGE_BYTES);
}

/** The one writer. */
export class ChallengeWriter {
  private readonly head: Int32Array;
  private readonly lines: Buffer;

  constructor(table: SharedArrayBuffer) {
    this.head = new Int32Array(table, 0, 2);
    this.lines = Buffer.from(table, HEADER_BYTES);
  }

  /**
   * Replaces all responses. Once it returns, every worker gives the new ones.
   * @param keyAuthorizations in ASCII, none with a line break
   * @throws when they are more than the table holds
   */
  publish(keyAuthorizations: readonly string[]): void {
    const text = keyAuthorizations.join("\n");
    if (text.length > this.lines.length) throw new Error(`too many challenges at once: ${keyAuthorizations.length}`);
    Atomics.add(this.head, VERSION, 1);
    this.lines.latin1Write(text);
    Atomics.store(this.head, BYTES, text.length);
    Atomics.add(this.head, VERSION, 1);
  }
}

/** A worker's view. */
export class ChallengeReader {
  private readonly head: Int32Array;
  private readonly lines: Buffer;
  private answers: ReadonlyMap<string, string> = new Map();
  private version = 0;

  constructor(table: SharedArrayBuffer) {
    this.head = new Int32Array(table, 0, 2);
    this.lines = Buffer.from(table, HEADER_BYTES);
  }

  /** The key authorization for a token; null for one that was not requested. */
  answerTo(token: string): string | null {
    if (Atomics.load(this.head, VERSION) !== this.version) this.refresh();
    return this.answers.get(token) ?? null;
  }

  private refresh(): void {
    // A certificate authority learns of a challenge after it was published: to give up here misses nothing.
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const version = Atomics.load(this.head, VERSION);
      if (version % 2 !== 0) continue;
      const text = this.lines.latin1Slice(0, Atomics.load(this.head, BYTES));
      if (Atomics.load(this.head, VERSION) !== version) continue;
      this.answers = responsesIn(text);
      this.version = version;
      return;
    }
  }
}

function responsesIn(text: string): ReadonlyMap<string, string> {
  if (text === "") return new Map();
  return new Map(text.split("\n").map((line) => [line.slice(0, line.indexOf(".")), line]));
}

const HEADER_BYTES = 8;
const VERSION = 0;
const BYTES = 1;
const MAX_TRIES = 1000;
