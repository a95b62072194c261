/** What the reader of a console tells as it reads. */
export interface ConsoleEvents {
  /** A test of `file` has ended. */
  onTest(file: string, hasFailed: boolean): void;
  /** What passing tests print, such as why one is skipped. */
  onNote(line: string): void;
}

type Outcome = "pass" | "fail" | "skip" | "todo";

/** What one `bun test` prints, read line by line: the file under way, what failed, and what else was printed. */
export class TestConsole {
  /** Whole texts of failures, each beginning with the line of its file. */
  readonly failures: string[] = [];
  readonly counts: Record<Outcome, number> = { pass: 0, fail: 0, skip: 0, todo: 0 };
  /** How many failures Bun counts at the end, files that did not load among them; 0 before the end. */
  printedFailures = 0;
  /** The file that was heard of last. */
  file = "";
  private pending: string[] = [];
  /** At its end Bun names failures once more. */
  private isSummary = false;
  private isFailure = false;
  /** The name of a test may have line feeds: its rest follows. */
  private isInName = false;

  constructor(private readonly events: ConsoleEvents) {}

  /** Takes the next line. */
  take(line: string): void {
    const heading = HEADING.exec(line)?.[1];
    const outcome = OUTCOME.exec(line)?.[1] as Outcome | undefined;
    const printed = PRINTED_FAILURES.exec(line)?.[1];
    this.isSummary ||= SUMMARY.test(line);
    if (this.isInName && heading === undefined) this.isInName = !NAME_END.test(line);
    else if (this.isSummary) this.printedFailures = Number(printed ?? this.printedFailures);
    else if (heading !== undefined) this.begin(heading);
    else if (outcome !== undefined) this.endTest(outcome, line);
    else if (line === UNHANDLED) this.beginUnhandled(line);
    else if (!CHATTER.test(line)) this.pending.push(line);
  }

  /** Settles what no test's end has settled; called with the last line taken. */
  flush(): void {
    if (this.isFailure) this.keepFailure();
    else for (const line of this.pending) if (line.trim() !== "") this.events.onNote(line);
    this.pending = [];
    this.isFailure = false;
  }

  private begin(file: string): void {
    this.flush();
    this.file = file;
    this.isInName = false;
  }

  private beginUnhandled(line: string): void {
    this.flush();
    this.pending.push(line);
    this.isFailure = true;
  }

  private endTest(outcome: Outcome, line: string): void {
    const hasFailed = outcome === "fail";
    this.counts[outcome]++;
    this.isInName = (outcome === "pass" || hasFailed) && !NAME_END.test(line);
    this.events.onTest(this.file, hasFailed);
    if (hasFailed) {
      this.pending.push(line);
      this.isFailure = true;
    }
    this.flush();
  }

  private keepFailure(): void {
    this.failures.push([`${this.file}:`, ...this.pending].join("\n").trimEnd());
  }
}

const HEADING = /^(\S+\.test\.ts):$/;
const OUTCOME = /^\((pass|fail|skip|todo)\) /;
const UNHANDLED = "# Unhandled error between tests";
const PRINTED_FAILURES = /^ *(\d+) fail$/;
const CHATTER = /^bun test v/;
const NAME_END = / \[[0-9.]+m?s\]$/;
const SUMMARY = /^(\d+ tests? (failed|skipped):| *\d+ pass)$/;
