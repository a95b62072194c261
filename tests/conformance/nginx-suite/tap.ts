/** One assertion of a test file. */
export interface Assertion {
  readonly number: number;
  readonly name: string;
  readonly isPassed: boolean;
  /** The suite itself does not expect it to hold. */
  readonly isTodo: boolean;
  readonly isSkipped: boolean;
  /** What the test printed about a failure. */
  readonly diagnostics: string;
}

/** What a test file said in the Test Anything Protocol. */
export interface TapResult {
  /** How many assertions it announced; 0 if it announced none. */
  readonly planned: number;
  readonly assertions: readonly Assertion[];
  /** Why the whole file was left out; null if it ran. */
  readonly skipReason: string | null;
}

const RESULT = /^(not )?ok (\d+)(?: - ([^#]*))?(?:# (\w+).*)?/i;

/** Reads the output of a test file, with its diagnostics in the order in which they were written. */
export function readTap(output: string): TapResult {
  let planned = 0;
  let skipReason: string | null = null;
  const assertions: { -readonly [K in keyof Assertion]: Assertion[K] }[] = [];
  for (const line of output.split("\n")) {
    const plan = /^1\.\.(\d+)(?: # SKIP ?(.*))?/i.exec(line);
    const result = RESULT.exec(line);
    if (plan !== null) {
      planned = Number(plan[1]);
      if (planned === 0) skipReason = plan[2] ?? "";
    } else if (result !== null) {
      assertions.push({
        number: Number(result[2]),
        name: (result[3] ?? "").trim(),
        isPassed: result[1] === undefined,
        isTodo: result[4]?.toLowerCase() === "todo",
        isSkipped: result[4]?.toLowerCase() === "skip",
        diagnostics: "",
      });
    } else if (line.startsWith("#") && assertions.length > 0) {
      assertions.at(-1)!.diagnostics += `${line}\n`;
    }
  }
  return { planned, assertions, skipReason };
}
