// Which test files run, in which order, and which of them alone.

/**
 * Files that measure, or that use up what all processes of the machine share: they run one after the other when all else is
 * over. A file that only fails beside another is to be mended and does not belong here.
 */
export const ALONE: Readonly<Record<string, string>> = {
  "tests/conformance/bots-browser.test.ts": "it measures how long a browser takes for a task",
  "tests/conformance/slow-http.test.ts": "its tool measures whether the service answers while it is under attack",
};

/** What a call of `scripts/test` asks for. */
export interface SuiteArguments {
  readonly isLong: boolean;
  /** Prints which files took longest. */
  readonly showsSlowest: boolean;
  /** Parts of paths; none for all files. */
  readonly paths: readonly string[];
  /** Passed on to `bun test`. */
  readonly flags: readonly string[];
}

/** Lists of files, each for one `bun test`: `together` beside each other, then `alone`, one at a time. */
export interface SuitePlan {
  readonly together: readonly (readonly string[])[];
  readonly alone: readonly (readonly string[])[];
}

/** Tells our own flags, Bun's and paths apart. */
export function readArguments(words: readonly string[]): SuiteArguments {
  const [paths, flags]: [string[], string[]] = [[], []];
  let isLong = false;
  let showsSlowest = false;
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!;
    if (word === "--long") isLong = true;
    else if (word === "--slowest") showsSlowest = true;
    else if (PASSED_OVER.has(word)) continue;
    else if (!word.startsWith("-")) paths.push(word.replace(/^\.\//, ""));
    else flags.push(word, ...(FLAGS_WITH_VALUES.has(word) ? words.slice(++at, at + 1) : []));
  }
  return { isLong, showsSlowest, paths, flags };
}

/** The order of a run: what waits long comes first, small files last and many at once, so that all lanes end together. */
export function planSuite(files: readonly string[]): SuitePlan {
  const shared = files.filter((file) => !(file in ALONE));
  const slow = SLOW_FOLDERS.flatMap((folder) => shared.filter((file) => file.startsWith(folder)));
  // They read the same sources: one process reads them once.
  const tidy = shared.filter((file) => file.startsWith("tests/tidy/"));
  const quick = shared.filter((file) => !slow.includes(file) && !tidy.includes(file));
  return {
    together: [...inBatches(slow, SLOW_BATCH), ...(tidy.length === 0 ? [] : [tidy]), ...inBatches(quick, QUICK_BATCH)],
    alone: files.filter((file) => file in ALONE).map((file) => [file]),
  };
}

function inBatches(files: readonly string[], size: number): string[][] {
  return Array.from({ length: Math.ceil(files.length / size) }, (_, at) => files.slice(at * size, (at + 1) * size));
}

/** What scripts/test has done. */
const PASSED_OVER: ReadonlySet<string> = new Set(["--peers"]);
const FLAGS_WITH_VALUES: ReadonlySet<string> = new Set([
  "-t",
  "--test-name-pattern",
  "--timeout",
  "--rerun-each",
  "--retry",
  "--seed",
  "--max-concurrency",
  "--path-ignore-patterns",
  "--preload",
  "-r",
]);
const SLOW_FOLDERS = ["tests/conformance/", "tests/wire/", "tests/unit/tools/", "tests/fuzz/", "tests/property/"];
const SLOW_BATCH = 3;
const QUICK_BATCH = 16;
