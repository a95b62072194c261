/** Tells how far a run has come: one line that is written again on a terminal, a line now and then elsewhere. */
export class Progress {
  private readonly startedMs = performance.now();
  private readonly isTerminal = process.stdout.isTTY === true;
  private readonly begun = new Set<string>();
  private running = 0;
  private failures = 0;
  private latest = "";
  private plainMs = this.startedMs;
  private readonly timer: Timer;

  constructor(private readonly total: number) {
    this.timer = setInterval(() => this.show(), LOOK_MS);
  }

  /** A run of some files begins, and ends when what is returned is called. */
  begin(): () => void {
    this.running++;
    return () => {
      this.running--;
    };
  }

  /** A test of a file has ended. */
  noteTest(file: string, hasFailed: boolean): void {
    this.begun.add(file);
    this.latest = file;
    if (!hasFailed) return;
    this.failures++;
    this.print(`a test has failed: ${file}`);
  }

  /** Prints a line that stays. */
  print(line: string): void {
    process.stdout.write(`${this.isTerminal ? CLEAR_LINE : ""}${line}\n`);
  }

  /** Leaves the terminal as it was. */
  stop(): void {
    clearInterval(this.timer);
    if (this.isTerminal) process.stdout.write(CLEAR_LINE);
  }

  private show(): void {
    const nowMs = performance.now();
    const done = Math.max(0, this.begun.size - this.running);
    const seconds = Math.floor((nowMs - this.startedMs) / 1000);
    const line = `${done}/${this.total} files, ${this.failures} failed, ${seconds} s`;
    if (this.isTerminal) {
      const room = (process.stdout.columns || 80) - 1;
      process.stdout.write(CLEAR_LINE + `${line}  ${this.latest}`.slice(0, room));
    } else if (nowMs - this.plainMs >= PLAIN_MS) {
      this.plainMs = nowMs;
      process.stdout.write(`${line}\n`);
    }
  }
}

const CLEAR_LINE = "\r\u001b[2K";
const LOOK_MS = 500;
const PLAIN_MS = 30_000;
