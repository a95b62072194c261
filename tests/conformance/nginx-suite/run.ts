import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProcess } from "../../harness/run-process.ts";
import { endProcessesIn } from "../processes-in.ts";
import { asStandard } from "./as-standard.ts";
import { readTap, type TapResult } from "./tap.ts";

/** How long one file of the suite may take. */
const FILE_SECONDS = 240;

const RUN_FILE = 'trap "" PIPE; exec timeout --kill-after=3 "$0" perl -I lib "$1" 2>&1';

/** What one file of the suite came to. */
export interface FileResult extends TapResult {
  readonly file: string;
  /** Directives that `edge convert` noted, each once. */
  readonly noted: readonly string[];
  readonly isLate: boolean;
  readonly output: string;
}

/** Runs files of a checkout, a few at a time, and says what each came to. */
export async function runSuite(
  checkout: string,
  files: readonly string[],
  { atOnce, onFile }: { readonly atOnce: number; readonly onFile: (result: FileResult) => void },
): Promise<FileResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "edge-nginx-suite-"));
  try {
    const copy = standardCopy(checkout, folder);
    const binary = join(folder, "nginx");
    writeFileSync(binary, `#!/bin/sh\nexec '${process.execPath}' '${join(import.meta.dir, "stand-in.ts")}' "$@"\n`);
    chmodSync(binary, 0o755);
    const results: FileResult[] = [];
    const left = [...files];
    const lane = async (): Promise<void> => {
      for (let file = left.shift(); file !== undefined; file = left.shift()) {
        const result = await runFile(copy, file, { folder, binary });
        results.push(result);
        onFile(result);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
    return results.toSorted((a, b) => (a.file < b.file ? -1 : 1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runFile(
  checkout: string,
  file: string,
  { folder, binary }: { readonly folder: string; readonly binary: string },
): Promise<FileResult> {
  const own = join(folder, file);
  mkdirSync(own);
  const notes = join(own, "notes");
  writeFileSync(notes, "");
  // The run is over when perl ends: a writer that waits at a pipe with a name keeps its output for ever.
  const { stdout: output, code } = await runProcess(["sh", "-c", RUN_FILE, String(FILE_SECONDS), file], {
    cwd: checkout,
    env: { ...process.env, TEST_NGINX_BINARY: binary, TMPDIR: own, EDGE_SUITE_NOTES: notes, TEST_NGINX_UNSAFE: "" },
    timeout: (FILE_SECONDS + 10) * 1000,
  });
  endProcessesIn(own);
  const noted = notedDirectives(readFileSync(notes, "utf8"));
  rmSync(own, { recursive: true, force: true });
  return { file, ...readTap(output), noted, isLate: code === 124 || code === 137, output };
}

/** A copy of the suite whose heads end their lines with CRLF. */
function standardCopy(checkout: string, folder: string): string {
  const copy = join(folder, "suite");
  cpSync(checkout, copy, { recursive: true, filter: (path) => !path.includes("/.git") });
  for (const name of readdirSync(copy, { recursive: true, encoding: "utf8" })) {
    if (!/\.(?:t|pm)$/.test(name)) continue;
    const path = join(copy, name);
    writeFileSync(path, asStandard(readFileSync(path, "latin1")), "latin1");
  }
  return copy;
}

/** The names of the directives in the tables of a conversion. */
function notedDirectives(table: string): string[] {
  const names = new Set<string>();
  for (const line of table.split("\n")) {
    const cells = line.split(" | ");
    const name = (cells[2] ?? "").split(" ")[0]!;
    if (cells[1]?.includes(".conf") === true) names.add(name);
  }
  return [...names].toSorted();
}

/** The test files of a checkout. */
export function suiteFilesOf(checkout: string): string[] {
  return readdirSync(checkout)
    .filter((name) => name.endsWith(".t"))
    .toSorted();
}
