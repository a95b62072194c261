// What a run of `bun test` writes with `--reporter=junit`.

/** Numbers of one report, or of several together. */
export interface Totals {
  readonly tests: number;
  readonly failures: number;
  readonly skipped: number;
}

/** One file of a report: how long its tests took in seconds, and how many of them failed. */
export interface FileResult {
  readonly path: string;
  readonly seconds: number;
  readonly failures: number;
}

/** A report read: its sums and its files. */
export interface JunitReport extends Totals {
  readonly files: readonly FileResult[];
}

/** Reads a report; null for a text that is none, such as that of a run which was killed. */
export function readJunit(text: string): JunitReport | null {
  const head = /<testsuites [^>]*>/.exec(text)?.[0];
  if (head === undefined) return null;
  const failed = failuresByFile(text);
  const files = [...text.matchAll(/^ {2}<testsuite [^>]*>/gm)].map(([suite]) => {
    const path = attribute(suite, "name");
    return { path, seconds: Number(attribute(suite, "time")), failures: failed.get(path) ?? 0 };
  });
  const count = (name: string): number => Number(attribute(head, name));
  return { tests: count("tests"), failures: count("failures"), skipped: count("skipped"), files };
}

function failuresByFile(text: string): Map<string, number> {
  const failed = new Map<string, number>();
  for (const [testcase] of text.matchAll(/<testcase [^>]*[^/]>\s*<failure/g)) {
    const path = attribute(testcase, "file");
    failed.set(path, (failed.get(path) ?? 0) + 1);
  }
  return failed;
}

function attribute(element: string, name: string): string {
  const quoted = new RegExp(` ${name}="([^"]*)"`).exec(element)?.[1] ?? "";
  return quoted.replace(/&(amp|lt|gt|quot|apos);/g, (_, entity: string) => ENTITIES[entity] ?? "");
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };
