import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** What a suite of others came to, for tests/conformance/results. */
export interface SuiteOutcome {
  /** As its file is called: `trace-context`. */
  readonly name: string;
  readonly title: string;
  /** What was run, and how, in Markdown. */
  readonly intro: string;
  /** The commit or version of the suite. */
  readonly version: string;
  readonly counts: readonly (readonly [label: string, count: number])[];
  /** Columns of the table of what did not pass. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/** The folder of the checkout that a script was given; ends the script with one line if the file that marks it is not there. */
export function checkoutOf(mark: string, usage: string): string {
  const [given = ""] = process.argv.slice(2);
  const folder = resolve(given);
  if (given !== "" && existsSync(join(folder, mark))) return folder;
  process.stderr.write(given === "" ? `usage: ${usage}\n` : `${given} has no ${mark}: ${usage}\n`);
  process.exit(2);
}

/** The commit of a checkout, short; `unknown` for a folder without history. */
export function versionOf(folder: string): string {
  const run = Bun.spawnSync(["git", "-C", folder, "log", "-1", "--format=%h of %cs"], { stderr: "ignore" });
  return run.exitCode === 0 ? run.stdout.toString().trim() : "unknown";
}

/** Writes the page of a suite, and prints its counts. */
export function writeSuitePage(outcome: SuiteOutcome): void {
  const { name, title, intro, version, counts, columns, rows } = outcome;
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  const table =
    rows.length === 0 ? [] : ["", line(columns), `|${columns.map(() => "---").join("|")}|`, ...rows.map(line)];
  const text = [
    `# ${title}`,
    "",
    intro,
    "",
    `Version of the suite: ${version}.`,
    "",
    ...counts.map(([label, count]) => `- ${label}: ${count.toLocaleString("en-US")}`),
    ...table,
    "",
  ].join("\n");
  const path = join(import.meta.dir, "results", `${name}.md`);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  process.stdout.write(`${title}: ${counts.map(([label, count]) => `${label} ${count}`).join(", ")}\n`);
}
