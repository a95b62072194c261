import { existsSync, lstatSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { series } from "../core/number-text.ts";
import { errorReason } from "../tools/loadgen/error-reason.ts";
import { type CommandIo, ExitCode } from "./command-io.ts";
import { startCommand } from "./flags.ts";
import { fileSchema } from "./schema.ts";
import { STARTER_CONFIG, STARTER_PAGE, STARTER_SITE, STARTER_SITE_DIR, type StarterFile } from "./starter-files.ts";

/**
 * `edge init`: writes a commented `config.yaml` and `routes.yaml` and a small site to serve, on loopback. It asks nothing. Where one
 * of the two files is there already, nothing is written at all; a site that is there gets a first page only if it has none.
 * Gives the exit code: 0 written, 1 not, 2 wrong usage.
 */
export function runInit(args: readonly string[], io: CommandIo, cwd: string = process.cwd()): number {
  const call = startCommand(initCommand, args, io);
  if (typeof call === "number") return call;
  const dir = resolve(cwd, call.values.dir);
  const there = STARTER_CONFIG.filter(({ path }) => isThere(join(dir, path)));
  if (there.length > 0) {
    io.err(`edge init: ${there.map(({ path }) => path).join(" and ")} already present, nothing written.\n`);
    return ExitCode.Failure;
  }
  try {
    const written = writeStarter(dir);
    const enter = dir === resolve(cwd) ? "" : `cd ${call.values.dir}, then `;
    io.out(`Wrote ${series(written)}.\n`);
    io.out(`Next: ${enter}edge serve, and open http://127.0.0.1:8080/ (edge check names mistakes).\n`);
  } catch (error) {
    io.err(`edge init: cannot write to ${call.values.dir}: ${errorReason(error)}\n`);
    return ExitCode.Failure;
  }
  return ExitCode.Done;
}

/** The command as `edge help init` shows it. */
export const initCommand = {
  name: "edge init",
  page: "quickstart.md",
  summary: "Writes a commented config.yaml and routes.yaml and a first page to start from. Never overwrites a file.",
  flags: [
    {
      name: "dir",
      type: "string",
      default: ".",
      placeholder: "FOLDER",
      help: "where to write; created if missing",
    },
  ],
  notes: ["Exit codes: 0 written, 1 a file exists already or could not be written, 2 wrong usage."],
} as const;

/** Whether something has the name, were it a link that leads nowhere. */
function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch {
    return false;
  }
}

/** What the first lines of both files name, for editors. docs/tools.md#edge-schema */
const SCHEMA_DIR = ".schema";
const SCHEMAS = (["config", "routes"] as const).map((name) => ({
  path: `${SCHEMA_DIR}/${name}.json`,
  text: () => `${JSON.stringify(fileSchema(name))}\n`,
}));

/** Gives the names of what has been written. */
function writeStarter(dir: string): string[] {
  const isNewSite = !existsSync(join(dir, STARTER_SITE_DIR));
  mkdirSync(join(dir, STARTER_SITE_DIR), { recursive: true });
  const page = isThere(join(dir, STARTER_PAGE.path)) ? [] : [STARTER_PAGE];
  mkdirSync(join(dir, SCHEMA_DIR), { recursive: true });
  const schemas = SCHEMAS.map(({ path, text }) => ({ path, text: text() })).filter(
    ({ path }) => !isThere(join(dir, path)),
  );
  const files: StarterFile[] = [...STARTER_CONFIG, ...page, ...(isNewSite ? STARTER_SITE : []), ...schemas];
  // "wx" fails where a file has appeared since the look above.
  for (const { path, text } of files) writeFileSync(join(dir, path), text, { flag: "wx" });
  return files.map(({ path }) => path);
}
