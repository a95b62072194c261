import { hasPassed, type ScenarioResult } from "./scenario-result.ts";

/** Live progress: one line on a terminal that changes in place; nothing on a pipe. */
export class MultihopProgress {
  private doneCount = 0;
  private failedCount = 0;

  /** @param total scenarios of the run */
  constructor(
    private readonly isTerminal: boolean,
    private readonly total: number,
    private readonly write: (text: string) => void,
  ) {}

  /** One scenario is over. */
  done(result: ScenarioResult): void {
    this.doneCount++;
    if (!hasPassed(result)) this.failedCount++;
    if (!this.isTerminal) return;
    const { vector, backend } = result.scenario;
    const failed = this.failedCount === 0 ? "" : `, ${this.failedCount} failed`;
    this.write(`\r\x1b[K${this.doneCount}/${this.total}${failed}  ${vector.id} ${backend.name}`);
  }

  /** Something that matters beside the progress. */
  say(text: string): void {
    this.clear();
    this.write(`${text}\n`);
  }

  /** Takes the line away. */
  clear(): void {
    if (this.isTerminal) this.write("\r\x1b[K");
  }
}
