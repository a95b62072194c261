// The files of JSONTestSuite (github.com/nst/JSONTestSuite) as several readers of JSON take them, and as the firewall does.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { explainWaf } from "../../src/features/waf/waf-explanation.ts";
import type { WafSettings } from "../../src/features/waf/waf-scorer.ts";
import { ENFORCE } from "../unit/features/waf/waf-settings.ts";

/** What a reader makes of each file: a value in one spelling, or `null` for a refusal. */
export interface JsonReader {
  readonly name: string;
  readonly values: ReadonlyMap<string, string | null>;
}

/** One file of the suite. */
export interface SuiteRow {
  readonly file: string;
  /** By reader: a letter for each different value, `–` for a refusal. */
  readonly readings: readonly string[];
  /** Rules of the firewall that report it. */
  readonly rules: readonly string[];
  /** Whether it passes, is logged or is refused, with each key of `waf.json` as it is by default, and with `refuse`. */
  readonly usual: string;
  readonly strict: string;
}

const NOTHING = "–";
const STRICT: WafSettings["json"] = {
  duplicateKeys: "refuse",
  invalidUtf8: "refuse",
  loneSurrogates: "refuse",
  numbers: "refuse",
  trailingData: "refuse",
  depth: "refuse",
};
const NO_ROUTES = { exactId: () => -1, prefixId: () => -1 };

/** @param folder `test_parsing` of a checkout */
export function suiteFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort();
}

/** Reads all files with every reader that this machine has. */
export function readersOf(folder: string, files: readonly string[]): JsonReader[] {
  const present = Object.entries(PROGRAMS).filter(([name]) => name !== "jq" || Bun.which("jq") !== null);
  const readers = present.map(([name, command]) => ({ name, values: valuesOf(command, folder, files) }));
  return readers.filter(({ values }) => values.size > 0);
}

/** Judges all files. */
export function suiteRows(folder: string, files: readonly string[], readers: readonly JsonReader[]): SuiteRow[] {
  return files.map((file) => {
    const body = readFileSync(join(folder, file));
    const letters: string[] = [];
    const readings = readers.map(({ values }) => {
      const value = values.get(file) ?? null;
      if (value === null) return NOTHING;
      if (!letters.includes(value)) letters.push(value);
      return String.fromCharCode(0x41 + letters.indexOf(value));
    });
    const usual = judge(body, {});
    return { file, readings, rules: usual.rules, usual: usual.verdict, strict: judge(body, { json: STRICT }).verdict };
  });
}

/** Whether two readers take a file in different ways. */
export function isDisputed({ readings }: SuiteRow): boolean {
  return new Set(readings).size > 1;
}

/** The table as a page. */
export function suitePage(rows: readonly SuiteRow[], readers: readonly JsonReader[]): string {
  const disputed = rows.filter(isDisputed);
  const missed = disputed.filter(({ rules }) => rules.length === 0);
  const names = readers.map(({ name }) => name);
  return [
    "# JSONTestSuite",
    "",
    "What readers of JSON make of the files in `test_parsing` of github.com/nst/JSONTestSuite, and what the firewall says: `scripts/conformance-json CHECKOUT`.",
    "A letter is a value (readers with the same letter agree), a dash a refusal. Then the rules that report the file as a body of `application/json`; whether it passes,",
    "is logged or is refused (403) with `waf.json` as it is by default; and the same with each of its keys at `refuse`.",
    "",
    `${rows.length} files; ${disputed.length} are taken in different ways, and of those ${missed.length} are not reported.`,
    "",
    `| file | ${names.join(" | ")} | rules | default | refuse |`,
    `|---|${"---|".repeat(names.length + 3)}`,
    ...rows.map(
      ({ file, readings, rules, usual, strict }) =>
        `| \`${file}\` | ${readings.join(" | ")} | ${rules.join(" ")} | ${usual} | ${strict} |`,
    ),
    "",
  ].join("\n");
}

function judge(body: Uint8Array, more: Partial<WafSettings>): { rules: string[]; verdict: string } {
  const question = { method: "POST", target: "/x", headers: ["Content-Type: application/json"], body };
  const settings = { ...ENFORCE, maxInspectBodyBytes: 1_048_576, ...more };
  const { rules, verdict } = explainWaf(question, settings, NO_ROUTES);
  return { rules: rules.map(({ id }) => id), verdict: VERDICTS[verdict] ?? verdict };
}

function valuesOf(command: readonly string[], folder: string, files: readonly string[]): Map<string, string | null> {
  const program = Bun.which(command[0]!);
  if (program === null) return new Map();
  const run = Bun.spawnSync([program, ...command.slice(1)], {
    stdin: Buffer.from(files.map((file) => join(folder, file)).join("\n")),
    maxBuffer: 1 << 28,
  });
  if (run.exitCode !== 0) throw new Error(`${command[0]}: ${run.stderr.toString()}`);
  const lines = run.stdout.toString().trimEnd().split("\n");
  return new Map(files.map((file, i) => [file, lines[i] === "!" ? null : lines[i]!]));
}

const VERDICTS: Readonly<Record<string, string>> = { pass: "passes", log: "logged", block: "403" };
const FOLDER = join(import.meta.dir, "json-readers");
const PROGRAMS: Readonly<Record<string, readonly string[]>> = {
  Bun: [process.execPath, join(FOLDER, "reader.mjs")],
  "Node.js": ["node", join(FOLDER, "reader.mjs")],
  Python: ["python3", join(FOLDER, "reader.py")],
  Go: ["go", "run", join(FOLDER, "reader.go")],
  "Go, first value": ["go", "run", join(FOLDER, "reader.go"), "first"],
  PHP: ["php", join(FOLDER, "reader.php")],
  jq: ["node", join(FOLDER, "reader.mjs"), "jq"],
};
