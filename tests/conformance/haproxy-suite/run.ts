import { chmodSync, cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endProcessesIn } from "../processes-in.ts";

/** How long one file of the suite may take, for VTest and for all. */
const TEST_SECONDS = 20;
const FILE_SECONDS = 30;
const OUTPUT_BYTES = String(2 ** 21);
/** The exit code of VTest for a test that the suite leaves out. */
const SKIPPED = 77;

const LATE = /timeout|PID file check|could not get frame header|too long/;

/** What one file of the suite came to. */
export interface FileResult {
  /** Below reg-tests: `http-rules/http_return`. */
  readonly file: string;
  readonly outcome: "passed" | "failed" | "closed" | "skipped";
  /** Expectations that held before the file ended. */
  readonly held: number;
  /** What the first failure says; of a file that is left out, what it needs. */
  readonly said: string;
  /** Directives that `edge convert` noted, each once. */
  readonly noted: readonly string[];
  readonly output: string;
}

/** Runs files of a checkout, a few at a time, and says what each came to. */
export async function runSuite(
  checkout: string,
  files: readonly string[],
  { vtest, atOnce, onFile }: { readonly vtest: string; readonly atOnce: number; onFile(result: FileResult): void },
): Promise<FileResult[]> {
  const folder = mkdtempSync(join(tmpdir(), "edge-haproxy-suite-"));
  try {
    const binary = join(folder, "haproxy");
    const script = join(import.meta.dir, "stand-in.ts");
    writeFileSync(binary, `#!/bin/bash\nplan=$('${process.execPath}' '${script}' "$@") || exit $?\neval "$plan"\n`);
    chmodSync(binary, 0o755);
    const copy = standardCopy(checkout, folder);
    const results: FileResult[] = [];
    const left = [...files];
    const lane = async (): Promise<void> => {
      for (let file = left.shift(); file !== undefined; file = left.shift()) {
        const result = await runFile(copy, file, { folder, binary, vtest });
        results.push(result);
        onFile(result);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, lane));
    // On a busy machine a gateway may start too late for its client: such files run again, one after the other.
    for (const late of results.filter(({ outcome, said }) => outcome !== "passed" && LATE.test(said))) {
      const again = await runFile(copy, late.file, { folder, binary, vtest });
      results[results.indexOf(late)] = again;
      onFile(again);
    }
    return results.toSorted((a, b) => (a.file < b.file ? -1 : 1));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function runFile(
  checkout: string,
  file: string,
  { folder, binary, vtest }: { readonly folder: string; readonly binary: string; readonly vtest: string },
): Promise<FileResult> {
  const own = mkdtempSync(join(folder, `${file.replaceAll("/", "-")}-`));
  const notes = join(own, "notes");
  writeFileSync(notes, "");
  const child = Bun.spawn(
    [
      ...["timeout", "--kill-after=3", String(FILE_SECONDS)],
      ...[vtest, "-v", "-k", "-b", OUTPUT_BYTES, "-t", String(TEST_SECONDS), join("reg-tests", `${file}.vtc`)],
    ],
    {
      cwd: checkout,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      env: {
        ...process.env,
        TMPDIR: own,
        HAPROXY_PROGRAM: binary,
        HAPROXY_ARGS: "-dM",
        HAPROXY_TEST_TIMEOUT: "5s",
        EDGE_SUITE_NOTES: notes,
      },
    },
  );
  const output = await new Response(child.stdout).text();
  const code = await child.exited;
  endProcessesIn(own);
  const noted = notedDirectives(readFileSync(notes, "utf8"));
  rmSync(own, { recursive: true, force: true });
  const isShut = /This address is not set up yet|not allowed from this address|rxhdr\|HTTP\/1\.1 503/.test(output);
  const held = output.match(/EXPECT .* match$/gm)?.length ?? 0;
  const outcome = code === 0 ? "passed" : code === SKIPPED ? "skipped" : isShut ? "closed" : "failed";
  const failure = /^---- \w+ +(.*)$/m.exec(output)?.[1];
  const need = /SKIPPING test, lacking feature: (.*)$/m.exec(output)?.[1];
  return { file, outcome, held, said: failure ?? need ?? (code === 124 ? "it took too long" : ""), noted, output };
}

/** A copy of the suite whose clients of HTTP/2 take the frame for the window of the connection that edge sends behind its SETTINGS. */
function standardCopy(checkout: string, folder: string): string {
  const copy = join(folder, "suite");
  cpSync(join(checkout, "reg-tests"), join(copy, "reg-tests"), { recursive: true });
  for (const file of suiteFilesOf(copy)) {
    const path = join(copy, "reg-tests", `${file}.vtc`);
    const text = readFileSync(path, "latin1");
    writeFileSync(path, text.replaceAll(ACKNOWLEDGED, "$1rxwinup\n$1$2"), "latin1");
  }
  return copy;
}

/** A client's wait for the acknowledgement of its SETTINGS. */
const ACKNOWLEDGED = /(?<=txsettings -ack\n)( *)(rxsettings\n)/g;

/** The first words of the directives in the tables of conversions. */
function notedDirectives(table: string): string[] {
  const names = new Set<string>();
  for (const line of table.split("\n")) {
    const [, place = "", directive = ""] = line.split(/ ?\| /);
    if (!place.includes("haproxy.cfg")) continue;
    const [first = "", second = ""] = directive.split(" ");
    names.add(/^(http|tcp)-|^option$|^stick/.test(first) ? `${first} ${second.replace(/\(.*/, "")}` : first);
  }
  return [...names].toSorted();
}

/** The test files of a checkout, below reg-tests and without their ending. */
export function suiteFilesOf(checkout: string): string[] {
  return readdirSync(join(checkout, "reg-tests"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".vtc"))
    .map((name) => name.slice(0, -".vtc".length))
    .toSorted();
}
