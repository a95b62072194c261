import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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

/**
 * The folder of the checkout that a script was given; ends the script with one line if it is not there, or not whole.
 * @param parts folders of the suite, by default the one with the mark
 */
export function checkoutOf(mark: string, usage: string, parts?: readonly string[]): string {
  const [given = ""] = process.argv.slice(2);
  const fault = given === "" ? null : checkoutFault(resolve(given), mark, parts);
  if (given !== "" && fault === null) return resolve(given);
  process.stderr.write(given === "" ? `usage: ${usage}\n` : `${given} ${fault}: ${usage}\n`);
  process.exit(2);
}

/**
 * The fault of a checkout, in a few words; null for a clone that has all files of its commit: half a suite would pass with less.
 * @param mark a file or folder of the suite
 * @param parts folders of the suite, by default the one with the mark
 */
export function checkoutFault(
  folder: string,
  mark: string,
  parts: readonly string[] = [mark.includes("/") ? mark.split("/")[0]! : "."],
): string | null {
  if (!existsSync(join(folder, mark))) return `has no ${mark}`;
  if (!existsSync(join(folder, ".git"))) return "is no clone, so its version is not known";
  const tree = ["git", "-C", folder, "ls-tree", "-r", "-z", "--name-only", "HEAD", "--", ...parts];
  const listed = Bun.spawnSync(tree, { stderr: "ignore" });
  if (listed.exitCode !== 0) return "is no clone that git can read";
  const names = listed.stdout.toString().split("\0");
  const lost = names.filter((name) => name !== "" && !existsSync(join(folder, name)));
  return lost.length === 0 ? null : `has not all files of its commit: ${lost.length} are missing, such as ${lost[0]}`;
}

/** The commit of a checkout, short; `unknown` for a folder without history. */
export function versionOf(folder: string): string {
  const run = Bun.spawnSync(["git", "-C", folder, "log", "-1", "--format=%h of %cs"], { stderr: "ignore" });
  return run.exitCode === 0 ? run.stdout.toString().trim() : "unknown";
}

/** The version of a package of Python in a virtual environment; `unknown` if it is not there. */
export function versionIn(environment: string, name: string): string {
  const python = join(environment, "bin", "python");
  if (!existsSync(python)) return "unknown";
  const asked = `import importlib.metadata as m; print(m.version('${name}'))`;
  const run = Bun.spawnSync([python, "-c", asked], { stderr: "ignore" });
  return run.exitCode === 0 ? run.stdout.toString().trim() : "unknown";
}

/** The version of which a page of tests/conformance/results is; null for a page that is not there. */
export function versionOfPage(name: string): string | null {
  const path = join(import.meta.dir, "results", `${name}.md`);
  return existsSync(path) ? (/^Version of the suite: (.*)\.$/m.exec(readFileSync(path, "utf8"))?.[1] ?? null) : null;
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
