// Runs the tests: `bun tests/runner/run-suite.ts "steps that failed before" [flags and paths]`, by way of scripts/test.
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { type BunRun, runFiles } from "./bun-run.ts";
import { Progress } from "./progress.ts";
import { planSuite, readArguments, type SuiteArguments } from "./suite-plan.ts";
import { SuiteTally } from "./suite-tally.ts";
import { TestConsole } from "./test-console.ts";

const ROOT = join(import.meta.dir, "../..");
/** Tests wait more than they compute: three more than there are processors. */
const LANES = Number(process.env.TEST_LANES ?? Math.min(availableParallelism() + 3, 6));
/** The suite takes less than 900 s; a slower or busier machine may take a third more. */
const LIMIT_S = 1200;
const LONG_LIMIT_S = 7200;
/** So many files whose tests failed are run once more, each alone; more of them are no accident. */
const SECOND_CHANCES = 6;
const SLOWEST = 15;

/** One call of `scripts/test`, after the build and the checks. */
class SuiteRun {
  private readonly files: readonly string[];
  private readonly stopping = new AbortController();
  private readonly progress: Progress;

  constructor(
    private readonly wanted: SuiteArguments,
    private readonly tally: SuiteTally,
  ) {
    const all = [...new Bun.Glob("tests/**/*.test.ts").scanSync({ cwd: ROOT })].sort();
    const { paths } = wanted;
    this.files =
      paths.length === 0 ? all : all.filter((file) => paths.some((path) => `${ROOT}/${file}`.includes(path)));
    this.progress = new Progress(this.files.length);
  }

  /** Runs everything, and prints all but the last line. */
  async run(): Promise<void> {
    const limitS = Number(process.env.TEST_LIMIT_S ?? (this.wanted.isLong ? LONG_LIMIT_S : LIMIT_S));
    const timer = setTimeout(() => this.stop(`the tests took more than ${limitS} s`), limitS * 1000);
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => this.stop(`ended by ${signal}`));
    const plan = planSuite(this.files);
    const together = [...plan.together];
    await Promise.all(Array.from({ length: LANES }, (_, lane) => this.workOff(together, lane)));
    await this.workOff([...plan.alone], 0);
    for (const file of this.tally.secondChances(SECOND_CHANCES)) await this.runAgain(file);
    clearTimeout(timer);
    this.progress.stop();
    for (const failure of this.tally.failureTexts) console.log(`\n${failure}`);
    if (this.wanted.showsSlowest) {
      for (const { seconds, path } of this.tally.slowest(SLOWEST))
        console.log(`${seconds.toFixed(1).padStart(6)} s  ${path}`);
    }
  }

  private async workOff(batches: (readonly string[])[], lane: number): Promise<void> {
    for (;;) {
      const files = batches.shift();
      if (files === undefined || this.stopping.signal.aborted) return;
      this.tally.add(await this.runOnce(files, lane), this.stopping.signal.aborted);
    }
  }

  private async runAgain(file: string): Promise<void> {
    if (this.stopping.signal.aborted) return;
    const run = await this.runOnce([file], 0);
    if (run.status !== 0) {
      this.tally.failureTexts.push(...run.console.failures.map((text) => `again, alone: ${text}`));
      return;
    }
    this.tally.forgive(file);
    this.progress.print(`unsteady: ${file} failed as told below, and passed when it ran alone`);
  }

  private async runOnce(files: readonly string[], lane: number): Promise<BunRun> {
    const end = this.progress.begin();
    const heard = new TestConsole({
      onTest: (file, hasFailed) => this.progress.noteTest(file, hasFailed),
      onNote: (line) => this.progress.print(line),
    });
    const env = { ...process.env, EDGE_TEST_LANE: String(lane), EDGE_TEST_LONG: this.wanted.isLong ? "1" : undefined };
    const run = await runFiles(files, { flags: this.wanted.flags, env, stop: this.stopping.signal }, heard);
    end();
    return run;
  }

  private stop(why: string): void {
    if (this.stopping.signal.aborted) return;
    this.tally.fail(why);
    this.stopping.abort();
  }
}

if (import.meta.main) {
  process.chdir(ROOT);
  const [before = "", ...words] = process.argv.slice(2);
  const tally = new SuiteTally();
  for (const step of before.split(" ")) if (step !== "") tally.fail(step);
  await new SuiteRun(readArguments(words), tally).run();
  if (tally.isEmpty) tally.fail("no test ran");
  console.log(tally.lastLine);
  process.exit(tally.failed > 0 ? 1 : 0);
}
