/** What a thread has measured since its last message. Times are whole microseconds. */
export interface Samples {
  /** Three numbers a benign request: from due to end, from sent to end, from due to sent. */
  readonly benign: Uint32Array;
  /** One for each of these: a status (100 to 599) or an `LoadEnding`. */
  readonly benignOutcomes: Uint16Array;
  /** Two numbers an attack: its place in the catalogue times 1000 plus its outcome; from due to end. */
  readonly attacks: Uint32Array;
  /** How late this thread looked at the clock, one number a benign request that was due. */
  readonly delays: Uint32Array;
}

/** Gathers samples in place, and hands a copy on when it is full or asked for. */
export class SampleBatch {
  /** When the last request that is counted here went out; 0 before the first. */
  lastSentMs = 0;
  private readonly benign = new Uint32Array(ROWS * 3);
  private readonly outcomes = new Uint16Array(ROWS);
  private readonly attacks = new Uint32Array(ROWS * 2);
  private readonly delays = new Uint32Array(ROWS);
  private delayRows = 0;
  private benignRows = 0;
  private attackRows = 0;

  constructor(private readonly deliver: (samples: Samples) => void) {}

  /** @param sentMs -1 for a request that was never sent */
  addBenign(dueMs: number, sentMs: number, endMs: number, outcome: number): void {
    if (this.benignRows === ROWS) this.flush();
    const wasSent = sentMs >= 0;
    const at = this.benignRows * 3;
    this.benign[at] = micros(endMs - dueMs);
    this.benign[at + 1] = wasSent ? micros(endMs - sentMs) : 0;
    this.benign[at + 2] = micros((wasSent ? sentMs : endMs) - dueMs);
    this.outcomes[this.benignRows++] = outcome;
    this.lastSentMs = Math.max(this.lastSentMs, sentMs);
  }

  /** @param sentMs when its connection was asked for; -1 for an attack that was never sent */
  addAttack(attack: number, dueMs: number, sentMs: number, endMs: number, outcome: number): void {
    if (this.attackRows === ROWS) this.flush();
    const at = this.attackRows++ * 2;
    this.attacks[at] = attack * OUTCOMES + outcome;
    this.attacks[at + 1] = micros(endMs - dueMs);
    this.lastSentMs = Math.max(this.lastSentMs, sentMs);
  }

  /** @param delayMs from the time at which a request was due to that at which this thread saw it */
  addDelay(delayMs: number): void {
    if (this.delayRows === ROWS) this.flush();
    this.delays[this.delayRows++] = micros(delayMs);
  }

  flush(): void {
    if (this.benignRows + this.attackRows + this.delayRows === 0) return;
    this.deliver({
      benign: this.benign.slice(0, this.benignRows * 3),
      benignOutcomes: this.outcomes.slice(0, this.benignRows),
      attacks: this.attacks.slice(0, this.attackRows * 2),
      delays: this.delays.slice(0, this.delayRows),
    });
    this.benignRows = 0;
    this.attackRows = 0;
    this.delayRows = 0;
  }
}

/** More than there are outcomes: statuses end at 599. */
export const OUTCOMES = 1000;
const ROWS = 4096;

function micros(ms: number): number {
  return Math.max(0, Math.round(ms * 1000));
}
