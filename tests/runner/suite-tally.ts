import type { BunRun } from "./bun-run.ts";
import type { FileResult } from "./junit-report.ts";

/** What all runs of a suite come to. */
export class SuiteTally {
  passed = 0;
  failed = 0;
  skipped = 0;
  /** Whole texts, in the order in which they came. */
  readonly failureTexts: string[] = [];
  private readonly files: FileResult[] = [];
  /** Files of which a failure is not in the report: another run of them proves nothing. */
  private hasUnreported = false;

  /** Whether nothing has passed and nothing has failed. */
  get isEmpty(): boolean {
    return this.passed + this.failed === 0;
  }

  /** The line that everything ends with. */
  get lastLine(): string {
    const note = this.skipped > 0 ? `, ${this.skipped} skipped` : "";
    return `${this.passed} passed, ${this.failed} failed${note}`;
  }

  /** Counts a failure that is no test's. */
  fail(why: string): void {
    this.failed++;
    this.failureTexts.push(`failed: ${why}`);
  }

  /** Adds a run that has ended; `wasStopped` for one that had no time left. */
  add(run: BunRun, wasStopped: boolean): void {
    const { report, console: heard } = run;
    this.failureTexts.push(...heard.failures);
    if (report === null) {
      this.passed += heard.counts.pass;
      this.skipped += heard.counts.skip;
      this.failed += Math.max(heard.counts.fail, heard.printedFailures);
      this.hasUnreported = true;
      if (!wasStopped && heard.printedFailures === 0)
        this.failUnreported(`bun test ended with ${run.status} at ${heard.file}: ${run.files.join(" ")}`);
      return;
    }
    // The report leaves out the files that did not load; what Bun prints at the end counts them as failures.
    const failures = Math.max(report.failures, heard.printedFailures);
    this.passed += report.tests - report.failures - report.skipped;
    this.skipped += report.skipped;
    this.failed += failures;
    this.files.push(...report.files);
    if (failures > report.failures) this.hasUnreported = true;
    const ranNone = report.tests === report.skipped;
    if (run.status !== 0 && failures === 0 && !ranNone) this.failUnreported(`bun test ended with ${run.status}`);
  }

  /**
   * The files whose tests failed, each to be run once more; none where there are more than `most`, or where a failure is in no
   * report. Tests on real sockets and processes share the machine with whatever else runs on it: a file that passes alone is
   * unsteady, and its tests count as passed. A fault that comes every time fails twice.
   */
  secondChances(most: number): string[] {
    const failing = this.files.filter(({ failures }) => failures > 0).map(({ path }) => path);
    return this.hasUnreported || failing.length > most ? [] : failing;
  }

  /** Counts the failures of a file as passed. */
  forgive(file: string): void {
    const failures = this.files.find(({ path }) => path === file)?.failures ?? 0;
    this.failed -= failures;
    this.passed += failures;
  }

  /** The files whose tests took longest. */
  slowest(count: number): FileResult[] {
    return [...this.files].sort((one, other) => other.seconds - one.seconds).slice(0, count);
  }

  private failUnreported(why: string): void {
    this.hasUnreported = true;
    this.fail(why);
  }
}
